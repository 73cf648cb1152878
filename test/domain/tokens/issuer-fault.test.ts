import { expect } from 'chai';
import { issuerFault } from '../../../domain/tokens/issuer-fault.ts';

describe('The issuer of a metadata document', () => {
  for (const issuer of [
    'https://idp.example',
    'https://idp.example/realms/main/',
    'http://adfs.example/adfs/services/trust',
    'https://login.example/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
    'https://idp.example/a%20b?policy=p1&x=(1)',
    'http://[::1]:8080/api/oidc',
    'urn:example:idp',
    'accounts.google.com',
    'the provider of the house',
  ]) {
    it(`may be that of a token: ${issuer}`, () => {
      expect(issuerFault(issuer)).to.equal(undefined);
    });
  }

  for (const [issuer, fault] of [
    ['https://login.example/{tenantid}/v2.0', 'template'],
    ['https://{tenant}.login.example', 'template'],
    ['https://login.example/%7Btenantid%7D/v2.0', 'template'],
    ['{tenantid}', 'template'],
    ['https://idp.example ', 'no_uri'],
    ['https://idp.example\n', 'no_uri'],
    ['https://idp.example/<realm>', 'no_uri'],
    ['https://idp.example/ü', 'no_uri'],
    ['https://idp.example\\realm', 'no_uri'],
  ] as const) {
    it(`cannot be the iss of a token, because of ${fault}: ${JSON.stringify(issuer)}`, () => {
      expect(issuerFault(issuer)).to.equal(fault);
    });
  }
});
