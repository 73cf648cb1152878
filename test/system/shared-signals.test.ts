/** Shared Signals push over HTTP: a transmitter says what happened to a person, and agents stop acting for them. */

import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { expect } from 'chai';
import { securityEventDenialReasons } from '../../domain/signals/security-event.ts';
import { databases } from '../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { atATime, describeVectors } from '../support/public-vectors.ts';
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

interface JwsVectors {
  readonly testGroups: readonly { readonly tests: readonly { readonly tcId: number; readonly jws: string }[] }[];
}

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

    const post = async (init: RequestInit, to: Mandate = mandate): Promise<Answer> => {
      const response = await fetch(`${to.url}${PATH}`, { method: 'POST', ...init });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: text === '' ? {} : JSON.parse(text) };
    };
    const pushed = (credential = PUSH_CREDENTIAL, type = 'application/secevent+jwt') => ({
      authorization: `Bearer ${credential}`,
      'content-type': type,
    });
    const push = (token: string, to: Mandate = mandate) => post({ headers: pushed(), body: token }, to);
    const about = (id: string) => ({ format: 'opaque', id });
    const event = (name: string, id: string, more: Claims = {}) =>
      transmitter.sign({ sub_id: about(id), events: { [name]: {} }, ...more });
    /** A task of a person whom nobody else in this suite knows. */
    const newTask = async (oid: string = randomUUID()) => {
      const exp = mandate.clock.seconds() + 3600;
      const issued = await agent.exchange({ subject_token: mandate.provider.mintAccessToken({ oid, exp }) });
      return { oid, status: issued.status, body: issued.body, token: String(issued.body.access_token) };
    };
    const introspect = async ({ token }: { readonly token: string }) =>
      (await mandate.post('/oauth2/introspect', { token })).body;
    const blockOf = (oid: string) => mandate.admin('GET', `/admin/sponsors/${encodeURIComponent(oid)}`);

    function expectAccepted(answer: Answer): void {
      expect(answer.status, answer.text).to.equal(202);
      expect(answer.text).to.equal('');
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    }

    it('ends the tasks of a person whose sessions are revoked, and lets them start again', async () => {
      const [task, other] = [await newTask(), await newTask()];
      const lines = await mandate.recorded(async () => expectAccepted(await push(event(SESSION_REVOKED, task.oid))));
      expect(lines.map((line) => [line.event, line.reason, line.sponsor, line.task_id])).to.deep.equal([
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
      it(`${name} ends the tasks and refuses the person, until account-enabled`, async () => {
        const task = await newTask();
        const lines = await mandate.recorded(async () => expectAccepted(await push(event(RISC + name, task.oid))));
        expect(lines.map((line) => [line.event, line.reason])).to.deep.equal([
          ['sponsor.signal', reason],
          ['task.revoked', reason],
        ]);
        expect((await blockOf(task.oid)).body).to.deep.include({ source: 'ssf', kind });
        expect((await newTask(task.oid)).body).to.include({ error: 'access_denied', reason: denial });
        const enabled = await mandate.recorded(() => push(event(`${RISC}account-enabled`, task.oid)));
        expect(enabled.map((line) => [line.event, line.reason, line.decision])).to.deep.equal([
          ['sponsor.signal', 'ssf_account_enabled', 'allow'],
        ]);
        expect((await blockOf(task.oid)).status).to.equal(404);
        expect(await introspect(task)).to.include({ active: false });
        expect((await newTask(task.oid)).status).to.equal(200);
      });
    }

    it('leaves somebody refused when an older account-enabled comes late: 202, recorded as outdated, one line in the log', async () => {
      const oid = randomUUID();
      const iat = mandate.clock.seconds() - 30;
      const enabled = (when: number) => event(`${RISC}account-enabled`, oid, { iat: when });
      expectAccepted(await push(event(`${RISC}account-disabled`, oid, { iat })));
      const linesBefore = mandate.log.lines.length;
      const lines = await mandate.recorded(async () => expectAccepted(await push(enabled(iat - 1))));
      expect(lines.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor])).to.deep.equal([
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

    it('lifts no block that an operator placed, and places and lifts its own beside it', async () => {
      const oid = randomUUID();
      await mandate.block(oid, 'disabled');
      const before = (await blockOf(oid)).body;
      mandate.clock.advance(1);
      expectAccepted(await push(event(`${RISC}account-purged`, oid)));
      const { others, ...first } = (await blockOf(oid)).body;
      expect(first).to.deep.equal(before);
      expect((others as Claims[]).map(({ source, kind }) => [source, kind])).to.deep.equal([['ssf', 'deleted']]);
      expectAccepted(await push(event(`${RISC}account-enabled`, oid)));
      expect((await blockOf(oid)).body).to.deep.equal(before);
      expect((await newTask(oid)).body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
    });

    it('acts once on one token however often it comes', async () => {
      const task = await newTask();
      const token = event(SESSION_REVOKED, task.oid);
      await Promise.all([push(token), push(token), push(token)]);
      const again = await newTask(task.oid);
      const lines = await mandate.recorded(async () => expectAccepted(await push(token)));
      expect(lines).to.deep.equal([]);
      expect(await introspect(again)).to.include({ active: true });
    });

    it('finds the person by iss_sub, as the user of a complex subject, above and in the event', async () => {
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
      ['a complex one', (user) => ({ format: 'complex', user })],
      ['a complex one beside which nothing counts', (user) => ({ ...others, format: 'complex', user })],
      ['one without a format beside which nothing counts', (user) => ({ ...others, user })],
      ['the one alias that is read', (user) => ({ format: 'aliases', identifiers: [byMail, user, byPhone] })],
      ['the user of a complex one, by alias', (user) => complex({ format: 'aliases', identifiers: [elsewhere, user] })],
    ];
    for (const [title, subject] of forms) {
      it(`reads ${title}, by iss_sub and opaque, above and in the event`, async () => {
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

    it('takes typ secevent+jwt and application/secevent+jwt, in any case', async () => {
      for (const typ of ['secevent+jwt', 'application/secevent+jwt', 'Application/SecEvent+JWT']) {
        const task = await newTask();
        const claims = { sub_id: about(task.oid), events: { [SESSION_REVOKED]: {} } };
        expectAccepted(await push(transmitter.sign(claims, { typ })));
        expect(await introspect(task), typ).to.include({ active: false });
      }
    });

    it('lets the transmitter’s clock be 60 seconds ahead', async () => {
      const task = await newTask();
      expectAccepted(await push(event(SESSION_REVOKED, task.oid, { iat: mandate.clock.seconds() + 60 })));
      expect(await introspect(task)).to.include({ active: false });
    });

    it('names people by sponsor keys of up to 256 UTF-16 code units', async () => {
      const task = await newTask(`${randomUUID()}${'😀'.repeat(110)}`);
      expect(task.oid).to.have.length(256);
      expectAccepted(await push(event(SESSION_REVOKED, task.oid)));
      expect(await introspect(task)).to.include({ active: false });
    });

    it('takes Okta’s session-revoked: the user of a complex subject in the event, and milliseconds beside it', async () => {
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

    it('accepts events it does not act on, also about somebody whose key the stream has, and records nothing', async () => {
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

    it('acts on every event of a token', async () => {
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
    const faults: readonly (readonly [reason: string, err: string, when: string, Members, Claims?])[] = [
      ['malformed', 'invalid_request', 'it has an extension to understand', revoked, { crit: ['exp'] }],
      ['unsupported_algorithm', 'invalid_key', 'it is not signed', revoked, { alg: 'none' }],
      ['unknown_key', 'invalid_key', 'its kid is nobody’s', revoked, { kid: 'nobody-has-this' }],
      ['key_mismatch', 'invalid_key', 'its alg is not the key’s', revoked, { alg: 'ES256' }],
      ['untrusted_issuer', 'invalid_issuer', 'another issued it', { ...revoked, iss: 'https://other.example' }],
      ['audience_mismatch', 'invalid_audience', 'it is for another stream', { ...revoked, aud: 'stream-8' }],
      ['missing_issued_at', 'invalid_request', 'it has no iat', { ...revoked, iat: undefined }],
      ['not_yet_valid', 'invalid_request', 'its iat is ahead', () => ({ ...revoked, iat: seconds() + 75 })],
      ['too_old', 'invalid_request', 'its iat is over a day ago', () => ({ ...revoked, iat: seconds() - 86_500 })],
      ['missing_jti', 'invalid_request', 'it has no jti', { ...revoked, jti: undefined }],
      ['not_a_security_event', 'invalid_request', 'it has no events', { ...revoked, events: undefined }],
      ['not_a_security_event', 'invalid_request', 'it is typed as a logout token', revoked, { typ: 'logout+jwt' }],
      ['not_a_security_event', 'invalid_request', 'it is typed as an access token', revoked, { typ: 'at+jwt' }],
      ['not_a_security_event', 'invalid_request', 'it is typed as any JWT', revoked, { typ: 'JWT' }],
      ['not_a_security_event', 'invalid_request', 'it has no typ', revoked, { typ: undefined }],
      ['not_a_security_event', 'invalid_request', 'its typ is another tree’s', revoked, { typ: 'text/secevent+jwt' }],
      [
        'ambiguous_subject',
        'invalid_request',
        'it names two people',
        { ...revoked, events: { [SESSION_REVOKED]: { subject: about('object-8') } } },
      ],
      ['ambiguous_subject', 'invalid_request', 'its sub is another than its subject', { ...revoked, sub: 'object-8' }],
      ['no_usable_subject', 'invalid_request', 'it names nobody', { ...revoked, sub_id: undefined }],
      [
        'no_usable_subject',
        'invalid_request',
        'it names somebody of another provider',
        { ...revoked, sub_id: { format: 'iss_sub', iss: 'https://other.example', sub: 'object-7' } },
      ],
      ['unsupported_subject_format', 'invalid_request', 'it names a mailbox', { ...revoked, sub_id: byMail }],
      ['unsupported_subject_format', 'invalid_request', 'it names a telephone', { ...revoked, sub_id: byPhone }],
      [
        'unsupported_subject_format',
        'invalid_request',
        'its user is a mailbox',
        inEvent({ user: byMail, session: about('object-7') }),
      ],
      [
        'unsupported_subject_format',
        'invalid_request',
        'none of its aliases is read',
        inEvent({ format: 'aliases', identifiers: [byMail, byPhone] }),
      ],
      [
        'no_usable_subject',
        'invalid_request',
        'its aliases name somebody of another provider',
        inEvent({ format: 'aliases', identifiers: [byMail, elsewhere] }),
      ],
      ['no_usable_subject', 'invalid_request', 'it has no alias', inEvent({ format: 'aliases', identifiers: [] })],
      [
        'ambiguous_subject',
        'invalid_request',
        'several of its aliases are read',
        inEvent({ format: 'aliases', identifiers: [about('object-7'), about('object-8')] }),
      ],
      [
        'ambiguous_subject',
        'invalid_request',
        'several of its aliases name one person',
        () => {
          const ada = { format: 'iss_sub', iss: mandate.provider.issuer, sub: 'object-7' };
          return { ...revoked, sub_id: { format: 'aliases', identifiers: [about('object-7'), ada] } };
        },
      ],
      ['no_usable_subject', 'invalid_request', 'it names a dot', { ...revoked, sub_id: about('.') }],
      ['no_usable_subject', 'invalid_request', 'it names two dots', { ...revoked, sub_id: about('..') }],
      ['no_usable_subject', 'invalid_request', 'its key is too long', { ...revoked, sub_id: about('😀'.repeat(129)) }],
    ];
    const given = (members: Members) => (typeof members === 'function' ? members() : members);

    /** One record that names nobody, whatever the token says; the answer says which check it was. */
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

    for (const [reason, err, when, claims, header] of faults) {
      it(`refuses a token as ssf_${reason} when ${when}`, async () => {
        const act = () => push(transmitter.sign(given(claims), header));
        await expectRefused(reason, err, new RegExp(`^${reason}: `), act);
      });
    }

    it('refuses a signature that another key made, though it says it is the transmitter’s', async () => {
      const other = await makeSigningKey('RS256');
      const [head, payload] = transmitter.sign(revoked).split('.');
      const header = Buffer.from(head ?? '', 'base64url');
      const forged = other.sign(header.toString(), Buffer.from(payload ?? '', 'base64url'));
      await expectRefused('invalid_signature', 'invalid_key', /^invalid_signature: /, () => push(forged));
    });

    it('refuses what is no token, and bodies of another kind, in RFC 8935’s shape and on record', async () => {
      const token = transmitter.sign(revoked);
      for (const [init, description] of [
        [{ headers: pushed(), body: '' }, /^malformed: /],
        [{ headers: pushed(), body: `${token}\n` }, /^malformed: /],
        [{ headers: pushed(), body: `é${token}` }, /^malformed: /],
        [{ headers: pushed(PUSH_CREDENTIAL, 'application/jwt'), body: token }, /secevent\+jwt/],
        [{ headers: pushed(PUSH_CREDENTIAL, 'application/x-www-form-urlencoded'), body: token }, /secevent\+jwt/],
        [{ headers: pushed(), body: 'x'.repeat(70_000) }, /64 KiB/],
        [{ headers: { ...pushed(), 'content-encoding': 'gzip' }, body: token }, /compressed/],
      ] as const) {
        await expectRefused('malformed', 'invalid_request', description, () => post(init));
      }
      const lines = await mandate.recorded(async () => {
        const answer = await mandate.get(PATH, pushed());
        expect(answer.status).to.equal(405);
        expect(answer.headers.get('allow')).to.equal('POST');
      });
      expect(lines.map((line) => line.reason)).to.deep.equal(['ssf_malformed']);
    });

    it('takes the media type in any case and with a charset', async () => {
      for (const type of ['application/secevent+jwt; charset=utf-8', 'Application/SecEvent+JWT']) {
        const token = transmitter.sign(revoked);
        expectAccepted(await post({ headers: pushed(PUSH_CREDENTIAL, type), body: token }));
      }
    });

    it('opens to the credential and to the one before it', async () => {
      expectAccepted(await post({ headers: pushed(FORMER_PUSH_CREDENTIAL), body: transmitter.sign(revoked) }));
    });

    it('refuses who has no usable credential before the body, with nothing more than that, on record', async () => {
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
          const response = await fetch(`${mandate.url}${PATH}${path}`, { method: 'POST', headers, body: token });
          expect(response.status).to.equal(401);
          expect(await response.json()).to.deep.equal({ err: 'authentication_failed' });
          expect(response.headers.get('www-authenticate')).to.equal('Bearer');
          expect(response.headers.get('cache-control')).to.equal('no-store');
        });
        expect(lines.map((line) => [line.event, line.decision, line.reason, line.sponsor])).to.deep.equal([
          ['ssf.denied', 'deny', reason, null],
        ]);
      }
      expect(await introspect(task)).to.include({ active: true });
    });

    it('refuses a doubled credential, and answers before a byte of the body has come', async () => {
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(new URL(mandate.url).port), '127.0.0.1');
        socket.once('data', (chunk) => {
          resolve(chunk.toString('latin1'));
          socket.destroy();
        });
        socket.once('error', reject);
        const credential = `Authorization: Bearer ${PUSH_CREDENTIAL}\r\n`;
        socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\n${credential}${credential}Content-Length: 9000\r\n\r\n`);
      });
      expect(answer).to.match(/^HTTP\/1\.1 401 /);
    });

    it('gives its credential none of the admin’s authority', async () => {
      const answer = await mandate.get('/audit', pushed());
      expect(answer.status).to.equal(401);
    });

    it('says “not now” while the transmitter’s keys cannot be had, and has a reason on record for every refusal', async () => {
      const blind = await mandate.another({ 'Service:Ssf:Issuer': 'http://127.0.0.1:9' });
      const token = transmitter.sign(revoked);
      const lines = await mandate.recorded(async () => {
        const answer = await push(token, blind);
        expect(answer.status).to.equal(503);
        expect(answer.body.description).to.match(/^keys_unavailable: /);
      });
      await blind.stop();
      expect(lines.map((line) => [line.event, line.reason])).to.deep.equal([['signal.denied', 'ssf_keys_unavailable']]);
      expectAccepted(await push(token));
      const recorded = new Set((await mandate.ledger()).map((line) => line.reason));
      expect(securityEventDenialReasons.filter((reason) => !recorded.has(reason))).to.deep.equal([]);
    });

    it('goes on while the identity provider is down: whose people are meant is configured', async () => {
      const task = await newTask();
      const alone = await mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const subject = { format: 'iss_sub', iss: 'http://127.0.0.1:9', sub: task.oid };
      expectAccepted(await push(transmitter.sign({ sub_id: subject, events: { [SESSION_REVOKED]: {} } }), alone));
      await alone.stop();
      expect(await introspect(task)).to.include({ active: false });
    });

    it('cannot place somebody by issuer while the provider’s own document, which would name it, cannot be had', async () => {
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

    it('warns once when it starts where the sponsor key claim is not sub, and only where events can come', async () => {
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

    it('is not there unless it is configured', async () => {
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

    it('is acted on up to a day after it was made, and never as another kind of token', async () => {
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

    describeVectors<JwsVectors>(
      'foreign signed tokens',
      'wycheproof_json_web_signature_test.json',
      ({ testGroups }) => {
        it('are no security event tokens', async () => {
          const vectors = testGroups.flatMap((group) => group.tests);
          await atATime(vectors, async ({ tcId, jws }) => {
            const answer = await push(jws);
            expect(answer.status, String(tcId)).to.equal(400);
            expect(answer.body.err, String(tcId)).to.be.oneOf(['invalid_request', 'invalid_key']);
          });
        });
      },
    );

    describeVectors<readonly string[]>('naughty strings', 'naughty_strings.json', (strings) => {
      it('are nobody’s key that ends somebody else’s task, and no state of the service', async () => {
        const task = await newTask();
        await atATime([...new Set(strings)], async (value) => {
          const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: value };
          const answer = await push(transmitter.sign({ sub_id: subject, events: { [SESSION_REVOKED]: { x: value } } }));
          expect(answer.status, JSON.stringify(value)).to.be.oneOf([202, 400]);
        });
        expect(await introspect(task)).to.include({ active: true });
      });
    });
  });
}
