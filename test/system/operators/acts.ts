/** The records of what operators do. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { runMandate } from '../../support/cli-run.ts';
import { ADMIN_KEY, aRegistration, type LedgerLine } from '../../support/mandate.ts';
import type { ServiceWithOperators } from './service.ts';
import { detailOf, operator, sendAs, WHY } from './service.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');

export function testActs(service: ServiceWithOperators): void {
  const { key } = service;

  it('end a task: the act follows the records that it explains, with a hash of the reason', async () => {
    const { mandate } = service;
    const agent = await mandate.agent();
    const issued = await agent.exchange();
    const id = String(issued.body.task_id);
    const reason = encodeURIComponent('Ärger <b>&amp;</b> 100%');
    const records = await mandate.recorded(() =>
      operator(mandate, 'olga', 'responder')(`DELETE /admin/tasks/${id}`, { reason }),
    );
    expect(records.map(({ event }) => event)).to.deep.equal(['task.revoked', 'operator.acted']);
    const [revoked, act] = records as [LedgerLine, LedgerLine];
    expect(act).to.include({ decision: 'allow', reason: null, sponsor: null, agent_id: null, task_id: null });
    const { reason: hash, ...detail } = detailOf(act);
    expect(detail).to.deep.equal({
      iss: mandate.provider.issuer,
      sub: 'olga',
      role: 'responder',
      act: 'DELETE /admin/tasks/{task_id}',
      seq: String(revoked.seq),
    });
    const read = operator(mandate, 'audrey', 'auditor');
    for (const seq of [revoked.seq, act.seq]) {
      const { body } = await read(`GET /admin/acts?seq=${seq}`, { reason: undefined });
      expect(body.next_cursor).to.equal(null);
      const [listed, ...others] = body.acts as readonly Record<string, unknown>[];
      expect(others).to.deep.equal([]);
      const { salt, at, ...stored } = listed ?? {};
      expect(stored).to.deep.equal({
        ...detail,
        seq: act.seq,
        explains: revoked.seq,
        reason: 'Ärger <b>&amp;</b> 100%',
      });
      expect(at).to.match(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
      expect(hash).to.equal(sha256(`${salt}${stored.reason}`));
    }
    expect((await agent.refresh(String(issued.body.refresh_token))).status).to.equal(400);
  });

  it('explain every record of an act, and no record of another', async () => {
    const { mandate } = service;
    const agent = await mandate.agent();
    for (const _ of [1, 2, 3]) await agent.grant();
    const before = await mandate.recorded(() => agent.grant());
    const records = await mandate.recorded(() =>
      operator(mandate, 'olga', 'responder')(`DELETE /admin/agents/${agent.id}/tasks`),
    );
    const after = await mandate.recorded(() => agent.exchange());
    const act = records.at(-1)?.seq;
    expect(records).to.have.length(5);
    const actsOf = async ({ seq }: LedgerLine) => {
      const { body } = await mandate.admin('GET', `/admin/acts?seq=${seq}`);
      return (body.acts as readonly Record<string, unknown>[]).map(({ seq: number }) => number);
    };
    for (const record of records) expect(await actsOf(record)).to.deep.equal([act]);
    for (const record of [...before, ...after]) expect(await actsOf(record)).to.deep.equal([]);
  });

  it('leave one record of each change, whatever it ended', async () => {
    const { mandate } = service;
    const agent = await mandate.agent();
    await agent.grant();
    const registration = aRegistration({ agent_id: agent.id, jwks: agent.key.jwks });
    const all = operator(mandate, 'olga', 'registrar', 'responder');
    const cases: readonly (readonly [string, unknown, number, readonly string[]])[] = [
      ['POST /admin/agents', registration, 409, ['agent.registered']],
      ['POST /admin/agents', { ...registration, allowed_scopes: [' '] }, 400, []],
      ['POST /admin/agents', ['no object'], 400, []],
      ['PATCH /admin/agents/nobody', { enabled: false }, 404, []],
      ['PATCH /admin/agents/NO-ID', { enabled: false }, 404, []],
      [`PATCH /admin/agents/${agent.id}`, { enabled: 'no' }, 400, []],
      [`PATCH /admin/agents/${agent.id}`, { display_name: '' }, 400, []],
      [`PATCH /admin/agents/${agent.id}`, { display_name: 'Renamed' }, 200, ['agent.updated']],
      [`DELETE /admin/agents/${agent.id}`, undefined, 409, ['agent.deleted']],
      ['DELETE /admin/agents/nobody', undefined, 404, []],
      ['DELETE /admin/agents/nobody/tasks', undefined, 404, []],
      ['DELETE /admin/agents/NO-ID/tasks', undefined, 404, []],
      ['DELETE /admin/tasks/task_01M31S7W68TMK7WDX8YKPSYTEA', undefined, 404, []],
      ['DELETE /admin/tasks/none', undefined, 404, []],
      ['DELETE /admin/tasks?agent_id=nobody', undefined, 400, []],
      ['DELETE /admin/tasks', { agent_id: 'nobody' }, 400, []],
      ['DELETE /admin/sponsors/no%20key/tasks', undefined, 400, []],
      ['DELETE /admin/sponsors/without-tasks/tasks', undefined, 200, []],
      ['DELETE /admin/sponsors/not-blocked/block', undefined, 404, []],
      ['PUT /admin/sponsors/mallory/block', undefined, 200, ['sponsor.blocked']],
      ['PUT /admin/sponsors/mallory/block', undefined, 200, []],
    ];
    for (const [route, body, status, events] of cases) {
      const records = await mandate.recorded(async () =>
        expect((await all(route, { body })).status, route).to.equal(status),
      );
      expect(
        records.map(({ event }) => event),
        route,
      ).to.deep.equal([...events, 'operator.acted']);
      const act = records.at(-1) as LedgerLine;
      const explains = events.length === 0 ? null : records[0]?.seq;
      expect(detailOf(act).seq, route).to.equal(String(explains ?? ''));
      const { body: listed } = await mandate.admin('GET', `/admin/acts?seq=${act.seq}`);
      expect((listed.acts as readonly object[])[0], route).to.include({ seq: act.seq, explains });
    }
  });

  it('end all tasks of all people: the act explains the records of each task, and a repetition ends none', async () => {
    const { mandate } = service;
    const [agent, other] = [await mandate.agent(), await mandate.agent()];
    const issued = [await agent.exchange(), await other.exchangeFor({ sub: 'grace' }), await other.exchange()];
    const send = operator(mandate, 'olga', 'responder');
    const route = 'DELETE /admin/tasks';
    const records = await mandate.recorded(async () => {
      const { status, body } = await send(route);
      expect(status).to.equal(200);
      expect(body.revoked_tasks).to.be.at.least(3);
    });
    const act = records.at(-1) as LedgerLine;
    expect(detailOf(act)).to.include({ sub: 'olga', role: 'responder', act: route, seq: String(records[0]?.seq) });
    const ended = records.filter(({ event }) => event === 'task.revoked');
    expect(ended.map(({ task_id }) => task_id)).to.include.members(issued.map(({ body }) => body.task_id));
    expect(new Set(ended.map(({ reason }) => reason))).to.deep.equal(new Set(['operator_kill_switch']));
    for (const { body } of issued) {
      const { active, revocation_reason } = await mandate.introspect(String(body.access_token));
      expect([active, revocation_reason]).to.deep.equal([false, 'operator_kill_switch']);
    }
    const again = await mandate.recorded(async () => {
      expect((await send(route)).body).to.deep.equal({ revoked_tasks: 0 });
    });
    expect(again.map(({ event }) => event)).to.deep.equal(['operator.acted']);
    expect((await agent.exchange()).status).to.equal(200);
  });

  it('end no task of all people without the setting, except by the key, and record each refusal', async () => {
    const { mandate } = service;
    const replica = await mandate.another({ 'Service:Operators:StopEverything': '' });
    replica.clock.advance(mandate.clock.seconds() - replica.clock.seconds());
    const agent = await mandate.agent();
    const { body } = await agent.exchange();
    const records = await mandate.recorded(async () => {
      const answer = await operator(replica, 'olga', 'responder')('DELETE /admin/tasks');
      expect(answer.status).to.equal(403);
      expect(answer.body.detail).to.include('Service:Operators:StopEverything');
    });
    expect(records.map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal([
      ['admin.denied', 'deny', 'operator_role_missing'],
    ]);
    const [record] = records;
    expect(record && detailOf(record)).to.include({ sub: 'olga', act: 'DELETE /admin/tasks' });
    expect((await mandate.introspect(String(body.access_token))).active).to.equal(true);
    expect((await sendAs(replica, ADMIN_KEY, 'DELETE /admin/tasks')).body.revoked_tasks).to.be.at.least(1);
    expect((await mandate.introspect(String(body.access_token))).active).to.equal(false);
    await replica.stop();
  });

  it('record the admin key as key, without a name or a reason', async () => {
    const { mandate } = service;
    const records = await mandate.recorded(() => mandate.admin('PUT', '/admin/sponsors/edith/block'));
    expect(records.map(({ event }) => event)).to.deep.equal(['sponsor.blocked', 'operator.acted']);
    const [blocked, act] = records as [LedgerLine, LedgerLine];
    expect(detailOf(act)).to.deep.equal({
      iss: '',
      sub: '',
      role: 'key',
      act: 'PUT /admin/sponsors/{sponsor_key}/block',
      seq: String(blocked.seq),
      reason: '',
    });
    const { body } = await mandate.admin('GET', `/admin/acts?seq=${act.seq}`);
    expect((body.acts as readonly object[])[0]).to.include({ role: 'key', reason: null, salt: null });
  });

  it('list the acts of a person in pages, newest first, and refuse the cursor of another query', async () => {
    const { mandate } = service;
    for (const path of ['one', 'two', 'three']) {
      await operator(mandate, 'paula', 'responder')(`DELETE /admin/sponsors/${path}/tasks`);
    }
    const pages: number[][] = [];
    let cursor = '';
    do {
      const { body } = await mandate.admin('GET', `/admin/acts?sub=paula&limit=2${cursor}`);
      pages.push((body.acts as readonly { seq: number }[]).map(({ seq }) => seq));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
      if (cursor === '') break;
      const foreign = await mandate.admin('GET', `/admin/acts?sub=olga&limit=2${cursor}`);
      expect([foreign.status, Object.keys(foreign.body.errors as object)]).to.deep.equal([400, ['cursor']]);
      expect((await mandate.admin('GET', `/audit?limit=2${cursor}`)).status).to.equal(400);
    } while (cursor !== '');
    expect(pages.map((page) => page.length)).to.deep.equal([2, 1]);
    expect(pages.flat()).to.deep.equal(pages.flat().toSorted((one, other) => other - one));
  });

  it('name each wrong parameter of the list of acts', async () => {
    const { mandate } = service;
    const { status, body } = await mandate.admin('GET', '/admin/acts?seq=x&sub=&limit=0&cursor=x&by=me');
    expect(status).to.equal(400);
    expect(Object.keys(body.errors as object)).to.have.members(['seq', 'sub', 'limit', 'cursor', 'by']);
  });

  it('have their reasons erased after the retention, and the ledger still verifies', async () => {
    const { fresh, mandate } = service;
    await operator(mandate, 'olga', 'responder')('DELETE /admin/sponsors/nobody/tasks');
    mandate.clock.advance(7 * 86_400 - 60);
    await operator(mandate, 'rita', 'responder')('DELETE /admin/sponsors/nobody/tasks');
    mandate.clock.advance(61);
    await mandate.jobs.sweep();
    const reasonsOf = async (sub: string) => {
      const { body } = await mandate.admin('GET', `/admin/acts?sub=${sub}`);
      return (body.acts as readonly Record<string, unknown>[]).map(({ reason, salt }) => [reason, salt !== null]);
    };
    expect(new Set((await reasonsOf('olga')).map(String))).to.deep.equal(new Set([String([null, false])]));
    expect(await reasonsOf('rita')).to.deep.equal([[WHY, true]]);
    await mandate.jobs.seal();
    const { code, out } = await runMandate(['audit-verify'], { ...fresh.settings, ...key });
    expect([code, /The seal is intact/.test(out)], out).to.deep.equal([0, true]);
  });
}
