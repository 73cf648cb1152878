/** Shared Signals push (RFC 8935): the security events of a transmitter, and their effects. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { fieldsOf, withService } from '../support/mandate.ts';
import { describeForeignJws, describeVectors, tryEach } from '../support/public-vectors.ts';
import { testRefusedEvents } from './shared-signals/refused.ts';
import { RISC, SESSION_REVOKED, streamOn } from './shared-signals/stream.ts';
import { testSubjects } from './shared-signals/subjects.ts';

for (const database of databasesByLength) {
  describe(`Shared Signals on ${database.name}`, function () {
    this.timeout(60_000);
    const stream = streamOn(database);
    const { push, event, newTask, introspect, expectAccepted, revoked } = stream;

    const blockOf = (oid: string) => stream.mandate.admin('GET', `/admin/sponsors/${encodeURIComponent(oid)}`);

    it('ends the tasks of a person for session-revoked, and allows new ones', async () => {
      const { mandate } = stream;
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
        const { mandate } = stream;
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
      const { mandate } = stream;
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
      const { mandate } = stream;
      const task = await newTask();
      const token = event(SESSION_REVOKED, task.oid);
      await Promise.all([push(token), push(token), push(token)]);
      const again = await newTask(task.oid);
      const lines = await mandate.recorded(async () => expectAccepted(await push(token)));
      expect(lines).to.deep.equal([]);
      expect(await introspect(again)).to.include({ active: true });
    });

    it('works while the identity provider does not answer, because its issuer is configured', async () => {
      const { transmitter, mandate } = stream;
      const task = await newTask();
      await withService(mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' }), async (alone) => {
        const about = (iss: string) =>
          transmitter.sign({ sub_id: { format: 'iss_sub', iss, sub: task.oid }, events: { [SESSION_REVOKED]: {} } });
        // The metadata may name another issuer of access tokens, so the transmitter is to send this event again.
        const lines = await mandate.recorded(async () => {
          expect((await push(about('http://127.0.0.1:9/trust'), alone)).status).to.equal(503);
        });
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['signal.denied', 'ssf_keys_unavailable']]);
        expect(await introspect(task)).to.include({ active: true });
        expectAccepted(await push(about('http://127.0.0.1:9'), alone));
      });
      expect(await introspect(task)).to.include({ active: false });
    });

    it("answers 503 to an iss_sub subject while the provider's metadata, which names its issuer, is unavailable", async () => {
      const { transmitter, mandate } = stream;
      const metadata = 'http://127.0.0.1:9/metadata';
      const settings = { 'Service:UpstreamIdp:Issuer': '', 'Service:UpstreamIdp:MetadataUrl': metadata };
      const task = await newTask();
      await withService(mandate.another(settings), async (unplaced) => {
        const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: task.oid };
        const token = transmitter.sign({ sub_id: subject, events: { [SESSION_REVOKED]: {} } });
        expect((await push(token, unplaced)).status).to.equal(503);
        expectAccepted(await push(event(SESSION_REVOKED, task.oid), unplaced));
      });
      expect(await introspect(task)).to.include({ active: false });
    });

    it('logs one warning at start if events are received and the sponsor key claim is not sub', async () => {
      const { transmitter, mandate } = stream;
      const warnings = (changes: Readonly<Record<string, string>>) =>
        withService(mandate.another(changes), async ({ log }) =>
          log.lines.filter((line) => line.includes('SponsorKeyClaim')).map((line) => JSON.parse(line)),
        );
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
      const { transmitter, mandate } = stream;
      const nothing = Object.fromEntries(Object.keys(transmitter.settings).map((key) => [key, '']));
      await withService(mandate.another(nothing), async (without) => {
        const lines = await mandate.recorded(async () => {
          const answer = await push(transmitter.sign(revoked), without);
          expect(answer.status).to.equal(404);
          expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
        });
        expect(lines).to.deep.equal([]);
      });
    });

    it('accepts an event token until a day after its iat, and never accepts it as a subject token', async () => {
      const { mandate, agent } = stream;
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
        const { transmitter, mandate } = stream;
        const task = await newTask();
        await tryEach([...new Set(strings)], async (value) => {
          const subject = { format: 'iss_sub', iss: mandate.provider.issuer, sub: value };
          const answer = await push(transmitter.sign({ sub_id: subject, events: { [SESSION_REVOKED]: { x: value } } }));
          expect(answer.status, JSON.stringify(value)).to.be.oneOf([202, 400]);
        });
        expect(await introspect(task)).to.include({ active: true });
      });
    });

    testSubjects(stream);
    testRefusedEvents(stream);
  });
}
