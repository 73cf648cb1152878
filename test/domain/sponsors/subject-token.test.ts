import { expect } from 'chai';
import { instantFromSeconds } from '../../../domain/instant.ts';
import {
  isSubjectTokenType,
  judgeSubjectToken,
  personScope,
  type SubjectVerdict,
} from '../../../domain/sponsors/subject-token.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { claimsOf } from '../../support/claims.ts';

const NOW = 1_789_653_821;
const good = {
  iss: 'https://idp.example',
  aud: 'https://mandate.example',
  sub: 'ada',
  oid: 'object-7',
  sid: 'session-3',
  iat: NOW - 5,
  exp: NOW + 300,
  scope: 'jira:read jira:comment',
};

function judge(
  changes: Record<string, unknown>,
  sponsorKeyClaim = 'oid',
  foreignAudience?: string,
  refuseBound = false,
): SubjectVerdict {
  const claims = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined));
  return judgeSubjectToken(claimsOf(claims), {
    issuer: 'https://idp.example',
    audience: 'https://mandate.example',
    foreignAudience,
    sponsorKeyClaim,
    refuseBound,
    now: instantFromSeconds(NOW),
    latest: instantFromSeconds(NOW),
  });
}

const refusals: readonly [string, Record<string, unknown>, string, string | undefined][] = [
  ['comes from another issuer', { iss: 'https://idp.example/' }, 'subject_untrusted_issuer', undefined],
  ['has no issuer', { iss: undefined }, 'subject_untrusted_issuer', undefined],
  ['has no exp', { exp: undefined }, 'subject_missing_expiry', undefined],
  ['expired longer ago than the skew', { exp: NOW - 60 }, 'subject_expired', undefined],
  ['has an nbf in the future, beyond the skew', { nbf: NOW + 61 }, 'subject_not_yet_valid', undefined],
  ['has an iat in the future, beyond the skew', { iat: NOW + 61 }, 'subject_not_yet_valid', undefined],
  ['is for another audience', { aud: ['account'] }, 'subject_audience_mismatch', undefined],
  ['has no aud', { aud: undefined }, 'subject_audience_mismatch', undefined],
  ['has no sub', { sub: undefined }, 'subject_missing_subject', undefined],
  ['has an empty sub', { sub: '' }, 'subject_sub_malformed', undefined],
  ['has a sub of 257 characters', { sub: 'x'.repeat(257) }, 'subject_sub_malformed', undefined],
  ['has a sub of 129 emoji: 258 UTF-16 code units', { sub: '👋'.repeat(129) }, 'subject_sub_malformed', undefined],
  ['has a sponsor key of a dot', { oid: '.' }, 'sponsor_key_missing', 'ada'],
  ['has a sponsor key of two dots', { oid: '..' }, 'sponsor_key_missing', 'ada'],
  ['has a control character in its sub', { sub: 'ada\u0000' }, 'subject_sub_malformed', undefined],
  ['has a sub that is a number', { sub: 7 }, 'subject_sub_malformed', undefined],
  ['has a sub that names an agent', { sub: 'Agent:jira' }, 'subject_is_agent', undefined],
  ['has a sub that is its client_id', { sub: 'svc', client_id: 'svc' }, 'subject_not_a_person', undefined],
  ['carries an act', { act: { sub: 'agent:x' } }, 'subject_already_delegated', 'ada'],
  ['carries an act that is null', { act: null }, 'subject_already_delegated', 'ada'],
  ['lacks the sponsor key claim', { oid: undefined }, 'sponsor_key_missing', 'ada'],
  ['has white space in the sponsor key', { oid: 'a b' }, 'sponsor_key_missing', 'ada'],
  ['has a sponsor key of 257 characters', { oid: 'x'.repeat(257) }, 'sponsor_key_missing', 'ada'],
  ['has a sponsor key that is a list', { oid: ['a'] }, 'sponsor_key_missing', 'ada'],
  ['has a sid that is a number', { sid: 7 }, 'subject_malformed', 'ada'],
  ['has an empty sid', { sid: '' }, 'subject_malformed', 'ada'],
  ['has a sid of 257 characters', { sid: 'x'.repeat(257) }, 'subject_malformed', 'ada'],
  ['has a control character in its sid', { sid: 'session\u0000' }, 'subject_malformed', 'ada'],
];

