import { expect } from 'chai';
import { requestKind } from '../../../../adapters/http/admission/request-kind.ts';

describe('what admission takes a request for', () => {
  for (const path of ['//Users', '/Users/', '//Users/', '//Users/user_1', '/Users/?filter=userName%20eq%20%22a%22']) {
    it(`is SCIM for /scim/v2${path}, as for /scim/v2/Users`, () => {
      expect(requestKind(`/scim/v2${path}`)).to.equal(requestKind('/scim/v2/Users'));
      expect(requestKind(`/scim/v2${path}`)).to.deep.include({
        surface: 'scim',
        event: 'scim.denied',
        bucket: 'scim',
        work: 'revoking',
      });
    });
  }
});
