/** Back-channel logout over HTTP: the identity provider ends a session, and the service ends its tasks. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { logoutDenialReasons } from '../../domain/signals/logout-token.ts';
import { freePort } from '../../scripts/free-port.ts';
import { databasesByLength } from '../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { OPERATORS } from '../support/operators.ts';
import { describeForeignJws, describeVectors, tryEach } from '../support/public-vectors.ts';
import { makeSigningKey } from '../support/signing-key.ts';

const PATH = '/backchannel-logout';
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const DOWN = { 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' };

type Claims = Readonly<Record<string, unknown>>;
type Members = Claims | (() => Claims);

for (const database of databasesByLength) {
  describe(`Back-channel logout on ${database.name}`, function () {
    this.timeout(60_000);
    let provider: IdentityProvider;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      const port = await freePort();
      provider = await startIdentityProvider({ backchannelLogoutUri: `http://127.0.0.1:${port}${PATH}` });
      mandate = await startMandate({
        database,
        provider,
        settings: {
          PORT: String(port),
          'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
          'Service:Audit:Aggregation:Enabled': 'false',
        },
      });
      agent = await mandate.agent();
    });
    after(async () => {
      await mandate.stop();
      await provider.stop();
    });

    const sign = (claims: Claims = {}, header: Claims = {}): string => {
      const iat = mandate.clock.seconds();
      return provider.signLogoutToken({ sub: 'ada', iat, exp: iat + 120, ...claims }, header);
    };
    const send = (logout_token: string): Promise<Answer> => mandate.post(PATH, { logout_token });
    const newTask = async (claims: Claims = {}): Promise<Answer> => {
      const issued = await agent.exchangeFor(claims);
      expect(issued.status, issued.text).to.equal(200);
      return issued;
    };
    const introspect = (issued: Answer) => mandate.introspect(issued);

    function expectAccepted(answer: Answer): void {
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.text).to.equal('');
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    }

    it('ends the tasks of a session that a real provider ends, and no other task', async () => {
      const [laptop, phone, grace] = [
        await provider.signIn('ada'),
        await provider.signIn('ada'),
        await provider.signIn('grace'),
      ];
      const tasks = [];
      for (const { accessToken } of [laptop, phone, grace]) {
        const issued = await agent.exchange({ subject_token: accessToken, scope: 'jira:read' });
        expect(issued.status, issued.text).to.equal(200);
        tasks.push(issued);
      }
      const lines = await mandate.recorded(() => laptop.signOut());
      expect(provider.logoutDeliveries()).to.deep.include({ sid: laptop.sid, delivered: true });
      expect(fieldsOf(lines, 'event', 'reason', 'task_id', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'sponsor_logged_out', null, 'ada'],
        ['task.revoked', 'sponsor_logged_out', tasks[0]?.body.task_id, 'ada'],
      ]);
      const [ended, ...others] = await Promise.all(tasks.map(introspect));
      expect(ended).to.deep.include({ active: false, revocation_reason: 'sponsor_logged_out' });
      for (const other of others) expect(other.active).to.equal(true);
      const refreshed = await agent.refresh(String(tasks[0]?.body.refresh_token));
      expect(refreshed.body).to.include({ error: 'access_denied', reason: 'task_revoked' });
      await phone.signOut();
      await grace.signOut();
    });

    it('ends every task of the person if the logout token names no session, and accepts a new exchange', async () => {
      const tasks = [await newTask({ sid: 'one' }), await newTask({ sid: 'two' }), await newTask({ sid: undefined })];
      const grace = await newTask({ sub: 'grace' });
      expectAccepted(await send(sign()));
      for (const task of tasks) expect(await introspect(task)).to.deep.include({ active: false });
      expect(await introspect(grace)).to.deep.include({ active: true });
      expect(await introspect(await newTask())).to.deep.include({ active: true });
    });

    it('reads a null sid as absent, both in a logout token and in the subject token of a task', async () => {
      const tasks = [await newTask({ sid: null }), await newTask({ sid: 'one' })];
      const grace = await newTask({ sub: 'grace', sid: null });
      const lines = await mandate.recorded(async () => expectAccepted(await send(sign({ sid: null }))));
      expect(lines.filter(({ event }) => event === 'sponsor.signal')).to.have.lengthOf(1);
      expect(lines.map((line) => line.reason)).to.deep.equal(lines.map(() => 'sponsor_logged_out'));
      for (const task of tasks) expect(await introspect(task)).to.deep.include({ active: false });
      expect(await introspect(grace)).to.deep.include({ active: true });
    });

    it('accepts the tokens of its client if the operators have another client of the same provider', async () => {
      const instance = await mandate.another({
        ...OPERATORS,
        'Service:UpstreamIdp:Issuer': '',
        'Service:UpstreamIdp:MetadataUrl': `${provider.issuer}/.well-known/openid-configuration`,
        'Service:Operators:ClientId': 'mandate-console',
        'Service:Operators:Issuer': provider.issuer,
        PORT: '0',
      });
      const task = await newTask();
      expectAccepted(await instance.post(PATH, { logout_token: sign({ iat: instance.clock.seconds() }) }));
      expect(await introspect(task)).to.deep.include({ active: false, revocation_reason: 'sponsor_logged_out' });
      const kept = await newTask();
      expectAccepted(await instance.post(PATH, { logout_token: sign({ aud: 'mandate-console' }) }));
      expect(await introspect(kept)).to.deep.include({ active: true });
      const lines = await mandate.recorded(async () => {
        const answer = await instance.post(PATH, { logout_token: sign({ aud: 'another-client' }) });
        expect(answer.status).to.equal(400);
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'logout_audience_mismatch']]);
      await instance.stop();
    });

    it('ends the tasks if operators and people share one client of a provider behind its metadata URL', async () => {
      const metadata = await startLoopback(answering('unavailable', 503));
      const shared = await mandate.another({
        ...OPERATORS,
        'Service:UpstreamIdp:Issuer': '',
        'Service:UpstreamIdp:MetadataUrl': `${metadata.url}/.well-known/openid-configuration`,
        'Service:Operators:ClientId': provider.clientId,
        'Service:Operators:Issuer': provider.issuer,
        PORT: '0',
      });
      const task = await newTask();
      const iat = shared.clock.seconds();
      // Until the metadata was read, it is unknown whether the tasks belong to this provider.
      const early = await mandate.recorded(async () => {
        const answer = await shared.post(PATH, { logout_token: sign({ iat }) });
        expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
      });
      expect(fieldsOf(early, 'event', 'reason')).to.deep.equal([['signal.denied', 'logout_keys_unavailable']]);
      expect(await introspect(task)).to.deep.include({ active: true });
      metadata.answer = (_, response) => {
        void fetch(`${provider.issuer}/.well-known/openid-configuration`).then(async (answer) => {
          response.setHeader('content-type', 'application/json').end(await answer.text());
        });
      };
      const lines = await mandate.recorded(async () => {
        expectAccepted(await shared.post(PATH, { logout_token: sign({ iat }) }));
      });
      expect(fieldsOf(lines, 'event', 'reason', 'sponsor')).to.deep.include([
        'sponsor.signal',
        'sponsor_logged_out',
        'ada',
      ]);
      expect(await introspect(task)).to.deep.include({ active: false, revocation_reason: 'sponsor_logged_out' });
      await shared.stop();
      await metadata.close();
    });

    it('records the sponsor whose task ended, or null if no task ended', async () => {
      const sid = randomUUID();
      await newTask({ sid });
      for (const sponsor of ['ada', null]) {
        const [signal] = await mandate.recorded(() => send(sign({ sub: undefined, sid })));
        const expected = { event: 'sponsor.signal', reason: 'sponsor_logged_out', decision: 'allow', sponsor };
        expect(signal).to.include(expected);
      }
    });

    it('warns if a logout of a person and a session leaves tasks without a session, and ends them with the setting', async () => {
      const sub = `ada-${randomUUID()}`;
      const [task, sid] = [await newTask({ sub, sid: undefined }), randomUUID()];
      const about = 'tasks of the person that belong to no session go on';
      const warnings = (at: Mandate) => at.log.lines.filter((line) => line.includes(about));
      const lines = await mandate.recorded(async () => expectAccepted(await send(sign({ sub, sid }))));
      expect(fieldsOf(lines, 'event', 'reason', 'decision', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'sponsor_logged_out_no_tasks', 'allow', sub],
      ]);
      expect(warnings(mandate)).to.have.length(1);
      expect(JSON.parse(warnings(mandate)[0] ?? '')).to.include({ level: 'warn', revokedTasks: 0 });
      for (const secret of [sub, sid]) expect(warnings(mandate)[0]).not.to.include(secret);
      expect(await introspect(task)).to.deep.include({ active: true });

      const ending = await mandate.another({
        'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession': 'true',
      });
      const ended = await mandate.recorded(async () => {
        expectAccepted(await ending.post(PATH, { logout_token: sign({ sub, sid }) }));
      });
      expect(fieldsOf(ended, 'event', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'sponsor_logged_out', sub],
        ['task.revoked', 'sponsor_logged_out', sub],
      ]);
      expect(await introspect(task)).to.deep.include({ active: false, revocation_reason: 'sponsor_logged_out' });
      expect(warnings(ending)).to.deep.equal([]);
      await ending.stop();
    });

    it('finds the tasks by sub if the sponsor key is in another claim', async () => {
      const keyed = await mandate.another({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' });
      const issued = await (await keyed.agent()).exchangeFor({ oid: 'object-7' });
      expect(issued.status, issued.text).to.equal(200);
      expectAccepted(await keyed.post(PATH, { logout_token: sign() }));
      expect(await keyed.introspect(issued)).to.deep.include({ revocation_reason: 'sponsor_logged_out' });
      await keyed.stop();
    });

    it('answers 200 to a repeated logout token, acts once, and records a logout that ends no task', async () => {
      const token = sign({ sub: `nobody-${randomUUID()}` });
      const first = await mandate.recorded(async () => expectAccepted(await send(token)));
      expect(first.map((line) => line.event)).to.deep.equal(['sponsor.signal']);
      const task = await newTask();
      const logout = sign({ iat: mandate.clock.seconds() - 500 });
      await Promise.all([send(logout), send(logout), send(logout)]);
      const again = await newTask();
      const repeats = await mandate.recorded(async () => {
        expectAccepted(await send(token));
        expectAccepted(await send(logout));
      });
      expect(repeats).to.deep.equal([]);
      expect(await introspect(task)).to.deep.include({ active: false });
      expect(await introspect(again)).to.deep.include({ active: true });
    });

    it('accepts the logout tokens of Keycloak', async () => {
      const task = await newTask({ sid: 'keycloak-session' });
      const events = { [EVENT]: {}, revoke_offline_access: true };
      for (const [header, claims] of [
        [{ typ: 'JWT' }, { sid: 'keycloak-session', exp: undefined, events }],
        [{}, { typ: 'Logout', sid: 'keycloak-session', events }],
        [{ typ: undefined }, { typ: 'Logout' }],
      ] as const) {
        const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
        expectAccepted(await mandate.post(PATH, { logout_token: sign(claims, header) }, headers));
      }
      expect(await introspect(task)).to.deep.include({ active: false });
    });

    it('ignores one line break after a token, and refuses two', async () => {
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
      ['logout_malformed', 'its sid is a number', { sid: 7 }],
      ['logout_malformed', 'it has a critical extension', {}, { crit: ['exp'] }],
      ['logout_unsupported_algorithm', 'it is signed with a shared secret', {}, { alg: 'HS256' }],
      ['logout_unsupported_algorithm', 'it is not signed', {}, { alg: 'none' }],
      ['logout_unknown_key', 'its kid is not published', {}, { kid: 'nobody-has-this' }],
      ['logout_key_mismatch', 'its alg does not match the key', {}, { alg: 'ES256' }],
      ['logout_untrusted_issuer', 'its iss is another issuer', { iss: 'https://other.example' }],
      ['logout_audience_mismatch', 'it is for the audience of access tokens', () => ({ aud: provider.audience })],
      ['logout_missing_issued_at', 'it has no iat', { iat: undefined }],
      ['logout_not_yet_valid', 'its iat is two minutes ahead', () => ({ iat: mandate.clock.seconds() + 120 })],
      ['logout_too_old', 'its iat is over eleven minutes ago', () => ({ iat: mandate.clock.seconds() - 700 })],
      ['logout_missing_jti', 'it has no jti', { jti: undefined }],
      ['logout_not_yet_valid', 'its nbf is two minutes ahead', () => ({ nbf: mandate.clock.seconds() + 120 })],
      ['logout_expired', 'its exp is past', () => ({ exp: mandate.clock.seconds() - 100 })],
      ['logout_not_a_logout_event', 'it has another event', { events: { 'https://other.example': {} } }],
      ['logout_not_a_logout_event', 'it is typed as an access token', {}, { typ: 'at+jwt' }],
      ['logout_not_a_logout_event', 'it is typed as a security event token', {}, { typ: 'secevent+jwt' }],
      ['logout_nonce_present', 'it has a nonce', { nonce: 'x' }],
      ['logout_identifier_too_long', 'its sid has 257 characters', { sid: 'x'.repeat(257) }],
      ['logout_no_subject_or_session', 'it has neither sub nor sid', { sub: undefined }],
      ['logout_no_subject_or_session', 'its sid is null and it has no sub', { sub: undefined, sid: null }],
    ];
    const given = (members: Members = {}) => (typeof members === 'function' ? members() : members);

    /** Expects one record without sponsor, agent and task, and a response that does not name the failed check. */
    async function expectRefused(
      reason: string,
      act: () => Promise<Answer>,
      detail = 'The logout token is not acceptable.',
    ) {
      const lines = await mandate.recorded(async () => {
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
      const other = await makeSigningKey('RS256');
      const header = { alg: 'RS256', typ: 'logout+jwt', kid: provider.signingKey().kid };
      const [head, claims = '', signature] = sign().split('.');
      const foreign = other.sign(header, Buffer.from(claims, 'base64url'));
      await expectRefused('logout_invalid_signature', () => send(foreign));
      const [, payload] = sign().split('.');
      await expectRefused('logout_invalid_signature', () => send(`${head}.${payload}.${signature}`));
    });

    it("answers 503 while the provider's keys are unavailable; together, these tests record every denial reason of logout tokens", async () => {
      const blind = await mandate.another(DOWN);
      const token = sign();
      const lines = await mandate.recorded(async () => {
        const answer = await blind.post(PATH, { logout_token: token });
        expect(answer.status).to.equal(503);
        expect(answer.body.error).to.equal('temporarily_unavailable');
        expect(answer.headers.get('cache-control')).to.equal('no-store');
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'logout_keys_unavailable']]);
      await blind.stop();
      expectAccepted(await send(token));
      const recorded = new Set((await mandate.ledger()).map((line) => line.reason));
      expect(logoutDenialReasons.filter((reason) => !recorded.has(reason))).to.deep.equal([]);
    });

    it('records the first of several equal refusals, then one summary with a count', async () => {
      const counting = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'true' });
      const lines = await mandate.recorded(async () => {
        for (let nth = 0; nth < 4; nth += 1) await counting.post(PATH, { logout_token: 'nonsense' });
        await counting.stop();
      });
      expect(fieldsOf(lines, 'reason', 'count')).to.deep.equal([
        ['logout_malformed', undefined],
        ['logout_malformed', 3],
      ]);
    });

    it('refuses every other kind of token, and accepts a logout token as no other kind of token', async () => {
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
      const without = await mandate.another({ 'Service:UpstreamIdp:BackchannelLogout:Audience': '' });
      const task = await newTask();
      const lines = await mandate.recorded(async () => {
        const answer = await without.post(PATH, { logout_token: sign() });
        expect(answer.status).to.equal(404);
        expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
      });
      expect(lines).to.deep.equal([]);
      expect(await introspect(task)).to.deep.include({ active: true });
      await without.stop();
      const { text } = await mandate.get('/.well-known/openid-configuration');
      expect(text).not.to.include('logout');
    });

    it('accepts a logout token until ten minutes and the clock skew after its iat', async () => {
      mandate.clock.standStill();
      const early = sign({ exp: undefined });
      const late = sign({ exp: undefined });
      mandate.clock.advance(655);
      expectAccepted(await send(early));
      mandate.clock.advance(10);
      await expectRefused('logout_too_old', () => send(late));
    });

    describeForeignJws((vectors) => {
      it('refuses every public JWS vector as a logout token', async () => {
        await tryEach(vectors, async ({ tcId, jws }) => {
          const answer = await send(jws);
          expect(answer.status, String(tcId)).to.equal(400);
          expect(answer.body.error, String(tcId)).to.equal('invalid_request');
        });
      });
    });

    describeVectors<readonly string[]>('naughty strings', 'naughty_strings.json', (strings) => {
      it("accepts unusual strings as sub and sid, and ends no other person's task", async () => {
        const task = await newTask();
        await tryEach([...new Set(strings)], async (value) => {
          const answer = await send(sign({ sub: value, sid: `${value}#` }));
          expect(answer.status, JSON.stringify(value)).to.be.oneOf([200, 400]);
        });
        expect(await introspect(task)).to.deep.include({ active: true });
      });
    });
  });
}
