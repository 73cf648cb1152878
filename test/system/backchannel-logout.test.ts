/** Back-channel logout over HTTP: the identity provider ends a session, and the service ends its tasks. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../scripts/free-port.ts';
import { databasesByLength } from '../support/databases.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import { fieldsOf, type Mandate, withService } from '../support/mandate.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { OPERATORS } from '../support/operators.ts';
import { PATH, receiverOn } from './backchannel-logout/receiver.ts';
import { testRefusedTokens } from './backchannel-logout/refused.ts';

for (const database of databasesByLength) {
  describe(`Back-channel logout on ${database.name}`, function () {
    this.timeout(60_000);
    const receiver = receiverOn(database);
    const { sign, send, newTask, introspect, expectAccepted } = receiver;

    it('ends the tasks of a session that a real provider ends, and no other task', async () => {
      const { provider, mandate, agent } = receiver;
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

    it('accepts the tokens of its client if the operators have another client of the same provider', async () => {
      const { provider, mandate } = receiver;
      const settings = {
        ...OPERATORS,
        'Service:UpstreamIdp:Issuer': '',
        'Service:UpstreamIdp:MetadataUrl': `${provider.issuer}/.well-known/openid-configuration`,
        'Service:Operators:ClientId': 'mandate-console',
        'Service:Operators:Issuer': provider.issuer,
        PORT: '0',
      };
      await withService(mandate.another(settings), async (instance) => {
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
      });
    });

    it('ends the tasks if operators and people share one client of a provider behind its metadata URL', async () => {
      const { provider, mandate } = receiver;
      const metadata = await startLoopback(answering('unavailable', 503));
      const settings = {
        ...OPERATORS,
        'Service:UpstreamIdp:Issuer': '',
        'Service:UpstreamIdp:MetadataUrl': `${metadata.url}/.well-known/openid-configuration`,
        'Service:Operators:ClientId': provider.clientId,
        'Service:Operators:Issuer': provider.issuer,
        PORT: '0',
      };
      await withService(mandate.another(settings), async (shared) => {
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
      });
      await metadata.close();
    });

    it('warns if a logout of a person and a session leaves tasks without a session, and ends them with the setting', async () => {
      const { mandate } = receiver;
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

      const settings = { 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession': 'true' };
      await withService(mandate.another(settings), async (ending) => {
        const ended = await mandate.recorded(async () => {
          expectAccepted(await ending.post(PATH, { logout_token: sign({ sub, sid }) }));
        });
        expect(fieldsOf(ended, 'event', 'reason', 'sponsor')).to.deep.equal([
          ['sponsor.signal', 'sponsor_logged_out', sub],
          ['task.revoked', 'sponsor_logged_out', sub],
        ]);
        expect(await introspect(task)).to.deep.include({ active: false, revocation_reason: 'sponsor_logged_out' });
        expect(warnings(ending)).to.deep.equal([]);
      });
    });

    it('counts a logout that left tasks without a session only if it ended none', async () => {
      const { mandate } = receiver;
      const port = await freePort();
      await withService(mandate.another({ 'Service:Metrics:Port': String(port) }), async (counting) => {
        for (const endsOne of [false, true]) {
          const [sub, sid] = [`ada-${randomUUID()}`, randomUUID()];
          await newTask({ sub, sid: undefined });
          const ofSession = endsOne ? await newTask({ sub, sid }) : undefined;
          expectAccepted(await counting.post(PATH, { logout_token: sign({ sub, sid }) }));
          if (ofSession !== undefined) expect(await introspect(ofSession)).to.deep.include({ active: false });
          const counted = await scrape(port);
          expect(counted.value('mandate_signals_without_effect_total', { source: 'logout' })).to.equal(1);
        }
      });
    });

    it('finds the tasks by sub if the sponsor key is in another claim', async () => {
      const { mandate } = receiver;
      await withService(mandate.another({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' }), async (keyed) => {
        const issued = await (await keyed.agent()).exchangeFor({ oid: 'object-7' });
        expect(issued.status, issued.text).to.equal(200);
        expectAccepted(await keyed.post(PATH, { logout_token: sign() }));
        expect(await keyed.introspect(issued)).to.deep.include({ revocation_reason: 'sponsor_logged_out' });
      });
    });

    it('answers 200 to a repeated logout token, acts once, and records a logout that ends no task', async () => {
      const { mandate } = receiver;
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

    testRefusedTokens(receiver);
  });
}
