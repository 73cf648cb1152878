/** Shared Signals push (RFC 8935): the security events of a transmitter, and their effects. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../scripts/free-port.ts';
import { databasesByLength } from '../support/databases.ts';
import { fieldsOf, withService } from '../support/mandate.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { testRefusedEvents } from './shared-signals/refused.ts';
import { OAUTH, RISC, SESSION_REVOKED, streamOn } from './shared-signals/stream.ts';
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

    it('ends the tasks of a person for the older events that say the same', async () => {
      const { mandate } = stream;
      for (const name of [`${RISC}sessions-revoked`, `${OAUTH}tokens-revoked`]) {
        const task = await newTask();
        const lines = await mandate.recorded(async () => expectAccepted(await push(event(name, task.oid))));
        expect(fieldsOf(lines, 'event', 'reason', 'sponsor'), name).to.deep.equal([
          ['sponsor.signal', 'ssf_sessions_revoked', task.oid],
          ['task.revoked', 'ssf_sessions_revoked', 'ada'],
        ]);
        expect(await introspect(task), name).to.include({ active: false });
      }
    });

    it('says that nothing ended for an event about no person who is known, or about a session', async () => {
      const { mandate } = stream;
      const { log } = mandate;
      const session = 'dMTlD|1600802906337.16|16008.16';
      const logged = log.lines.length;
      const lines = await mandate.recorded(async () => {
        for (const name of [SESSION_REVOKED, `${RISC}sessions-revoked`, `${OAUTH}tokens-revoked`]) {
          expectAccepted(await push(event(name, session)));
        }
      });
      const types = [SESSION_REVOKED, `${RISC}sessions-revoked`, `${OAUTH}tokens-revoked`];
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor', 'detail')).to.deep.equal(
        types.map((type) => [
          'sponsor.signal',
          'deny',
          'ssf_nothing_ended',
          null,
          `{"type":"${type}","format":"opaque"}`,
        ]),
      );
      const said = log.lines
        .slice(logged)
        .filter((line) => line.includes('nothing_ended') || line.includes('nothing ended'));
      expect(said.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn')).to.have.lengthOf(3);
      expect(said.map((line) => JSON.parse(line).reason).filter(Boolean)).to.deep.equal(
        types.map(() => 'nothing_ended'),
      );
      for (const line of [...said, JSON.stringify(lines)]) expect(line).not.to.include('dMTlD');
    });

    it('counts events that ended nothing, with one record and one warning in a window for each type and format', async () => {
      const { mandate, transmitter } = stream;
      const port = await freePort();
      const settings = { 'Service:Audit:Aggregation:Enabled': 'true', 'Service:Metrics:Port': String(port) };
      await withService(mandate.another(settings), async (counting) => {
        const lines = await mandate.recorded(async () => {
          for (let sent = 0; sent < 3; sent += 1)
            expectAccepted(await push(event(SESSION_REVOKED, randomUUID()), counting));
          const person = { format: 'iss_sub', iss: mandate.provider.issuer, sub: randomUUID() };
          expectAccepted(await push(transmitter.sign({ sub_id: person, events: { [SESSION_REVOKED]: {} } }), counting));
        });
        const details = ['opaque', 'iss_sub'].map((format) => JSON.stringify({ type: SESSION_REVOKED, format }));
        expect(fieldsOf(lines, 'reason', 'detail')).to.deep.equal(details.map((each) => ['ssf_nothing_ended', each]));
        expect(counting.log.lines.filter((line) => line.includes('no person who is known here'))).to.have.lengthOf(2);
        const counted = await scrape(port);
        expect(counted.value('mandate_signals_without_effect_total', { source: 'ssf' })).to.equal(4);
        expect(counted.value('mandate_signals_without_effect_total', { source: 'logout' })).to.equal(0);
        const denial = { event: 'sponsor.signal', reason: 'ssf_nothing_ended' };
        expect(counted.value('mandate_denials_total', denial)).to.equal(4);
      });
    });

    it('names a person who is known, also without a live task', async () => {
      const { mandate } = stream;
      const [task, blocked] = [await newTask(), randomUUID()];
      await mandate.admin('DELETE', `/admin/tasks/${task.body.task_id}`);
      await mandate.admin('PUT', `/admin/sponsors/${blocked}/block`);
      const lines = await mandate.recorded(async () => {
        for (const oid of [task.oid, blocked]) expectAccepted(await push(event(SESSION_REVOKED, oid)));
        expectAccepted(await push(event(`${RISC}account-enabled`, 'nobody-at-all')));
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'allow', 'ssf_sessions_revoked', task.oid],
        ['sponsor.signal', 'allow', 'ssf_sessions_revoked', blocked],
        ['sponsor.signal', 'allow', 'ssf_account_enabled', 'nobody-at-all'],
      ]);
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

    testSubjects(stream);
    testRefusedEvents(stream);
  });
}
