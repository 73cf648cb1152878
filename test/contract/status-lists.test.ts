import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { postgres, sqlite } from '../../adapters/storage/dialect.ts';
import { LOCK } from '../../adapters/storage/postgres/locks.ts';
import { findStatusList } from '../../adapters/storage/queries/status-lists.ts';
import { openStatusList } from '../../application/decisions/open-status-list.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { revokeSingleToken } from '../../application/decisions/revoke-single-token.ts';
import { expireDueTasks } from '../../application/decisions/sweep.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { StatusReference } from '../../domain/tasks/status-list.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { literalText } from '../support/literal-text.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  aChildOpening,
  anEntry,
  anOpening,
  aRefusal,
  aRenewal,
  aTokenRevocation,
  registeredAgent,
} from './storage-fixtures.ts';

const newListId = () => randomBytes(16).toString('base64url');
const newAudience = () => `https://tool-${randomUUID()}.example`;
const AT = plusSeconds(NOON, 1);
const DAY = 86_400;
const _clock = { now: () => AT };

onEveryDatabase('the indices of a status list', ({ storage, database, kind, outside }) => {
  let agent: Agent;
  before(async () => {
    agent = await registeredAgent(storage());
  });

  /** A list of its own audience. */
  async function openedList(entries: number, at: Instant = AT) {
    const list = { audience: newAudience(), listId: newListId() };
    expect(await storage().decide(openStatusList, { ...list, entries, at })).to.equal('opened');
    return list;
  }

  async function draw(audience: string, draws: readonly number[], changes: Partial<Task> = {}) {
    const opening = anOpening(changes.agentId === undefined ? agent : { ...agent, agentId: changes.agentId }, {
      audience,
      ...changes,
    });
    const verdict = await storage().decide(openTask, { ...opening, statusDraws: draws });
    return { opening, verdict };
  }

  async function drawn(audience: string, draws: readonly number[], changes: Partial<Task> = {}) {
    const { opening, verdict } = await draw(audience, draws, changes);
    if (verdict.kind !== 'opened' || verdict.status === undefined) throw new Error(`not opened: ${verdict.kind}`);
    return { ...opening, status: verdict.status };
  }

  const statusOf = async ({ task, grantHash }: TaskOpening) =>
    (await storage().tasks.findGrant(task.agentId, grantHash))?.task.status;

  /** Ends the tasks that expired by then, and frees what is free, in as many passes as it takes. */
  async function sweep(until: Instant): Promise<void> {
    while ((await storage().decide(expireDueTasks, { overBy: until, at: until, limit: 200 })) > 0);
    while ((await storage().sweeping.forget(until, 200)) > 0);
  }

  it('are taken in the order of the draws, of which only as many bits count as the list needs', async () => {
    const { audience, listId } = await openedList(1024);
    const first = await drawn(audience, [2 ** 32 - 1, 7]);
    expect(first.status).to.deep.equal({ listId, index: 1023 });
    const second = await drawn(audience, [5 * 1024 + 1023, 1023, 7 + 1024, 8]);
    expect(second.status).to.deep.equal({ listId, index: 7 });
  });

  it('stay with the task: a renewal reads the same one, also after the task has ended', async () => {
    const { audience, listId } = await openedList(16);
    const opening = await drawn(audience, [3]);
    expect(await storage().tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
    expect(await statusOf(opening)).to.deep.equal({ listId, index: 3 });
    await storage().tasks.end(
      { kind: 'task', taskId: opening.task.taskId },
      { at: AT, reason: 'operator_kill_switch' },
    );
    expect(await statusOf(opening)).to.deep.equal({ listId, index: 3 });
  });

  it('are counted by list, with those of ended tasks, until they are free', async () => {
    const { audience, listId } = await openedList(16);
    const usage = async () => (await storage().statusLists.usage()).find((list) => list.listId === listId);
    expect(await usage()).to.deep.equal({ listId, audience, entries: 16, held: 0, createdAt: AT });
    const { task } = await drawn(audience, [3]);
    await drawn(audience, [4]);
    await storage().tasks.end({ kind: 'task', taskId: task.taskId }, { at: AT, reason: 'operator_kill_switch' });
    expect((await usage())?.held).to.equal(2);
    await sweep(plusSeconds(task.expiresAt, 1));
    expect((await usage())?.held).to.equal(0);
  });

  it('are held by a task whose time has passed, until its expiry is recorded', async () => {
    const { audience, listId } = await openedList(16);
    const { task } = await drawn(audience, [3]);
    const held = async () => (await storage().statusLists.usage()).find((list) => list.listId === listId)?.held;
    while ((await storage().sweeping.forget(plusSeconds(task.expiresAt, 1), 200)) > 0);
    expect(await held()).to.equal(1);
    await sweep(plusSeconds(task.expiresAt, 1));
    expect(await held()).to.equal(0);
  });

  it('are found by a search if all random draws are taken, down to the last one', async () => {
    for (const start of [0, 5, 15]) {
      const { audience, listId } = await openedList(16);
      const taken: number[] = [];
      for (let nth = 0; nth < 16; nth++) taken.push((await drawn(audience, [start, start + 16])).status.index);
      expect(new Set(taken).size).to.equal(16);
      expect(Math.max(...taken)).to.equal(15);
      const { opening, verdict } = await draw(audience, [start]);
      expect(verdict).to.deep.equal({ kind: 'no_status_index' });
      // Nothing was written: the same assertion still opens a task.
      expect(await statusOf(opening)).to.equal(undefined);
      expect(await storage().decide(openTask, opening)).to.deep.equal({ kind: 'opened' });
      const another = { audience, listId: newListId(), entries: 32, at: plusSeconds(AT, 1) };
      expect(await storage().decide(openStatusList, another)).to.equal('opened');
      expect((await drawn(audience, [21])).status).to.deep.equal({ listId: another.listId, index: 21 });
      expect((await storage().statusLists.find(another.listId))?.entries).to.equal(32);
      expect(listId).not.to.equal(another.listId);
    }
  });

  it('are never shared by two tasks that are opened at once with the same candidates, also by two replicas', async () => {
    const other = await database().open();
    const { audience, listId } = await openedList(16);
    const statusCandidates = { listId, indices: [3, 5] };
    const verdicts = await Promise.all(
      [storage(), other, storage(), other, storage(), other].map((replica) =>
        replica.decide(openTask, { ...anOpening(agent, { audience }), statusCandidates }),
      ),
    );
    await other.close();
    expect(verdicts.map(({ kind }) => kind).sort()).to.deep.equal([
      ...Array.from({ length: 4 }, () => 'no_status_index'),
      ...['opened', 'opened'],
    ]);
    expect((await heldIndices(audience)).map(({ index }) => index)).to.have.members([3, 5]);
  });

  it('are taken in one transaction by two tasks that are opened at once with the same candidates', async () => {
    const { audience, listId } = await openedList(16);
    const statusCandidates = { listId, indices: [3, 5] };
    const openings = [anOpening(agent, { audience }), anOpening(agent, { audience })];
    const verdicts = await Promise.all(
      openings.map((opening) => storage().decide(openTask, { ...opening, statusCandidates })),
    );
    expect(verdicts).to.deep.equal([3, 5].map((index) => ({ kind: 'opened', status: { listId, index } })));
    if (kind.engine !== 'postgres') return;
    const { sql } = await outside();
    const ids = openings.map(({ task }) => `'${task.taskId}'`).join();
    const rows = await sql(`select distinct xmin::text from tasks where task_id in (${ids})`);
    expect(rows, 'a conflict would have rolled the batch back').to.have.length(1);
  });

  async function heldIndices(audience: string): Promise<readonly StatusReference[]> {
    const connection = await database().outside?.();
    const rows = await connection?.sql(
      `select status_list, status_index from tasks where audience = '${audience}' and status_list is not null`,
    );
    await connection?.close();
    return (rows ?? []).map((row) => ({ listId: String(row.status_list), index: Number(row.status_index) }));
  }

  it('are free again after the expiry of their tasks, to the microsecond; the list is then open again', async () => {
    const expiresAt = plusSeconds(NOON, 500);
    const { audience, listId } = await openedList(2);
    const early = await drawn(audience, [0], { expiresAt });
    const late = await drawn(audience, [1], { expiresAt: plusSeconds(expiresAt, 100) });
    await storage().tasks.end({ kind: 'task', taskId: early.task.taskId }, { at: AT, reason: 'operator_kill_switch' });
    const next = { audience, listId: newListId(), entries: 2, at: plusSeconds(AT, 1) };
    expect(await storage().decide(openStatusList, next)).to.equal('opened');
    await sweep(instantFromMicros(expiresAt - 1));
    expect(await statusOf(early)).to.deep.equal({ listId, index: 0 });
    await sweep(expiresAt);
    expect([await statusOf(early), await statusOf(late)]).to.deep.equal([undefined, { listId, index: 1 }]);
    expect((await storage().statusLists.find(listId))?.ended).to.deep.equal([]);
    // The oldest open list comes first.
    expect((await drawn(audience, [1])).status).to.deep.equal({ listId, index: 0 });
  });

  it('of an unused list are no more after a day and an hour: it is closed, then deleted', async () => {
    const used = await openedList(16);
    const unused = await openedList(16);
    const task = await drawn(used.audience, [3], { expiresAt: plusSeconds(AT, 3 * DAY) });
    const isStored = async ({ listId }: { readonly listId: string }) =>
      (await storage().statusLists.list()).includes(listId);
    await sweep(instantFromMicros(plusSeconds(AT, DAY) - 1));
    // It is still open.
    const slot = await drawn(unused.audience, [3], { expiresAt: plusSeconds(AT, 60) });
    expect(slot.status.listId).to.equal(unused.listId);
    await sweep(plusSeconds(AT, DAY));
    expect((await draw(unused.audience, [3])).verdict.kind).to.equal('no_status_index');
    await sweep(instantFromMicros(plusSeconds(AT, DAY + 3600) - 1));
    expect(await isStored(unused)).to.equal(true);
    await sweep(plusSeconds(AT, DAY + 3600));
    expect([await isStored(unused), await isStored(used)]).to.deep.equal([false, true]);
    expect(await statusOf(task)).to.deep.equal(task.status);
  });

  it('show what happened to their tasks: an end, a disabled agent, a revoked token', async () => {
    const { audience, listId } = await openedList(1024);
    const [doomed, other] = [await registeredAgent(storage()), await registeredAgent(storage())];
    const of = (owner: Agent, index: number) => drawn(audience, [index], { agentId: owner.agentId });
    const [live, killed, expired] = [await of(other, 1), await of(other, 2), await of(doomed, 3)];
    const [suspended, revokedToo, questioned] = [await of(doomed, 4), await of(doomed, 5), await of(other, 6)];
    expect(await storage().statusLists.find(listId)).to.deep.equal({
      entries: 1024,
      ended: [],
      suspended: [],
      withRevokedToken: [],
    });
    for (const { task } of [killed, expired]) {
      await storage().tasks.end({ kind: 'task', taskId: task.taskId }, { at: AT, reason: 'operator_kill_switch' });
    }
    for (const opening of [killed, revokedToo, questioned]) {
      expect(await storage().decide(revokeSingleToken, aTokenRevocation(opening))).to.equal('revoked');
    }
    await storage().agents.replace({ ...doomed, enabled: false, revision: 2 }, anEntry('agent.updated'));
    const found = await storage().statusLists.find(listId);
    expect(found?.ended).to.have.members([2, 3]);
    expect(found?.suspended).to.have.members([4, 5]);
    expect(found?.withRevokedToken).to.have.members([5, 6]);
    expect(live.status.index).to.equal(1);
    expect(suspended.status.index).to.equal(4);
    // An agent with tasks cannot be removed, so none of them is without an agent.
    const removal = storage().agents.remove(doomed.agentId, anEntry('agent.deleted'), aRefusal('agent_has_tasks'));
    expect(await removal).not.to.equal('removed');
  });

  it('show a task below a task of a disabled agent as suspended, down to the last one, until the agent is enabled', async () => {
    const { audience, listId } = await openedList(1024);
    const [top, middle, leaf] = await Promise.all([1, 2, 3].map(() => registeredAgent(storage())));
    if (top === undefined || middle === undefined || leaf === undefined) throw new Error('no agents');
    const root = await drawn(audience, [1], { agentId: top.agentId });
    const below = async (parent: TaskOpening, owner: Agent, index: number) => {
      const { sponsorKey, sponsor } = parent.task;
      const opening = aChildOpening(owner, parent, { audience, sponsorKey, sponsor });
      const verdict = await storage().decide(openTask, { ...opening, statusDraws: [index] });
      expect(verdict).to.deep.include({ kind: 'opened', status: { listId, index } });
      return opening;
    };
    const second = await below(root, middle, 2);
    await below(second, leaf, 3);
    const ended = await below(second, leaf, 4);
    await drawn(audience, [5], { agentId: leaf.agentId });
    await storage().tasks.end({ kind: 'task', taskId: ended.task.taskId }, { at: AT, reason: 'operator_kill_switch' });
    const suspended = async () => {
      const list = await storage().statusLists.find(listId);
      return [...new Set(list?.suspended)].sort();
    };
    const set = async (agent: Agent, enabled: boolean, revision: number) =>
      storage().agents.replace({ ...agent, enabled, revision }, anEntry('agent.updated'));
    expect(await suspended()).to.deep.equal([]);
    await set(middle, false, 2);
    expect(await suspended()).to.deep.equal([2, 3]);
    await set(top, false, 2);
    expect(await suspended()).to.deep.equal([1, 2, 3]);
    await set(middle, true, 3);
    expect(await suspended(), 'the top of the chain is still disabled').to.deep.equal([1, 2, 3]);
    await set(top, true, 3);
    expect(await suspended()).to.deep.equal([]);
    expect((await storage().statusLists.find(listId))?.ended).to.deep.equal([4]);
  });

  it('are read although a row of a disabled agent was altered to be its own parent', async () => {
    const { audience, listId } = await openedList(1024);
    const owner = await registeredAgent(storage());
    const { task } = await drawn(audience, [1], { agentId: owner.agentId });
    await storage().agents.replace({ ...owner, enabled: false, revision: 2 }, anEntry('agent.updated'));
    const { sql } = await outside();
    await sql(`update tasks set parent_task_id = task_id where task_id = '${task.taskId}'`);
    expect(new Set((await storage().statusLists.find(listId))?.suspended)).to.deep.equal(new Set([1]));
    await sql(`update tasks set parent_task_id = null where task_id = '${task.taskId}'`);
  });

  it('show the end of a task and of all tasks below it at once', async () => {
    const { audience, listId } = await openedList(1024);
    const root = await drawn(audience, [1]);
    const { sponsorKey, sponsor } = root.task;
    const child = aChildOpening(await registeredAgent(storage()), root, { audience, sponsorKey, sponsor });
    expect((await storage().decide(openTask, { ...child, statusDraws: [2] })).kind).to.equal('opened');
    await storage().tasks.end({ kind: 'task', taskId: root.task.taskId }, { at: AT, reason: 'operator_kill_switch' });
    expect((await storage().statusLists.find(listId))?.ended).to.have.members([1, 2]);
  });

  async function planOf(
    listId: string,
    explain = kind.engine === 'postgres' ? 'explain' : 'explain query plan',
  ): Promise<string> {
    const connection = await outside();
    const select = literalText(findStatusList, listId, kind.engine === 'postgres' ? postgres : sqlite);
    // With the tables' real sizes Postgres reads the few rows of a test without an index.
    if (kind.engine === 'postgres') await connection.sql('set enable_seqscan = off');
    const rows = await connection.sql(`${explain} ${select}`);
    return rows.map((row) => row['QUERY PLAN'] ?? row.detail).join('\n');
  }

  it('are found among the revoked tokens of their own list only', async () => {
    const { listId } = await openedList(16);
    expect(await planOf(listId)).to.contain('revoked_tokens_by_status_list');
  });

  it('of the tasks of disabled agents, and of those below, are looked up one after another', async () => {
    const { listId } = await openedList(16);
    const plan = (await planOf(listId)).replaceAll(/\n\s+Index Cond:/g, '');
    const lookUps =
      kind.engine === 'postgres'
        ? [
            'tasks_by_agent on tasks p .*agent_id = a.agent_id',
            'tasks_by_parent on tasks t_1 .*parent_task_id = p.task_id',
          ]
        : ['p USING INDEX tasks_by_agent .agent_id=', 't USING INDEX tasks_by_parent .parent_task_id='];
    for (const lookUp of [
      ...lookUps,
      kind.engine === 'postgres' ? 'parent_task_id = b.task_id' : 'SCAN b\nSEARCH t USING INDEX tasks_by_parent',
    ]) {
      expect(plan).to.match(new RegExp(lookUp));
    }
  });

  it('are refused by the table to a second task, whatever decided so', async () => {
    const { audience } = await openedList(16);
    const [one, other] = [await drawn(audience, [1]), await drawn(audience, [2])];
    const { sql } = await outside();
    const taking = sql(`update tasks set status_index = 1 where task_id = '${other.task.taskId}'`);
    expect(String(await thrownBy(taking))).to.match(/tasks_status_index|tasks\.status_list, tasks\.status_index/);
    expect([await statusOf(one), await statusOf(other)]).to.deep.equal([one.status, other.status]);
  });

  if (kind.engine === 'postgres') {
    it('are not drawn while a concurrent transaction may take them, and no decision waits for it', async () => {
      const { audience, listId } = await openedList(16);
      const { sql } = await outside();
      await sql('begin');
      await sql(`select pg_advisory_xact_lock(${LOCK.statusIndex}, hashtext('${listId}') # 5)`);
      expect((await drawn(audience, [5, 6])).status.index).to.equal(6);
      await sql('rollback');
      expect((await drawn(audience, [5, 7])).status.index).to.equal(5);
    });

    it('of one tool server are read without the trees at other tool servers', async () => {
      const owner = await registeredAgent(storage());
      const { audience } = await openedList(16);
      const root = await drawn(audience, [1], { agentId: owner.agentId });
      const { sponsorKey, sponsor } = root.task;
      const child = aChildOpening(agent, root, { audience, sponsorKey, sponsor });
      expect((await storage().decide(openTask, { ...child, statusDraws: [2] })).kind).to.equal('opened');
      await storage().agents.replace({ ...owner, enabled: false, revision: 2 }, anEntry('agent.updated'));
      const elsewhere = await openedList(16);
      expect(await planOf(elsewhere.listId, 'explain analyze')).to.match(
        /tasks_by_parent on tasks t_1 .*never executed/,
      );
    });

    it('are read with an index, however many tasks the list has', async () => {
      const connection = await database().outside?.();
      const plan = async (statement: string) => {
        await connection?.sql('set enable_seqscan = off');
        const rows = await connection?.sql(`explain ${statement}`);
        return (rows ?? []).map((row) => row['QUERY PLAN']).join('\n');
      };
      expect(await plan("select status_index from tasks t where t.status_list = 'x' and t.state <> 'live'")).to.contain(
        'tasks_status_ended',
      );
      const over =
        "select task_id from tasks where status_list is not null and state <> 'live' and expires_at <= now()";
      expect(await plan(`${over} order by expires_at limit 200`), 'indices to free').to.contain(
        'tasks_status_by_expiry',
      );
      // A planner that may join by a hash would read all tasks of the list, to find the few with a revoked token.
      await connection?.sql('set enable_nestloop = off');
      expect(await plan(literalText(findStatusList, 'x', postgres))).to.contain('tasks_pkey');
      await connection?.close();
    });
  }
});
