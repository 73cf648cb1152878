/** Each rule about the claims of a task token, at its boundary. The signature is already verified. */

import { expect } from 'chai';
import { judgeClaims } from '../../../../../adapters/sdk/tool-server/core/claims.ts';
import { claimsOf } from '../../../../support/claims.ts';

const NOW = 1_789_653_821;
const SKEW = 60;
const good = {
  iss: 'https://mandate.example',
  sub: 'ada',
  aud: 'https://jira.example',
  exp: NOW + 240,
  iat: NOW - 7,
  jti: 'tok_01M31S7W68TMK7WDX8YKPSYTES',
  scope: 'jira:read jira:comment',
  client_id: 'agent:triage',
  act: { sub: 'agent:triage', depth: 1 },
  task: { id: 'task_01M31S7W68TMK7WDX8YKPSYTES', exp: NOW + 900, sponsor: 'ada' },
};

function judge(changes: Readonly<Record<string, unknown>>) {
  const claims = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined));
  const { iss: issuer, aud: audience } = good;
  return judgeClaims(claimsOf(claims), { issuer, audience, clockSkewSeconds: SKEW, now: NOW });
}

const refusals: readonly [string, Readonly<Record<string, unknown>>, string][] = [
  ['has another iss', { iss: `${good.iss}/` }, 'wrong_issuer'],
  ['has no iss', { iss: undefined }, 'wrong_issuer'],
  ['is for another audience', { aud: `${good.aud}/` }, 'wrong_audience'],
  ['is for several audiences', { aud: [good.aud, 'https://wiki.example'] }, 'wrong_audience'],
  ['has a list of one audience', { aud: [good.aud] }, 'wrong_audience'],
  ['has no exp', { exp: undefined }, 'malformed_token'],
  ['has no iat', { iat: undefined }, 'malformed_token'],
  ['expired as long ago as the clock skew', { exp: NOW - SKEW }, 'expired'],
  ['was issued in the future, beyond the clock skew', { iat: NOW + SKEW + 1 }, 'not_yet_valid'],
  ['was issued in the future, although its nbf is past', { iat: NOW + SKEW + 1, nbf: NOW - 7 }, 'not_yet_valid'],
  ['has an nbf in the future, beyond the clock skew', { nbf: NOW + SKEW + 1 }, 'not_yet_valid'],
  ['has no jti', { jti: undefined }, 'malformed_token'],
  ['has a blank jti', { jti: ' ' }, 'malformed_token'],
  ['has a jti of 257 characters', { jti: 'x'.repeat(257) }, 'malformed_token'],
  ['has a jti with a line feed', { jti: 'tok_\nx' }, 'malformed_token'],
  ['has no sub', { sub: undefined }, 'no_subject'],
  ['has a blank sub', { sub: ' ' }, 'no_subject'],
  ['has a sub of 257 characters', { sub: 'x'.repeat(257) }, 'no_subject'],
  ['has a sub with a control character', { sub: 'ada\u0000' }, 'no_subject'],
  ['has a number as its sub', { sub: 7 }, 'no_subject'],
  ['has an agent as its sub, in other letter case', { sub: 'AGENT:triage' }, 'subject_is_agent'],
  ['has an act that is null', { act: null }, 'malformed_token'],
  ['has a person as its act', { act: { sub: 'grace', depth: 1 } }, 'malformed_token'],
  ['has an act without a depth', { act: { sub: 'agent:triage' } }, 'malformed_token'],
  ['has a task that is null', { task: null }, 'malformed_token'],
  ['has a task without an id', { task: { ...good.task, id: undefined } }, 'malformed_token'],
  ['has a task with a blank sponsor', { task: { ...good.task, sponsor: '' } }, 'malformed_token'],
  ['has a task whose exp is not a whole number', { task: { ...good.task, exp: NOW + 0.5 } }, 'malformed_token'],
];

describe('A tool server', () => {
  for (const [what, changes, reason] of refusals) {
    it(`refuses a token that ${what}`, () => {
      expect(judge(changes)).to.deep.equal({ kind: 'refused', reason });
    });
  }

  for (const [what, changes] of [
    ['expired within the clock skew', { exp: NOW - SKEW + 1 }],
    ['has an iat and an nbf within the clock skew', { iat: NOW + SKEW, nbf: NOW + SKEW }],
    ['has a sub and a jti of 256 characters', { sub: 'x'.repeat(256), jti: 'x'.repeat(256) }],
    ['has neither act nor task, because a person calls directly', { act: undefined, task: undefined }],
  ] as const) {
    it(`accepts a token that ${what}`, () => {
      expect(judge(changes).kind).to.equal('accepted');
    });
  }

  it('returns every claim', () => {
    const { iss, sub, aud, exp, iat, jti, act, task } = good;
    const scope = ['jira:read', 'jira:comment'];
    const others = { clientId: 'agent:triage', introspectRequired: false };
    expect(judge({})).to.deep.equal({
      kind: 'accepted',
      claims: { iss, sub, aud, exp, iat, jti, scope, act, chain: [act], task, ...others },
    });
  });

  it('gives the agents of a chain as a list, the one that calls first', () => {
    const root = { sub: 'agent:triage', instance: 'pod-7', depth: 1 };
    const middle = { sub: 'agent:reader', depth: 2 };
    const caller = { sub: 'agent:reader', instance: 'run-2', depth: 3 };
    const chainOf = (act: unknown) => {
      const verdict = judge({ act });
      return verdict.kind === 'accepted' && verdict.claims.chain;
    };
    expect(chainOf({ ...caller, act: { ...middle, act: root } })).to.deep.equal([caller, middle, root]);
    expect(chainOf(undefined)).to.deep.equal([]);
  });

  it('grants no scope from a malformed scope claim', () => {
    for (const scope of [undefined, 7, ['jira:read'], 'jira:read "x"']) {
      const verdict = judge({ scope });
      expect(verdict.kind === 'accepted' && verdict.claims.scope, JSON.stringify(scope)).to.deep.equal([]);
    }
  });

  it('requires introspection unless introspect_required is absent or false', () => {
    for (const [asked, expected] of [
      [undefined, false],
      [false, false],
      [true, true],
      ['false', true],
      [0, true],
      [null, true],
    ] as const) {
      const verdict = judge({ introspect_required: asked });
      expect(verdict.kind === 'accepted' && verdict.claims.introspectRequired, String(asked)).to.equal(expected);
    }
  });
});
