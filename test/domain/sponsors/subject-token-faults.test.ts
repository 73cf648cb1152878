import { expect } from 'chai';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { subjectTokenFaults } from '../../../domain/sponsors/subject-token-faults.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';

const NOW = 1_789_653_821;
const good: JsonObject = {
  iss: 'https://idp.example',
  aud: ['https://mandate.example', 'account'],
  sub: 'ada',
  oid: 'object-7',
  sid: 'session-3',
  nbf: NOW - 7,
  iat: NOW - 5,
  exp: NOW + 300,
  scope: 'jira:read',
};

function faults(changes: JsonObject, sponsorKeyClaim = 'oid'): readonly string[] {
  const claims = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined));
  const expected = { issuer: 'https://idp.example', audience: 'https://mandate.example', sponsorKeyClaim };
  return subjectTokenFaults(claims, { ...expected, now: instantFromSeconds(NOW) });
}

describe('everything that is wrong with a subject token', () => {
  it('is nothing where the token would be accepted', () => {
    expect(faults({})).to.deep.equal([]);
  });

  it('is found at once, in the order in which the service would meet it', () => {
    const everything = {
      ...{ iss: 'https://other.example', exp: NOW - 60, iat: NOW + 61, nbf: NOW + 99, aud: 'account' },
      ...{ sub: 'agent:triage', act: { sub: 'agent:other' }, oid: 'a b', sid: 7 },
    };
    expect(faults(everything)).to.deep.equal([
      'subject_untrusted_issuer',
      'subject_expired',
      'subject_not_yet_valid',
      'subject_audience_mismatch',
      'subject_is_agent',
      'subject_already_delegated',
      'sponsor_key_missing',
      'subject_malformed',
    ]);
  });

  const single: readonly (readonly [JsonObject, string])[] = [
    [{ exp: undefined }, 'subject_missing_expiry'],
    [{ sub: undefined }, 'subject_missing_subject'],
    [{ sub: 'x'.repeat(257) }, 'subject_sub_malformed'],
    [{ nbf: NOW + 61 }, 'subject_not_yet_valid'],
    [{ sid: '' }, 'subject_malformed'],
  ];
  for (const [changes, reason] of single) {
    it(`is ${reason} alone where only that is wrong`, () => {
      expect(faults(changes)).to.deep.equal([reason]);
    });
  }

  it('comes to an end where the sponsor key claim is one that is judged by itself', () => {
    expect(faults({ sub: undefined }, 'sub')).to.deep.equal(['subject_missing_subject']);
    expect(faults({ sid: 7 }, 'sid')).to.include('sponsor_key_missing');
    expect(faults({ aud: 'account' }, 'aud')).to.deep.equal(['subject_audience_mismatch']);
  });
});
