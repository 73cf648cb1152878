/** What an answer of the control plane means for the token that was asked about. */

import { expect } from 'chai';
import type { PlaneAnswer } from '../../../../../adapters/sdk/tool-server/core/control-plane.ts';
import { type Introspected, introspect } from '../../../../../adapters/sdk/tool-server/core/introspection.ts';
import { STATUSES_BESIDE_200 } from '../../../../support/loopback.ts';

const token = { text: 'a.b.c', sub: 'ada', jti: 'tok_a' };
const good = { active: true, sub: 'ada', jti: 'tok_a' };

function asked(answer: PlaneAnswer | undefined): Promise<Introspected> {
  const sent: unknown[] = [];
  const plane = {
    get: () => Promise.reject(new Error('nothing is fetched')),
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

describe('introspection by a tool server', () => {
  it('lets a token through that is said to be active, for the same person and token', async () => {
    expect(await answering(good)).to.deep.equal({ kind: 'active' });
  });

  for (const status of STATUSES_BESIDE_200) {
    it(`does not believe an answer with the status ${status}, whatever it says`, async () => {
      expect(await answering(good, status)).to.deep.equal({ kind: 'unavailable', retryAfter: '7' });
    });
  }

  it('says that it could not ask when no whole answer came', async () => {
    expect(await asked(undefined)).to.deep.equal({ kind: 'unavailable', retryAfter: undefined });
  });

  for (const [what, body] of [
    ['no JSON', '<html>'],
    ['a list', [good]],
    ['active twice', '{"active":false,"active":true,"sub":"ada","jti":"tok_a"}'],
    ['no active', { sub: 'ada', jti: 'tok_a' }],
    ['an active that is a text', { ...good, active: 'true' }],
    ['an active that is 1', { ...good, active: 1 }],
    ['an active that is null', { ...good, active: null }],
  ] as const) {
    it(`takes an answer with ${what} for none`, async () => {
      expect(await answering(body)).to.deep.equal({ kind: 'unavailable', retryAfter: '7' });
    });
  }

  for (const [what, body, revocationReason] of [
    ['for another person', { ...good, sub: 'bob' }, undefined],
    ['for nobody', { ...good, sub: undefined }, undefined],
    ['for another token', { ...good, jti: 'tok_b' }, undefined],
    ['for no token', { ...good, jti: undefined }, undefined],
    ['for another token, with a reason', { ...good, jti: 'tok_b', revocation_reason: 'x' }, undefined],
    ['but inactive', { active: false, sub: 'ada', jti: 'tok_a' }, undefined],
    ['but revoked', { active: false, revocation_reason: 'sponsor_blocked' }, 'sponsor_blocked'],
    ['but revoked, in words that are no reason', { active: false, revocation_reason: 'x", error="y' }, undefined],
    ['but revoked, in too many letters', { active: false, revocation_reason: 'x'.repeat(65) }, undefined],
    ['but revoked, for a number', { active: false, revocation_reason: 7 }, undefined],
  ] as const) {
    it(`refuses a token by an answer ${what}`, async () => {
      expect(await answering(body)).to.deep.equal({ kind: 'not_active', revocationReason });
    });
  }
});
