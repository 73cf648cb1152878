/** No header of a client passes for one of the guard or of a gateway, in any spelling: a property over names. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { replacesRequest, requestHeaders } from '../../../../../adapters/sdk/tool-server/guard/forwarded-headers.ts';
import { identityHeaders } from '../../../../../adapters/sdk/tool-server/guard/identity-headers.ts';
import { TOKEN_SIGNS } from '../../../../support/tool-server/token-signs.ts';

const IDENTITY = identityHeaders(undefined, { issuer: 'https://mandate.example' });
const passedOn = (names: readonly string[], passed: readonly string[] = []) =>
  requestHeaders(
    names.flatMap((name) => [name, 'eve']),
    { host: 'x', identity: IDENTITY, passed: new Set(passed) },
  )
    .filter((_, at) => at % 2 === 0)
    .slice(1 + Object.keys(IDENTITY).length);

/** The name in other signs and letter cases. */
const spelled = (name: string) =>
  fc
    .tuple(
      ...[...name].map((sign) => {
        if (sign === '-') return fc.constantFrom(...TOKEN_SIGNS);
        return fc.constantFrom(sign.toLowerCase(), sign.toUpperCase());
      }),
    )
    .map((signs) => signs.join(''));

const fold = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '_');

/** Never passed on in any spelling. */
const dropped = [
  ...['Mandate-Subject', 'Mandate-Agent', 'Mandate-Task', 'Mandate-Scope', 'Mandate-Other', 'Proxy'],
  ...['X-Original-URL', 'X-Rewrite-URL', 'X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'],
  ...['Script-Name', 'X-Script-Name', 'Path-Info'],
];
/** Unless the file lets exactly this spelling pass. */
const signedIn = [
  ...['Remote-User', 'Remote-Groups', 'Remote-Email', 'Remote-Name', 'X-Remote-User', 'X-Remote-Extra-Scopes'],
  ...['X-WEBAUTH-USER', 'X-WEBAUTH-ROLE', 'X-Forwarded-User', 'X-Forwarded-Email', 'X-Forwarded-Preferred-Username'],
  ...['X-Forwarded-Groups', 'X-Auth-Request-User', 'X-Auth-Request-Email', 'X-Amzn-Oidc-Data', 'X-Amzn-Oidc-Identity'],
  ...['X-Goog-Authenticated-User-Email', 'X-Goog-IAP-JWT-Assertion', 'X-MS-CLIENT-PRINCIPAL'],
  ...['X-MS-CLIENT-PRINCIPAL-NAME', 'X-Authentik-Username', 'X-Pomerium-Jwt-Assertion', 'Cf-Access-Jwt-Assertion'],
  ...['Cf-Access-Authenticated-User-Email', 'Tailscale-User-Login', 'X-Vouch-User', 'OIDC_CLAIM_sub', 'SM_USER'],
  ...['X-Forwarded-Client-Cert', 'Client-Cert', 'SSL_CLIENT_S_DN', 'X-SSL-Client-Verify', 'X-Authenticated-Userid'],
  ...['X-Consumer-Username', 'X-Userinfo', 'Impersonate-User', 'X-Token-User-Email', 'iv-user', 'Shib-Session-ID'],
];
/** Passed on in this spelling alone. */
const exact = [
  ...['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Real-IP', 'X-Original-URI', 'X-Original-Method'],
  ...['X-Forwarded-Uri', 'X-Forwarded-Method', 'True-Client-IP', 'Content-Type', 'Mcp-Session-Id'],
];
const others = [
  'Accept',
  'Cookie',
  'X_Id',
  'x.trace',
  'User-Agent',
  'X-Api-Key',
  'X-Request-Id',
  'Traceparent',
  'Mcp-Name',
  'Mandated',
];

describe('The headers of a client, through the proxy', () => {
  it('never pass for those of the guard, or for one that replaces the request, however they are spelled', () => {
    const run = fc.property(fc.constantFrom(...dropped).chain(spelled), (name) => {
      expect(passedOn([name, 'Accept'], [name.toLowerCase()])).to.deep.equal(['Accept']);
    });
    fc.assert(run, { numRuns: 1000 });
  });

  it('never tell who has signed in, however they are spelled, unless the file names the header', () => {
    const run = fc.property(fc.constantFrom(...signedIn), fc.infiniteStream(fc.nat()), (name, random) => {
      expect(passedOn([name])).to.deep.equal([]);
      expect(passedOn([name], [name.toLowerCase()])).to.deep.equal([name]);
      const other = [...name].map((sign) =>
        /[-_]/.test(sign) ? TOKEN_SIGNS[random.next().value % TOKEN_SIGNS.length] : sign,
      );
      const isSame = other.join('') === name;
      expect(passedOn([other.join('')], [name.toLowerCase()])).to.deep.equal(isSame ? [name] : []);
    });
    fc.assert(run, { numRuns: 1000 });
  });

  it('pass in one spelling where gateways set them, and are otherwise as sent', () => {
    expect(passedOn([...exact, ...others])).to.have.members([...exact, ...others]);
    const run = fc.property(fc.constantFrom(...exact).chain(spelled), (name) => {
      const isSame = exact.some((one) => one.toLowerCase() === name.toLowerCase());
      expect(passedOn([name])).to.deep.equal(isSame ? [name] : []);
    });
    fc.assert(run, { numRuns: 1000 });
  });

  it('never arrive under a name that folds to one of ours: a property over all names', () => {
    const sign = fc.constantFrom(...TOKEN_SIGNS, ...'manditesubjcgko');
    const anything = fc.array(sign, { minLength: 1, maxLength: 20 }).map((signs) => signs.join(''));
    const ours = dropped.map(fold);
    const run = fc.property(fc.oneof(anything, fc.constantFrom(...dropped).chain(spelled)), (name) => {
      const arrived = passedOn([name]).map(fold);
      expect(arrived.filter((one) => ours.includes(one) || one.startsWith('mandate_'))).to.deep.equal([]);
    });
    fc.assert(run, { numRuns: 2000 });
  });
});

describe('The headers of a question of a gateway', () => {
  const read = ['X-Original-Method', 'X-Original-URI', 'X-Forwarded-Method', 'X-Forwarded-Uri', 'X-Original-URL'];

  it('are refused in every spelling but one, where the guard reads them or the gateway sets them', () => {
    const names = [...read, 'Mandate-Subject', 'Mandate-Agent', 'Mandate-Task', 'Mandate-Scope'];
    expect(names.filter((name) => replacesRequest(['Accept', 'a', name, 'b']))).to.deep.equal([]);
    const run = fc.property(fc.constantFrom(...names).chain(spelled), (name) => {
      const isSame = names.some((one) => one.toLowerCase() === name.toLowerCase());
      expect(replacesRequest(['Accept', 'a', name, 'b'])).to.equal(!isSame);
    });
    fc.assert(run, { numRuns: 1000 });
  });

  it('are refused in every spelling where some servers take another method or path from them', () => {
    const replacing = dropped.filter((name) => /method|rewrite|script|path/i.test(name));
    const run = fc.property(fc.constantFrom(...replacing).chain(spelled), (name) => {
      expect(replacesRequest([name, 'b'])).to.equal(true);
    });
    fc.assert(run, { numRuns: 500 });
  });

  it('are all on the page', async () => {
    const page = await readFile('docs/guard.md', 'utf8');
    for (const name of read) expect(page).to.include(`\`${name}\``);
  });
});
