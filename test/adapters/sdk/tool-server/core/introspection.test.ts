/** How the tool server checks an introspection answer. */

import { expect } from 'chai';
import {
  type Introspected,
  introspect,
  type PlaneAnswer,
} from '../../../../../adapters/sdk/tool-server/core/control-plane.ts';
import { STATUSES_BESIDE_200 } from '../../../../support/loopback.ts';

const ISSUER = 'https://mandate.example';
const token = { text: 'a.b.c', iss: ISSUER, sub: 'ada', jti: 'tok_a' };
const good = { active: true, sub: 'ada', jti: 'tok_a' };

function asked(answer: PlaneAnswer | undefined): Promise<Introspected> {
  const sent: unknown[] = [];
  const plane = {
    get: () => Promise.reject(new Error('introspection fetches nothing by GET')),
    post: async (path: string, form: object) => {
      sent.push([path, form]);
      expect(sent).to.deep.equal([['/oauth2/introspect', { token: 'a.b.c' }]]);
      return answer;
    },
  };
  return introspect(plane, token);
}

const answering = (body: unknown, status = 200): Promise<Introspected> =>
  asked({ status, body: typeof body === 'string' ? body : JSON.stringify(body), retryAfter: '7' });

describe('A tool server that introspects a token', () => {
  it('accepts an active answer for the same person and token', async () => {
    expect(await answering(good), 'without iss').to.deep.equal({ kind: 'active' });
    expect(await answering({ ...good, iss: ISSUER })).to.deep.equal({ kind: 'active' });
  });

  for (const status of STATUSES_BESIDE_200) {
    it(`treats an answer with the status ${status} as unavailable, even with an active body`, async () => {
      expect(await answering(good, status)).to.deep.equal({ kind: 'unavailable', retryAfter: '7' });
    });
  }

  it('reports introspection as unavailable when the answer is incomplete', async () => {
    expect(await asked(undefined)).to.deep.equal({ kind: 'unavailable', retryAfter: undefined });
  });

  for (const [what, body] of [
    ['a body that is not JSON', '<html>'],
    ['a list as its body', [good]],
    ['a repeated active', '{"active":false,"active":true,"sub":"ada","jti":"tok_a"}'],
    ['no active', { sub: 'ada', jti: 'tok_a' }],
    ['a string as active', { ...good, active: 'true' }],
    ['an active that is 1', { ...good, active: 1 }],
    ['an active that is null', { ...good, active: null }],
  ] as const) {
    it(`treats an answer with ${what} as unavailable`, async () => {
      expect(await answering(body)).to.deep.equal({ kind: 'unavailable', retryAfter: '7' });
    });
  }

  for (const [what, body, revocationReason] of [
    ['for another person', { ...good, sub: 'bob' }, undefined],
    ['for no person', { ...good, sub: undefined }, undefined],
    ['for another token', { ...good, jti: 'tok_b' }, undefined],
    ['for no token', { ...good, jti: undefined }, undefined],
    ['for a token of another control plane', { ...good, iss: `${ISSUER}/` }, undefined],
    ['for a token with an issuer that is no text', { ...good, iss: null }, undefined],
    ['for another token, with a revocation reason', { ...good, jti: 'tok_b', revocation_reason: 'x' }, undefined],
    ['that it is inactive', { active: false, sub: 'ada', jti: 'tok_a' }, undefined],
    ['that it is revoked', { active: false, revocation_reason: 'sponsor_blocked' }, 'sponsor_blocked'],
    ['that it is revoked, with a malformed reason', { active: false, revocation_reason: 'x", error="y' }, undefined],
    [
      'that it is revoked, with a reason over 64 characters',
      { active: false, revocation_reason: 'x'.repeat(65) },
      undefined,
    ],
    ['that it is revoked, with a number as its reason', { active: false, revocation_reason: 7 }, undefined],
  ] as const) {
    it(`refuses the token after an answer ${what}`, async () => {
      expect(await answering(body)).to.deep.equal({ kind: 'not_active', revocationReason });
    });
  }
});
