/** The logout tokens and requests that the receiver refuses, with their records. */

import { expect } from 'chai';
import { logoutDenialReasons } from '../../../domain/signals/logout-token.ts';
import { type Answer, fieldsOf, withService } from '../../support/mandate.ts';
import { makeSigningKey } from '../../support/signing-key.ts';
import type { Receiver } from './receiver.ts';
import { type Claims, PATH } from './receiver.ts';

const DOWN = { 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' };

type Members = Claims | (() => Claims);

export function testRefusedTokens(receiver: Receiver): void {
  const { sign, send, newTask, introspect, expectAccepted } = receiver;

  it('ignores one line break after a token, and refuses two', async () => {
    const { mandate } = receiver;
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=ISO-8859-1' };
    const post = (after: string) =>
      mandate.send(PATH, { method: 'POST', headers, body: `logout_token=${sign({})}${after}` });
    for (const lineBreak of ['\n', '\r\n', '%0A', '%0D%0A']) expectAccepted(await post(lineBreak));
    const lines = await mandate.recorded(async () => {
      expect((await post('\n\n')).status).to.equal(400);
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'logout_malformed']]);
  });

  /** Faults: the claims and header members that differ from those of a valid token. */
  const faults: readonly (readonly [reason: string, when: string, Members, Members?])[] = [
    ['logout_unsupported_algorithm', 'it is signed with a shared secret', {}, { alg: 'HS256' }],
    ['logout_unknown_key', 'its kid is not published', {}, { kid: 'nobody-has-this' }],
    ['logout_key_mismatch', 'its alg does not match the key', {}, { alg: 'ES256' }],
    ['logout_untrusted_issuer', 'its iss is another issuer', { iss: 'https://other.example' }],
    [
      'logout_audience_mismatch',
      'it is for the audience of access tokens',
      () => ({ aud: receiver.provider.audience }),
    ],
    ['logout_missing_issued_at', 'it has no iat', { iat: undefined }],
    ['logout_not_yet_valid', 'its iat is two minutes ahead', () => ({ iat: receiver.mandate.clock.seconds() + 120 })],
    ['logout_too_old', 'its iat is over eleven minutes ago', () => ({ iat: receiver.mandate.clock.seconds() - 700 })],
    ['logout_missing_jti', 'it has no jti', { jti: undefined }],
    ['logout_expired', 'its exp is past', () => ({ exp: receiver.mandate.clock.seconds() - 100 })],
    ['logout_not_a_logout_event', 'it has another event', { events: { 'https://other.example': {} } }],
    ['logout_nonce_present', 'it has a nonce', { nonce: 'x' }],
    ['logout_identifier_too_long', 'its sid has 257 characters', { sid: 'x'.repeat(257) }],
    ['logout_no_subject_or_session', 'it has neither sub nor sid', { sub: undefined }],
  ];

  const given = (members: Members = {}) => (typeof members === 'function' ? members() : members);

  /** Expects one record without sponsor, receiver.agent and task, and a response that does not name the failed check. */
  async function expectRefused(
    reason: string,
    act: () => Promise<Answer>,
    detail = 'The logout token is not acceptable.',
  ) {
    const lines = await receiver.mandate.recorded(async () => {
      const answer = await act();
      expect(answer.status, answer.text).to.equal(400);
      expect(answer.body).to.deep.equal({ error: 'invalid_request', error_description: detail });
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    });
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.include({ event: 'signal.denied', decision: 'deny', reason, sponsor: null, task_id: null });
    expect(lines[0]).to.include({ agent_id: null, jti: null });
  }

  for (const [reason, when, claims, header] of faults) {
    it(`refuses a logout token as ${reason} if ${when}, and ends no task`, async () => {
      const task = await newTask();
      await expectRefused(reason, () => send(sign(given(claims), given(header))));
      expect(await introspect(task)).to.deep.include({ active: true });
    });
  }

  it('refuses a signature by another key, and a signature over other claims', async () => {
    const { provider } = receiver;
    const other = await makeSigningKey('RS256');
    const header = { alg: 'RS256', typ: 'logout+jwt', kid: provider.signingKey().kid };
    const [head, claims = '', signature] = sign().split('.');
    const foreign = other.sign(header, Buffer.from(claims, 'base64url'));
    await expectRefused('logout_invalid_signature', () => send(foreign));
    const [, payload] = sign().split('.');
    await expectRefused('logout_invalid_signature', () => send(`${head}.${payload}.${signature}`));
  });

  it("answers 503 while the provider's keys are unavailable; together, these tests record every denial reason of logout tokens", async () => {
    const { mandate } = receiver;
    const token = sign();
    await withService(mandate.another(DOWN), async (blind) => {
      const lines = await mandate.recorded(async () => {
        const answer = await blind.post(PATH, { logout_token: token });
        expect(answer.status).to.equal(503);
        expect(answer.body.error).to.equal('temporarily_unavailable');
        expect(answer.headers.get('cache-control')).to.equal('no-store');
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'logout_keys_unavailable']]);
    });
    expectAccepted(await send(token));
    const recorded = new Set((await mandate.ledger()).map((line) => line.reason));
    expect(logoutDenialReasons.filter((reason) => !recorded.has(reason))).to.deep.equal([]);
  });

  it('refuses every other kind of token, and accepts a logout token as no other kind of token', async () => {
    const { provider, agent } = receiver;
    const { idToken, accessToken, signOut } = await provider.signIn('ada');
    const ours = await newTask();
    for (const token of [
      idToken,
      accessToken,
      String(ours.body.access_token),
      String(ours.body.refresh_token),
      'x',
      'a.b.c',
    ]) {
      const answer = await send(token);
      expect(answer.status).to.equal(400);
      expect(answer.text).not.to.include(token.slice(0, 16));
    }
    for (const typ of ['logout+jwt', 'JWT']) {
      const subject_token = sign({ aud: provider.audience, scope: 'jira:read' }, { typ });
      expect((await agent.exchange({ subject_token })).body.error).to.equal('invalid_grant');
      const actor = await agent.exchange({ actor_token: sign({}, { typ }) });
      expect(actor.body.error).to.equal('invalid_client');
    }
    expect(await introspect(ours)).to.deep.include({ active: true });
    await signOut();
  });

  it('refuses a request without exactly one form parameter logout_token as an OAuth error, and records it', async () => {
    const { mandate } = receiver;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [init, detail] of [
      [{ headers: form, body: '' }, 'The parameter logout_token is missing.'],
      [{ headers: form, body: 'logout_token=' }, 'The parameter logout_token is missing.'],
      [{ headers: form, body: `logout_token=${sign()}&logout_token=x` }, 'A parameter is repeated.'],
      [{ headers: form, body: `x=${'y'.repeat(70_000)}` }, 'The body is over 64 KiB.'],
      [{ headers: { ...form, 'content-encoding': 'gzip' }, body: 'x' }, 'The body must not be compressed.'],
      [
        { headers: { 'content-type': 'application/logout+jwt' }, body: sign() },
        'The body must be application/x-www-form-urlencoded, in UTF-8.',
      ],
    ] as const) {
      await expectRefused('logout_malformed', () => mandate.send(PATH, { method: 'POST', ...init }), detail);
    }
  });

  it('answers 404 if the receiver is not configured, and is absent from the metadata', async () => {
    const { mandate } = receiver;
    await withService(mandate.another({ 'Service:UpstreamIdp:BackchannelLogout:Audience': '' }), async (without) => {
      const task = await newTask();
      const lines = await mandate.recorded(async () => {
        const answer = await without.post(PATH, { logout_token: sign() });
        expect(answer.status).to.equal(404);
        expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
      });
      expect(lines).to.deep.equal([]);
      expect(await introspect(task)).to.deep.include({ active: true });
    });
    const { text } = await mandate.get('/.well-known/openid-configuration');
    expect(text).not.to.include('logout');
  });
}
