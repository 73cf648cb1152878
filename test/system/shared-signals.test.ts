/** Shared Signals push (RFC 8935): the security events of a transmitter, and their effects. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { securityEventDenialReasons } from '../../domain/signals/security-event.ts';
import { databases } from '../support/databases.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { describeForeignJws, describeVectors, tryEach } from '../support/public-vectors.ts';
import { rawConnection } from '../support/raw-http.ts';
import { makeSigningKey } from '../support/signing-key.ts';
import {
  FORMER_PUSH_CREDENTIAL,
  PUSH_CREDENTIAL,
  STREAM_AUDIENCE,
  startTransmitter,
  type Transmitter,
} from '../support/transmitter.ts';

const PATH = '/events';
const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';
const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';
const SESSION_REVOKED = `${CAEP}session-revoked`;

type Claims = Readonly<Record<string, unknown>>;
type Members = Claims | (() => Claims);

for (const database of databases) {
  describe(`Shared Signals on ${database.name}`, function () {
    this.timeout(60_000);
    let transmitter: Transmitter;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      transmitter = await startTransmitter(() => mandate.clock.seconds());
      mandate = await startMandate({
        database,
        settings: {
          ...transmitter.settings,
          'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
          'Service:Audit:Aggregation:Enabled': 'false',
        },
      });
      agent = await mandate.agent();
    });
    after(async () => {
      await mandate.stop();
      await transmitter.stop();
    });

    const post = (init: RequestInit, to: Mandate = mandate) => to.send(PATH, { method: 'POST', ...init });
    const pushed = (credential = PUSH_CREDENTIAL, type = 'application/secevent+jwt') => ({
      authorization: `Bearer ${credential}`,
      'content-type': type,
    });
    const push = (token: string, to: Mandate = mandate) => post({ headers: pushed(), body: token }, to);
    const about = (id: string) => ({ format: 'opaque', id });
    const event = (name: string, id: string, more: Claims = {}) => transmitter.event(name, id, more);
    /** Starts a task for a new person. */
    const newTask = async (oid: string = randomUUID()) => {
      const issued = await agent.exchangeFor({ oid });
      return { oid, status: issued.status, body: issued.body, token: String(issued.body.access_token) };
    };
    const introspect = ({ token }: { readonly token: string }) => mandate.introspect(token);
    const blockOf = (oid: string) => mandate.admin('GET', `/admin/sponsors/${encodeURIComponent(oid)}`);

    function expectAccepted(answer: Answer): void {
      expect(answer.status, answer.text).to.equal(202);
      expect(answer.text).to.equal('');
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    }

    it('ends the tasks of a person for session-revoked, and allows new ones', async () => {
      const [task, other] = [await newTask(), await newTask()];
      const lines = await mandate.recorded(async () => expectAccepted(await push(event(SESSION_REVOKED, task.oid))));
      expect(fieldsOf(lines, 'event', 'reason', 'sponsor', 'task_id')).to.deep.equal([
        ['sponsor.signal', 'ssf_sessions_revoked', task.oid, null],
        ['task.revoked', 'ssf_sessions_revoked', 'ada', task.body.task_id],
      ]);
      expect(await introspect(task)).to.include({ active: false, revocation_reason: 'ssf_sessions_revoked' });
      expect(await introspect(other)).to.include({ active: true });
      expect((await newTask(task.oid)).status).to.equal(200);
    });

    for (const [name, reason, kind, denial] of [
      ['account-disabled', 'ssf_account_disabled', 'disabled', 'sponsor_disabled'],
      ['account-purged', 'ssf_account_purged', 'deleted', 'sponsor_not_found'],
    ] as const) {
      it(`ends the tasks for ${name}, and refuses the person until account-enabled`, async () => {
        const task = await newTask();
        const lines = await mandate.recorded(async () => expectAccepted(await push(event(RISC + name, task.oid))));
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
          ['sponsor.signal', reason],
          ['task.revoked', reason],
        ]);
        expect((await blockOf(task.oid)).body).to.deep.include({ source: 'ssf', kind });
        expect((await newTask(task.oid)).body).to.include({ error: 'access_denied', reason: denial });
        const enabled = await mandate.recorded(() => push(event(`${RISC}account-enabled`, task.oid)));
        expect(fieldsOf(enabled, 'event', 'reason', 'decision')).to.deep.equal([
          ['sponsor.signal', 'ssf_account_enabled', 'allow'],
        ]);
        expect((await blockOf(task.oid)).status).to.equal(404);
        expect(await introspect(task)).to.include({ active: false });
        expect((await newTask(task.oid)).status).to.equal(200);
      });
    }

    it('answers 202 to an account-enabled older than the block, records it as outdated and keeps the block', async () => {
      const oid = randomUUID();
      const iat = mandate.clock.seconds() - 30;
      const enabled = (when: number) => event(`${RISC}account-enabled`, oid, { iat: when });
      expectAccepted(await push(event(`${RISC}account-disabled`, oid, { iat })));
      const linesBefore = mandate.log.lines.length;
      const lines = await mandate.recorded(async () => expectAccepted(await push(enabled(iat - 1))));
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'allow', 'ssf_account_enabled_outdated', oid],
      ]);
      const logged = mandate.log.lines.slice(linesBefore).join('\n');
      expect(logged).to.match(/"level":"info","message":"an account-enabled .* passed over"/);
      expect(logged).not.to.include(oid);
      expect((await blockOf(oid)).body).to.deep.include({ source: 'ssf', kind: 'disabled' });
      expect((await newTask(oid)).body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      const lifted = await mandate.recorded(async () => expectAccepted(await push(enabled(iat))));
      expect(lifted.map((line) => line.reason)).to.deep.equal(['ssf_account_enabled']);
      expect((await newTask(oid)).status).to.equal(200);
    });

    it('acts once on a repeated token', async () => {
      const task = await newTask();
      const token = event(SESSION_REVOKED, task.oid);
      await Promise.all([push(token), push(token), push(token)]);
      const again = await newTask(task.oid);
      const lines = await mandate.recorded(async () => expectAccepted(await push(token)));
      expect(lines).to.deep.equal([]);
      expect(await introspect(again)).to.include({ active: true });
    });

    it('finds the person by iss_sub, as the user of a complex subject, in sub_id and in the event', async () => {
      for (const place of [
        (subject: object) => ({ sub_id: subject, events: { [SESSION_REVOKED]: {} } }),
        (subject: object) => ({ events: { [SESSION_REVOKED]: { subject } } }),
        (subject: object) => ({ sub_id: { user: subject }, events: { [SESSION_REVOKED]: { subject } } }),
      ]) {
        const task = await newTask();
        const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: task.oid };
        expectAccepted(await push(transmitter.sign(place(subject))));
        expect(await introspect(task)).to.include({ active: false });
      }
    });

    const device = about('somebody-else');
    const others = { tenant: device, device, session: device };
    const complex = (user: Claims) => ({ format: 'complex', user, session: device });
    const byMail = { format: 'email', email: 'ada@example.org' };
    const byPhone = { format: 'phone_number', phone_number: '+12065550100' };
    const elsewhere = { format: 'iss_sub', iss: 'https://other.example', sub: 'object-7' };
    const forms: readonly (readonly [title: string, subject: (person: Claims) => Claims])[] = [
      ['a complex subject', (user) => ({ format: 'complex', user })],
      ['a complex subject with other members', (user) => ({ ...others, format: 'complex', user })],
      ['a subject without a format and with other members', (user) => ({ ...others, user })],
      ['the only supported alias', (user) => ({ format: 'aliases', identifiers: [byMail, user, byPhone] })],
      [
        'the user of a complex subject by an alias',
        (user) => complex({ format: 'aliases', identifiers: [elsewhere, user] }),
      ],
    ];
    for (const [title, subject] of forms) {
      it(`reads ${title}, by iss_sub and by opaque, in sub_id and in the event`, async () => {
        for (const format of ['iss_sub', 'opaque']) {
          for (const place of ['above', 'in the event']) {
            const task = await newTask();
            const person =
              format === 'opaque' ? about(task.oid) : { format, iss: mandate.provider.issuer, sub: task.oid };
            const named = subject(person);
            const claims =
              place === 'above'
                ? { sub_id: named, events: { [`${RISC}account-disabled`]: {} } }
                : { events: { [`${RISC}account-disabled`]: { subject: named } } };
            const lines = await mandate.recorded(async () => expectAccepted(await push(transmitter.sign(claims))));
            expect(lines.map((line) => [line.event, line.reason, line.task_id ?? line.sponsor])).to.deep.equal([
              ['sponsor.signal', 'ssf_account_disabled', task.oid],
              ['task.revoked', 'ssf_account_disabled', task.body.task_id],
            ]);
            expect(await introspect(task), `${format} ${place}`).to.include({ active: false });
            expect((await newTask(task.oid)).body).to.include({ reason: 'sponsor_disabled' });
          }
        }
      });
    }

    it('accepts typ secevent+jwt and application/secevent+jwt, in any case', async () => {
      for (const typ of ['secevent+jwt', 'application/secevent+jwt', 'Application/SecEvent+JWT']) {
        const task = await newTask();
        const claims = { sub_id: about(task.oid), events: { [SESSION_REVOKED]: {} } };
        expectAccepted(await push(transmitter.sign(claims, { typ })));
        expect(await introspect(task), typ).to.include({ active: false });
      }
    });

    it('accepts an iat up to 60 seconds in the future', async () => {
      const task = await newTask();
      expectAccepted(await push(event(SESSION_REVOKED, task.oid, { iat: mandate.clock.seconds() + 60 })));
      expect(await introspect(task)).to.include({ active: false });
    });

    it('accepts sponsor keys of at most 256 UTF-16 code units', async () => {
      const task = await newTask(`${randomUUID()}${'😀'.repeat(110)}`);
      expect(task.oid).to.have.length(256);
      expectAccepted(await push(event(SESSION_REVOKED, task.oid)));
      expect(await introspect(task)).to.include({ active: false });
    });

    it("accepts Okta's session-revoked, with its complex subject in the event and a timestamp in milliseconds", async () => {
      const task = await newTask();
      const events = {
        [SESSION_REVOKED]: {
          event_timestamp: Date.now(),
          initiating_entity: 'admin',
          reason_admin: { en: 'Suspicious activity' },
          current_ip: '192.0.2.7',
          subject: { user: { format: 'iss_sub', iss: mandate.provider.issuer, sub: task.oid } },
        },
      };
      expectAccepted(await push(transmitter.sign({ aud: [STREAM_AUDIENCE], events })));
      expect(await introspect(task)).to.include({ active: false });
    });

    it('accepts events that have no effect here, and records nothing', async () => {
      const task = await newTask();
      const lines = await mandate.recorded(async () => {
        for (const events of [
          { [`${SSF}verification`]: { state: 'VGhpcyBpcyBhbiBleGFtcGxl' } },
          { [`${SSF}stream-updated`]: { status: 'paused' } },
          { [`${CAEP}credential-change`]: { subject: { user: about(task.oid) }, credential_type: 'password' } },
          { 'https://schemas.example/unheard-of': null },
        ]) {
          expectAccepted(await push(transmitter.sign({ sub_id: about(task.oid), events })));
          expectAccepted(await push(transmitter.sign({ events })));
        }
      });
      expect(lines).to.deep.equal([]);
      expect(await introspect(task)).to.include({ active: true });
    });

    it('acts on every event in a token', async () => {
      const task = await newTask();
      const events = { [`${RISC}account-purged`]: {}, [SESSION_REVOKED]: {}, [`${CAEP}credential-change`]: {} };
      const lines = await mandate.recorded(() => push(transmitter.sign({ sub_id: about(task.oid), events })));
      expect(lines.map((line) => line.reason)).to.deep.equal([
        'ssf_sessions_revoked',
        'ssf_account_purged',
        'ssf_account_purged',
      ]);
    });

    const revoked = { sub_id: about('object-7'), events: { [SESSION_REVOKED]: {} } };
    const seconds = () => mandate.clock.seconds();
    const inEvent = (subject: Claims) => ({ events: { [SESSION_REVOKED]: { subject } } });
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
      ['not_yet_valid', 'its nbf is over 60 seconds in the future', () => ({ ...revoked, nbf: seconds() + 75 })],
      ['expired', 'its exp is over 60 seconds ago', () => ({ ...revoked, exp: seconds() - 75 })],
      ['too_old', 'its iat is over a day ago', () => ({ ...revoked, iat: seconds() - 86_500 })],
      ['missing_jti', 'it has no jti', { ...revoked, jti: undefined }],
      ['not_a_security_event', 'it has no events', { ...revoked, events: undefined }],
      ['not_a_security_event', 'it is typed as a logout token', revoked, { typ: 'logout+jwt' }],
      ['not_a_security_event', 'it is typed as an access token', revoked, { typ: 'at+jwt' }],
      ['not_a_security_event', 'it is typed as any JWT', revoked, { typ: 'JWT' }],
      ['not_a_security_event', 'it has no typ', revoked, { typ: undefined }],
      ['not_a_security_event', 'its typ has another media type tree', revoked, { typ: 'text/secevent+jwt' }],
      [
        'ambiguous_subject',
        'its subjects differ',
        { ...revoked, events: { [SESSION_REVOKED]: { subject: about('object-8') } } },
      ],
      ['ambiguous_subject', 'its sub differs from its subject', { ...revoked, sub: 'object-8' }],
      ['no_usable_subject', 'it has no subject', { ...revoked, sub_id: undefined }],
      [
        'no_usable_subject',
        'its subject has another issuer',
        { ...revoked, sub_id: { format: 'iss_sub', iss: 'https://other.example', sub: 'object-7' } },
      ],
      ['unsupported_subject_format', 'its subject is an email address', { ...revoked, sub_id: byMail }],
      ['unsupported_subject_format', 'its subject is a telephone number', { ...revoked, sub_id: byPhone }],
      [
        'unsupported_subject_format',
        'its user is an email address',
        inEvent({ user: byMail, session: about('object-7') }),
      ],
      [
        'unsupported_subject_format',
        'it has no supported alias',
        inEvent({ format: 'aliases', identifiers: [byMail, byPhone] }),
      ],
      [
        'no_usable_subject',
        'its aliases have another issuer',
        inEvent({ format: 'aliases', identifiers: [byMail, elsewhere] }),
      ],
      ['no_usable_subject', 'it has no alias', inEvent({ format: 'aliases', identifiers: [] })],
      [
        'ambiguous_subject',
        'it has several supported aliases',
        inEvent({ format: 'aliases', identifiers: [about('object-7'), about('object-8')] }),
      ],
      [
        'ambiguous_subject',
        'several of its aliases name one person',
        () => {
          const ada = { format: 'iss_sub', iss: mandate.provider.issuer, sub: 'object-7' };
          return { ...revoked, sub_id: { format: 'aliases', identifiers: [about('object-7'), ada] } };
        },
      ],
      ['no_usable_subject', 'its subject is one dot', { ...revoked, sub_id: about('.') }],
      ['no_usable_subject', 'its subject is two dots', { ...revoked, sub_id: about('..') }],
      ['no_usable_subject', 'its sponsor key is too long', { ...revoked, sub_id: about('😀'.repeat(129)) }],
    ];
    const given = (members: Members) => (typeof members === 'function' ? members() : members);

    /** Expects one record without sponsor, agent and task, and a response that names the failed check. */
    async function expectRefused(reason: string, err: string, description: RegExp, act: () => Promise<Answer>) {
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
        const act = () => push(transmitter.sign(given(claims), header));
        await expectRefused(reason, ERRORS[reason] ?? 'invalid_request', new RegExp(`^${reason}: `), act);
      });
    }

    it("refuses a signature by another key under the transmitter's kid", async () => {
      const other = await makeSigningKey('RS256');
      const [head, payload] = transmitter.sign(revoked).split('.');
      const header = Buffer.from(head ?? '', 'base64url');
      const forged = other.sign(header.toString(), Buffer.from(payload ?? '', 'base64url'));
      await expectRefused('invalid_signature', 'invalid_key', /^invalid_signature: /, () => push(forged));
    });

    it('refuses malformed bodies with an RFC 8935 error, and records the refusal', async () => {
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

    it('accepts the media type in any case and with a charset', async () => {
      for (const type of ['application/secevent+jwt; charset=utf-8', 'Application/SecEvent+JWT']) {
        const token = transmitter.sign(revoked);
        expectAccepted(await post({ headers: pushed(PUSH_CREDENTIAL, type), body: token }));
      }
    });

    it('ignores one line break after a token', async () => {
      for (const lineBreak of ['\n', '\r\n']) {
        expectAccepted(await post({ headers: pushed(), body: `${transmitter.sign(revoked)}${lineBreak}` }));
      }
    });

    it('accepts the current and the previous credential', async () => {
      expectAccepted(await post({ headers: pushed(FORMER_PUSH_CREDENTIAL), body: transmitter.sign(revoked) }));
    });

    it('refuses a missing or wrong credential before it reads the body, and records the refusal', async () => {
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
      const answer = await mandate.get('/audit', pushed());
      expect(answer.status).to.equal(401);
    });

    it("answers 503 while the transmitter's keys are unavailable; together, these tests record every denial reason of events", async () => {
      const blind = await mandate.another({ 'Service:Ssf:Issuer': 'http://127.0.0.1:9' });
      const token = transmitter.sign(revoked);
      const lines = await mandate.recorded(async () => {
        const answer = await push(token, blind);
        expect(answer.status).to.equal(503);
        expect(answer.body.description).to.match(/^keys_unavailable: /);
      });
      await blind.stop();
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'ssf_keys_unavailable']]);
      expectAccepted(await push(token));
      const recorded = new Set((await mandate.ledger()).map((line) => line.reason));
      expect(securityEventDenialReasons.filter((reason) => !recorded.has(reason))).to.deep.equal([]);
    });

    it('works while the identity provider does not answer, because its issuer is configured', async () => {
      const task = await newTask();
      const alone = await mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const about = (iss: string) =>
        transmitter.sign({ sub_id: { format: 'iss_sub', iss, sub: task.oid }, events: { [SESSION_REVOKED]: {} } });
      // The metadata may name another issuer of access tokens, so the transmitter is to send this event again.
      const lines = await mandate.recorded(async () => {
        expect((await push(about('http://127.0.0.1:9/trust'), alone)).status).to.equal(503);
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'ssf_keys_unavailable']]);
      expect(await introspect(task)).to.include({ active: true });
      expectAccepted(await push(about('http://127.0.0.1:9'), alone));
      await alone.stop();
      expect(await introspect(task)).to.include({ active: false });
    });

    it("answers 503 to an iss_sub subject while the provider's metadata, which names its issuer, is unavailable", async () => {
      const unplaced = await mandate.another({
        'Service:UpstreamIdp:Issuer': '',
        'Service:UpstreamIdp:MetadataUrl': 'http://127.0.0.1:9/metadata',
      });
      const task = await newTask();
      const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: task.oid };
      const token = transmitter.sign({ sub_id: subject, events: { [SESSION_REVOKED]: {} } });
      expect((await push(token, unplaced)).status).to.equal(503);
      expectAccepted(await push(event(SESSION_REVOKED, task.oid), unplaced));
      await unplaced.stop();
      expect(await introspect(task)).to.include({ active: false });
    });

    it('logs one warning at start if events are received and the sponsor key claim is not sub', async () => {
      const warnings = async (changes: Readonly<Record<string, string>>) => {
        const started = await mandate.another(changes);
        await started.stop();
        return started.log.lines.filter((line) => line.includes('SponsorKeyClaim')).map((line) => JSON.parse(line));
      };
      const [warning, ...more] = await warnings({});
      expect(more).to.deep.equal([]);
      expect(warning).to.have.all.keys('level', 'message').and.to.include({ level: 'warn' });
      expect(warning.message).to.match(/^Service:UpstreamIdp:SponsorKeyClaim is not sub: .* iss_sub subject/);
      expect(await warnings({ 'Service:UpstreamIdp:SponsorKeyClaim': 'sub' })).to.deep.equal([]);
      expect(await warnings({ 'Service:UpstreamIdp:SponsorKeyClaim': '' })).to.deep.equal([]);
      const nothing = Object.fromEntries(Object.keys(transmitter.settings).map((key) => [key, '']));
      expect(await warnings(nothing)).to.deep.equal([]);
    });

    it('answers 404 if the receiver is not configured', async () => {
      const nothing = Object.fromEntries(Object.keys(transmitter.settings).map((key) => [key, '']));
      const without = await mandate.another(nothing);
      const lines = await mandate.recorded(async () => {
        const answer = await push(transmitter.sign(revoked), without);
        expect(answer.status).to.equal(404);
        expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
      });
      expect(lines).to.deep.equal([]);
      await without.stop();
    });

    it('accepts an event token until a day after its iat, and never accepts it as a subject token', async () => {
      const task = await newTask();
      const token = event(SESSION_REVOKED, task.oid, { iat: mandate.clock.seconds() - 86_300 });
      const late = event(SESSION_REVOKED, task.oid, { iat: mandate.clock.seconds() - 86_300 });
      const logout = await mandate.post('/oauth2/token', agent.exchangeForm({ subject_token: token }));
      expect(logout.body.error).to.equal('invalid_grant');
      mandate.clock.advance(120);
      expectAccepted(await push(token));
      mandate.clock.advance(120);
      expect((await push(late)).body.description).to.match(/^too_old: /);
    });

    describeForeignJws((vectors) => {
      it('are refused as security event tokens', async () => {
        await tryEach(vectors, async ({ tcId, jws }) => {
          const answer = await push(jws);
          expect(answer.status, String(tcId)).to.equal(400);
          expect(answer.body.err, String(tcId)).to.be.oneOf(['invalid_request', 'invalid_key']);
        });
      });
    });

    describeVectors<readonly string[]>('naughty strings', 'naughty_strings.json', (strings) => {
      it("end no other person's task if they are the subject of an event", async () => {
        const task = await newTask();
        await tryEach([...new Set(strings)], async (value) => {
          const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: value };
          const answer = await push(transmitter.sign({ sub_id: subject, events: { [SESSION_REVOKED]: { x: value } } }));
          expect(answer.status, JSON.stringify(value)).to.be.oneOf([202, 400]);
        });
        expect(await introspect(task)).to.include({ active: true });
      });
    });
  });
}
