/** The events and requests that a receiver refuses, with their records. */

import { expect } from 'chai';
import { securityEventDenialReasons } from '../../../domain/signals/security-event.ts';
import { type Answer, fieldsOf, withService } from '../../support/mandate.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { makeSigningKey } from '../../support/signing-key.ts';
import { FORMER_PUSH_CREDENTIAL, PUSH_CREDENTIAL } from '../../support/transmitter.ts';
import type { Stream } from './stream.ts';
import { type Claims, PATH, SESSION_REVOKED } from './stream.ts';

type Members = Claims | (() => Claims);

export function testRefusedEvents(stream: Stream): void {
  const { post, pushed, push, about, event, newTask, introspect, expectAccepted, byMail, revoked } = stream;

  const seconds = () => stream.mandate.clock.seconds();

  /** The RFC 8935 error codes; all other faults get invalid_request. */
  const ERRORS: Readonly<Record<string, string>> = {
    unsupported_algorithm: 'invalid_key',
    unknown_key: 'invalid_key',
    key_mismatch: 'invalid_key',
    untrusted_issuer: 'invalid_issuer',
    audience_mismatch: 'invalid_audience',
  };

  const faults: readonly (readonly [reason: string, when: string, Members, Claims?])[] = [
    ['malformed', 'it has a critical extension', revoked, { crit: ['exp'] }],
    ['unsupported_algorithm', 'it is not signed', revoked, { alg: 'none' }],
    ['unknown_key', 'its kid is not published', revoked, { kid: 'nobody-has-this' }],
    ['key_mismatch', 'its alg does not match the key', revoked, { alg: 'ES256' }],
    ['untrusted_issuer', 'it has another issuer', { ...revoked, iss: 'https://other.example' }],
    ['audience_mismatch', 'it is for another stream', { ...revoked, aud: 'stream-8' }],
    ['missing_issued_at', 'it has no iat', { ...revoked, iat: undefined }],
    ['not_yet_valid', 'its iat is over 60 seconds in the future', () => ({ ...revoked, iat: seconds() + 75 })],
    ['expired', 'its exp is over 60 seconds ago', () => ({ ...revoked, exp: seconds() - 75 })],
    ['too_old', 'its iat is over a day ago', () => ({ ...revoked, iat: seconds() - 86_500 })],
    ['missing_jti', 'it has no jti', { ...revoked, jti: undefined }],
    ['not_a_security_event', 'it has no events', { ...revoked, events: undefined }],
    ['not_a_security_event', 'it is typed as a logout token', revoked, { typ: 'logout+jwt' }],
    [
      'ambiguous_subject',
      'its subjects differ',
      { ...revoked, events: { [SESSION_REVOKED]: { subject: about('object-8') } } },
    ],
    ['no_usable_subject', 'it has no subject', { ...revoked, sub_id: undefined }],
    ['unsupported_subject_format', 'its subject is an email address', { ...revoked, sub_id: byMail }],
  ];

  const given = (members: Members) => (typeof members === 'function' ? members() : members);

  /** Expects one record without sponsor, stream.agent and task, and a response that names the failed check. */
  async function expectRefused(reason: string, err: string, description: RegExp, act: () => Promise<Answer>) {
    const { mandate } = stream;
    const lines = await mandate.recorded(async () => {
      const answer = await act();
      expect(answer.status, answer.text).to.equal(400);
      expect(answer.body).to.have.all.keys('err', 'description');
      expect(answer.body.err).to.equal(err);
      expect(answer.body.description).to.match(description);
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    });
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.include({ event: 'signal.denied', decision: 'deny', reason: `ssf_${reason}`, sponsor: null });
    expect(lines[0]).to.include({ agent_id: null, task_id: null, jti: null });
  }

  for (const [reason, when, claims, header] of faults) {
    it(`refuses a token as ssf_${reason} if ${when}`, async () => {
      const { transmitter } = stream;
      const act = () => push(transmitter.sign(given(claims), header));
      await expectRefused(reason, ERRORS[reason] ?? 'invalid_request', new RegExp(`^${reason}: `), act);
    });
  }

  it("refuses a signature by another key under the transmitter's kid", async () => {
    const { transmitter } = stream;
    const other = await makeSigningKey('RS256');
    const [head, payload] = transmitter.sign(revoked).split('.');
    const header = Buffer.from(head ?? '', 'base64url');
    const forged = other.sign(header.toString(), Buffer.from(payload ?? '', 'base64url'));
    await expectRefused('invalid_signature', 'invalid_key', /^invalid_signature: /, () => push(forged));
  });

  it('refuses malformed bodies with an RFC 8935 error, and records the refusal', async () => {
    const { transmitter } = stream;
    const token = transmitter.sign(revoked);
    for (const [init, description] of [
      [{ headers: pushed(), body: '' }, /^malformed: /],
      [{ headers: pushed(), body: `${token}\n\n` }, /^malformed: /],
      [{ headers: pushed(), body: `\n${token}` }, /^malformed: /],
      [{ headers: pushed(), body: `é${token}` }, /^malformed: /],
      [{ headers: pushed(PUSH_CREDENTIAL, 'application/jwt'), body: token }, /secevent\+jwt/],
      [{ headers: pushed(PUSH_CREDENTIAL, 'application/x-www-form-urlencoded'), body: token }, /secevent\+jwt/],
      [{ headers: pushed(), body: 'x'.repeat(70_000) }, /64 KiB/],
      [{ headers: { ...pushed(), 'content-encoding': 'gzip' }, body: token }, /compressed/],
    ] as const) {
      await expectRefused('malformed', 'invalid_request', description, () => post(init));
    }
  });

  it('accepts the current and the previous credential', async () => {
    const { transmitter } = stream;
    expectAccepted(await post({ headers: pushed(FORMER_PUSH_CREDENTIAL), body: transmitter.sign(revoked) }));
  });

  it('refuses a missing or wrong credential before it reads the body, and records the refusal', async () => {
    const { mandate } = stream;
    const task = await newTask();
    const token = event(SESSION_REVOKED, task.oid);
    const type = { 'content-type': 'application/secevent+jwt' };
    for (const [path, headers, reason] of [
      ['', type, 'missing_api_key'],
      [`?access_token=${PUSH_CREDENTIAL}`, type, 'missing_api_key'],
      ['', { ...type, authorization: PUSH_CREDENTIAL }, 'invalid_api_key'],
      ['', { ...type, authorization: `Basic ${PUSH_CREDENTIAL}` }, 'invalid_api_key'],
      ['', { ...type, authorization: `Bearer ${PUSH_CREDENTIAL}x` }, 'invalid_api_key'],
      ['', { ...type, authorization: 'Bearer an-admin-key-that-only-the-tests-know-0123456789' }, 'invalid_api_key'],
    ] as const) {
      const lines = await mandate.recorded(async () => {
        const answer = await mandate.send(`${PATH}${path}`, { method: 'POST', headers, body: token });
        expect(answer.status).to.equal(401);
        expect(answer.body).to.deep.equal({ err: 'authentication_failed' });
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
        expect(answer.headers.get('cache-control')).to.equal('no-store');
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['ssf.denied', 'deny', reason, null],
      ]);
    }
    expect(await introspect(task)).to.include({ active: true });
  });

  it('refuses a repeated credential before the body arrives', async () => {
    const { mandate } = stream;
    const credential = `Authorization: Bearer ${PUSH_CREDENTIAL}\r\n`;
    const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\n${credential}${credential}Content-Length: 9000\r\n\r\n`;
    const lines = await mandate.recorded(async () => {
      const connection = await rawConnection(mandate.url);
      connection.send(head);
      expect(await connection.until('\r\n\r\n')).to.match(/^HTTP\/1\.1 401 /);
      connection.leave();
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['ssf.denied', 'invalid_api_key']]);
  });

  it('has a credential that is no admin key', async () => {
    const { mandate } = stream;
    const answer = await mandate.get('/audit', pushed());
    expect(answer.status).to.equal(401);
  });

  it("answers 503 while the transmitter's keys are unavailable; together, these tests record every denial reason of events", async () => {
    const { transmitter, mandate } = stream;
    const token = transmitter.sign(revoked);
    await withService(mandate.another({ 'Service:Ssf:Issuer': 'http://127.0.0.1:9' }), async (blind) => {
      const lines = await mandate.recorded(async () => {
        const answer = await push(token, blind);
        expect(answer.status).to.equal(503);
        expect(answer.body.description).to.match(/^keys_unavailable: /);
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'ssf_keys_unavailable']]);
    });
    expectAccepted(await push(token));
    const recorded = new Set((await mandate.ledger()).map((line) => line.reason));
    expect(securityEventDenialReasons.filter((reason) => !recorded.has(reason))).to.deep.equal([]);
  });
}