describe('checking the claims of a subject token', () => {
  for (const [what, changes, reason, subject] of refusals) {
    it(`refuses a token that ${what}`, () => {
      expect(judge(changes)).to.deep.equal({ kind: 'refused', faults: [reason], subject });
    });
  }

  it('reports every fault, in the order of the checks', () => {
    const everything = {
      iss: 'https://other.example',
      exp: NOW - 60,
      iat: NOW + 61,
      nbf: NOW + 99,
      aud: 'account',
      sub: 'agent:triage',
      act: { sub: 'agent:other' },
      oid: 'a b',
      sid: 7,
    };
    expect(judge(everything)).to.deep.equal({
      kind: 'refused',
      faults: [
        'subject_untrusted_issuer',
        'subject_expired',
        'subject_not_yet_valid',
        'subject_audience_mismatch',
        'subject_is_agent',
        'subject_already_delegated',
        'sponsor_key_missing',
        'subject_malformed',
      ],
      subject: undefined,
    });
  });

  for (const cnf of [{ jkt: 'thumbprint' }, { 'x5t#S256': 'hash' }, {}, [], '', 'key', 0, false]) {
    it(`with the setting refuses a token that is bound to a key, also with a cnf of ${JSON.stringify(cnf)}`, () => {
      const refused = { kind: 'refused', faults: ['subject_bound_to_key'], subject: 'ada' };
      expect(judge({ cnf }, 'oid', undefined, true)).to.deep.equal(refused);
      expect(judge({ cnf }).kind).to.equal('accepted');
    });
  }

  it('with the setting accepts a token without a cnf, or with one of null', () => {
    for (const cnf of [undefined, null]) expect(judge({ cnf }, 'oid', undefined, true).kind).to.equal('accepted');
    const both = judge({ cnf: {}, act: {}, oid: undefined }, 'oid', undefined, true);
    const faults = ['subject_already_delegated', 'subject_bound_to_key', 'sponsor_key_missing'];
    expect(both).to.deep.equal({ kind: 'refused', faults, subject: 'ada' });
  });

  it('names the person of a refusal only if every check up to the sub passed', () => {
    const faulty = { act: {}, oid: 'a b', sid: 7 };
    const faults = ['subject_already_delegated', 'sponsor_key_missing', 'subject_malformed'];
    expect(judge(faulty)).to.deep.equal({ kind: 'refused', faults, subject: 'ada' });
    const early = { kind: 'refused', faults: ['subject_audience_mismatch', ...faults], subject: undefined };
    expect(judge({ ...faulty, aud: 'account' })).to.deep.equal(early);
  });

  it('refuses the token of a machine whichever claim is the sponsor key, and names no person', () => {
    const machine = { sub: 'svc', azp: 'svc', oid: 'object-of-svc' };
    const refused = { kind: 'refused', faults: ['subject_not_a_person'], subject: undefined };
    for (const claim of ['sub', 'oid', 'azp']) expect(judge(machine, claim)).to.deep.equal(refused);
  });

  it('counts a sub that names an agent as an agent, also if it is the client', () => {
    const agent = { sub: 'agent:triage', client_id: 'agent:triage' };
    expect(judge(agent)).to.deep.include({ faults: ['subject_is_agent'] });
  });

  for (const [sub, fault] of [
    [undefined, 'subject_missing_subject'],
    ['x'.repeat(257), 'subject_sub_malformed'],
    ['a b', 'sponsor_key_missing'],
  ] as const) {
    it(`reports one fault, ${fault}, for a sub that is also the sponsor key`, () => {
      expect(judge({ sub }, 'sub')).to.deep.include({ kind: 'refused', faults: [fault] });
    });
  }

  it('accepts a token without faults, and returns its subject, sponsor key, session, time and scopes', () => {
    expect(judge({ aud: ['account', 'https://mandate.example'] })).to.deep.equal({
      kind: 'accepted',
      person: {
        subject: 'ada',
        sponsorKey: 'object-7',
        sessionId: 'session-3',
        issuedAt: instantFromSeconds(NOW - 5),
        authenticatedAt: undefined,
        scope: ['jira:read', 'jira:comment'],
      },
    });
  });

  for (const [authTime, authenticatedAt] of [
    [NOW - 7, instantFromSeconds(NOW - 7)],
    [0, instantFromSeconds(0)],
    [-1, undefined],
    [NOW - 7.5, undefined],
    [String(NOW), undefined],
    [null, undefined],
  ] as const) {
    it(`reads an auth_time of ${authTime} as ${authenticatedAt === undefined ? 'absent' : 'the time of the sign-in'}`, () => {
      const verdict = judge({ auth_time: authTime });
      expect(verdict.kind === 'accepted' && verdict.person.authenticatedAt).to.equal(authenticatedAt);
    });
  }

  for (const [aud, kind] of [
    ['https://mandate.example', 'accepted'],
    [['https://mandate.example', 'account'], 'accepted'],
    [['https://mandate.example', 'https://me.example'], 'refused'],
    ['https://me.example', 'refused'],
  ] as const) {
    it(`of another audience as well is refused: ${aud} is ${kind}`, () => {
      const verdict = judge({ aud }, undefined, 'https://me.example');
      expect(verdict.kind).to.equal(kind);
      if (verdict.kind === 'refused') expect(verdict.faults).to.deep.equal(['subject_audience_mismatch']);
    });
  }

  it('reads a null sid as absent, and refuses every other sid that is not a string', () => {
    for (const sid of [null, undefined]) {
      const verdict = judge({ sid });
      expect(verdict.kind === 'accepted' && verdict.person).to.include({ subject: 'ada', sessionId: undefined });
    }
    for (const sid of [false, 0, [], {}]) expect(judge({ sid })).to.deep.include({ faults: ['subject_malformed'] });
  });
  for (const [iat, issuedAt] of [
    [undefined, undefined],
    [NOW - 5, instantFromSeconds(NOW - 5)],
    [0, instantFromSeconds(0)],
    [-1, instantFromSeconds(0)],
    [Number.MIN_SAFE_INTEGER, instantFromSeconds(0)],
  ] as const) {
    it(`returns the iat ${iat} as a time that the database can store`, () => {
      const verdict = judge({ iat });
      expect(verdict.kind === 'accepted' && verdict.person).to.include({ subject: 'ada', issuedAt });
    });
  }

  it('does not read the sponsor key from inherited properties', () => {
    expect(judge({}, 'constructor')).to.deep.include({ faults: ['sponsor_key_missing'] });
    expect(judge({}, '__proto__')).to.deep.include({ faults: ['sponsor_key_missing'] });
  });

  const scopes: readonly [string, Record<string, unknown>, readonly string[]][] = [
    ['scope before scp', { scope: 'a', scp: 'b' }, ['a']],
    ['scp as text', { scope: undefined, scp: 'b c' }, ['b', 'c']],
    ['scp as a list', { scope: undefined, scp: ['b', 'c', 'b'] }, ['b', 'c']],
    ['nothing if neither scope nor scp is present', { scope: undefined }, []],
    ['nothing from a scope that is an object', { scope: { a: true }, scp: 'b' }, []],
    ['scp beside a scope that is null', { scope: null, scp: 'b' }, ['b']],
    ['scope as a list', { scope: ['a', 'b c', 'a'], scp: 'd' }, ['a']],
    ['nothing from a list with another member', { scope: ['a', 7], scp: 'd' }, []],
    ['nothing from an empty list, even with an scp', { scope: [], scp: 'd' }, []],
    ['only names that are scope-tokens', { scope: 'a b"c d' }, ['a', 'd']],
  ];
  for (const [claims, expected] of [
    [{ scope: 'a', scp: 'b', permissions: ['c', 'd'] }, ['c', 'd']],
    [{ scope: 'a', scp: 'b', permissions: 'c d' }, ['c', 'd']],
    [{ scope: 'a', scp: 'b', permissions: null }, []],
    [{ scope: 'a', scp: 'b' }, []],
  ] as const) {
    it(`grants the scopes of a claim named in place of scope and scp: ${JSON.stringify(claims)}`, () => {
      expect(personScope(claims, 'permissions')).to.deep.equal(expected);
    });
  }

  for (const [what, changes, expected] of scopes) {
    it(`grants the person ${what}`, () => {
      const verdict = judge(changes);
      expect(verdict.kind === 'accepted' && verdict.person.scope).to.deep.equal(expected);
    });
  }

  it('accepts only a typ that an access token may have, and neither a security event nor an ID token whatever its typ', () => {
    const typed = (type: string | undefined, claims: JsonObject = {}) =>
      isSubjectTokenType({ text: '', algorithm: 'RS256', keyId: undefined, type, claims: claimsOf(claims) });
    for (const type of [
      undefined,
      'JWT',
      'at+jwt',
      'application/at+jwt',
      'AT+JWT',
      'application/okta-internal-at+jwt',
    ]) {
      expect(typed(type), type).to.equal(true);
    }
    for (const type of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'client-authentication+jwt', 'xat+jwt', '']) {
      expect(typed(type), type).to.equal(false);
    }
    for (const claims of [{ events: {} }, { at_hash: 'hash' }, { c_hash: 'hash' }, { typ: 'ID' }]) {
      for (const type of [undefined, 'JWT', 'at+jwt']) expect(typed(type, claims)).to.equal(false);
    }
    // Keycloak, and providers that copy the nonce of the sign-in.
    for (const claims of [{ typ: 'Bearer' }, { nonce: 'nonce' }, { auth_time: 1 }]) {
      expect(typed('JWT', claims)).to.equal(true);
    }
  });
});
