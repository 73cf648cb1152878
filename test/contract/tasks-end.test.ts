import { expect } from 'chai';
import { ulid } from 'ulid';
import { stopTasks } from '../../application/admin/stop-tasks.ts';
import type { EndVerdict } from '../../application/decisions/end-tasks.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { stopMyTasks } from '../../application/me/stop-my-tasks.ts';
import { makeTaskId, type SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { Revocation, RevocationReason, Task } from '../../domain/tasks/task.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { TaskSelection } from '../support/storage.ts';
import { lockAppends } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { outsideConnection } from './outside-connection.ts';
import { repetitions } from './repetitions.ts';
import {
  anOpening,
  aRenewal,
  asEntry,
  endRecordsOf,
  newAgentId,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

const LATER = instantFromMicros(NOON + 77_000_001);
const kill: Revocation = { at: LATER, reason: 'operator_kill_switch' };

const theTask = ({ task }: TaskOpening): TaskSelection => ({
  kind: 'task',
  taskId: task.taskId,
  sponsorKey: task.sponsorKey,
});
const itsAgent = ({ task }: TaskOpening): TaskSelection => ({ kind: 'agent', agentId: task.agentId });
const itsSponsor = ({ task }: TaskOpening): TaskSelection => ({ kind: 'sponsor', sponsorKey: task.sponsorKey });
const itsAgentForItsSponsor = ({ task: { sponsorKey, agentId } }: TaskOpening): TaskSelection => ({
  kind: 'sponsor_agent',
  sponsorKey,
  agentId,
});
const switches = [
  ['the task', theTask],
  ['the agent', itsAgent],
  ['the person', itsSponsor],
  ['the agent for the person', itsAgentForItsSponsor],
] as const;
type StopService = Parameters<typeof stopTasks>[0];
const me = (sponsorKey: SponsorKey) =>
  ({ subject: 'ada', sponsorKey, sessionId: undefined, authenticatedAt: undefined, by: 'token' }) as const;
const ended = (tasks: number): EndVerdict => ({ kind: 'ended', tasks });

const ends = (opening: TaskOpening, reason: RevocationReason, unrecorded = 0) =>
  endRecordsOf(opening, { at: LATER, event: 'task.revoked', reason }, unrecorded);

onEveryDatabase('ending tasks', ({ storage }) => {
  const end = (selection: TaskSelection, revocation = kill) => storage().tasks.end(selection, revocation);
  const stateOf = async ({ task, grantHash }: TaskOpening) => {
    const grant = await storage().tasks.findGrant(task.agentId, grantHash);
    return { state: grant?.taskState, grantRevokedAt: grant?.revokedAt };
  };
  const opened = async ({ agentId, ...changes }: Partial<Task>) =>
    openedTask(storage(), changes, agentId && (await storage().agents.find(agentId)));

  const LIVE = { state: { kind: 'live' }, grantRevokedAt: undefined };
  const revoked = (reason: string) => ({ state: { kind: 'revoked', at: LATER, reason }, grantRevokedAt: LATER });

  for (const [whose, stop] of [
    ["an operator's", stopTasks],
    [
      "a person's",
      (service: StopService, { taskId, sponsorKey }: Task) =>
        stopMyTasks(service, me(sponsorKey), { kind: 'task', taskId }),
    ],
  ] as const) {
    it(`ends a task that only the deciding transaction knows, at ${whose} stop, and records it`, async () => {
      const { task } = await openedTask(storage());
      const service: StopService = {
        decisions: storage(),
        tasks: { findSponsor: async () => undefined },
        sharedTime: { earliest: async () => LATER },
      };
      const records = await recordedBy(storage(), async () => {
        expect(await stop(service, { ...task, kind: 'task' })).to.deep.equal(ended(1));
      });
      expect(records.map(({ event, taskId }) => [event, taskId])).to.deep.equal([['task.revoked', task.taskId]]);
    });
  }

  it('ends a task and all tasks delegated from it, records each with its renewals, and keeps other tasks', async () => {
    const agent = await registeredAgent(storage());
    const root = await openedTask(storage(), { delegationDepth: 2 }, agent);
    const { taskId, sponsorKey } = root.task;
    const other = await openedTask(storage(), { sponsorKey }, agent);
    const child = await openedTask(storage(), { parentTaskId: taskId, delegationDepth: 3 });
    const sibling = await openedTask(storage(), { parentTaskId: taskId, delegationDepth: 3 });
    const grandchild = await openedTask(storage(), { parentTaskId: child.task.taskId, delegationDepth: 4 });
    await renewTimes(storage(), root, 4);
    await renewTimes(storage(), grandchild, 3);
    const records = await recordedBy(storage(), async () => {
      // Does not name the person, whom the storage then reads first.
      expect(await end({ kind: 'task', taskId })).to.deep.equal(ended(4));
    });
    expect(records.map(asEntry)).to.deep.equal([
      ...ends(root, kill.reason, 3),
      ...ends(child, 'parent_revoked'),
      ...ends(sibling, 'parent_revoked'),
      ...ends(grandchild, 'parent_revoked', 2),
    ]);
    expect(await stateOf(root)).to.deep.equal(revoked(kill.reason));
    for (const below of [child, sibling, grandchild]) {
      expect(await stateOf(below)).to.deep.equal(revoked('parent_revoked'));
    }
    expect(await stateOf(other)).to.deep.equal(LIVE);
  });

  it('ends the tasks of one agent for one person, and those delegated from them, but no other tasks of either', async () => {
    const agent = await registeredAgent(storage());
    const one = await openedTask(storage(), { delegationDepth: 2 }, agent);
    const { taskId, sponsorKey } = one.task;
    const second = await openedTask(storage(), { sponsorKey }, agent);
    const child = await openedTask(storage(), { sponsorKey, parentTaskId: taskId, delegationDepth: 3 });
    const ofOtherPerson = await openedTask(storage(), {}, agent);
    const ofOtherAgent = await openedTask(storage(), { sponsorKey });
    const records = await recordedBy(storage(), async () => {
      expect(await end(itsAgentForItsSponsor(one))).to.deep.equal(ended(3));
      expect(await end(itsAgentForItsSponsor(one))).to.deep.equal(ended(0));
    });
    expect(records.map(asEntry)).to.deep.equal([
      ...ends(one, kill.reason),
      ...ends(second, kill.reason),
      ...ends(child, 'parent_revoked'),
    ]);
    for (const other of [ofOtherPerson, ofOtherAgent]) expect(await stateOf(other)).to.deep.equal(LIVE);
  });

  for (const [whose, select, same] of [
    ['an agent', itsAgent, ({ agentId }: Task) => ({ agentId })],
    ['a person', itsSponsor, ({ sponsorKey }: Task) => ({ sponsorKey })],
  ] as const) {
    it(`ends all tasks of ${whose} and the tasks delegated from them, and keeps tasks that share anything else`, async () => {
      const root = await openedTask(storage());
      const foreign = await openedTask(storage(), { parentTaskId: root.task.taskId });
      const own = await opened({ ...same(root.task), parentTaskId: foreign.task.taskId });
      const second = await opened(same(root.task));
      const oldest = await opened({ ...same(root.task), createdAt: NOON });
      const { agentId, sponsorKey } = root.task;
      const other = await opened(select === itsAgent ? { sponsorKey } : { agentId });
      await renewTimes(storage(), second, 2);
      const records = await recordedBy(storage(), async () => {
        expect(await end(select(root))).to.deep.equal(ended(5));
      });
      expect(records.map(asEntry)).to.deep.equal([
        ...ends(oldest, kill.reason),
        ...ends(root, kill.reason),
        ...ends(foreign, 'parent_revoked'),
        ...ends(own, kill.reason),
        ...ends(second, kill.reason, 1),
      ]);
      expect(await stateOf(own)).to.deep.equal(revoked(kill.reason));
      expect(await stateOf(foreign)).to.deep.equal(revoked('parent_revoked'));
      expect(await stateOf(other)).to.deep.equal(LIVE);
      expect(await stateOf(await opened(same(root.task)))).to.deep.equal(LIVE);
    });
  }

  for (const [which, select] of switches) {
    it(`writes nothing for ${which} if every task has already ended or expired`, async () => {
      const opening = await openedTask(storage());
      const over = await openedTask(storage(), { parentTaskId: opening.task.taskId, expiresAt: LATER });
      await renewTimes(storage(), opening, 3);
      const records = await recordedBy(storage(), async () => {
        expect(await end(select(over))).to.deep.equal(ended(0));
        expect(await end(select(opening))).to.deep.equal(ended(1));
        const again = { at: instantFromMicros(LATER + 1), reason: 'sponsor_blocked' } as const;
        for (const [, one] of switches) expect(await end(one(opening), again)).to.deep.equal(ended(0));
      });
      expect(records.map(asEntry)).to.deep.equal(ends(opening, kill.reason, 2));
      expect(await stateOf(opening)).to.deep.equal(revoked(kill.reason));
      expect(await stateOf(over)).to.deep.equal(LIVE);
    });

    it(`ends the tasks of ${which} once, even if twenty callers do so concurrently`, async () => {
      const opening = await openedTask(storage());
      const records = await recordedBy(storage(), async () => {
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => end(select(opening))));
        expect(outcomes.filter((outcome) => outcome.kind === 'ended' && outcome.tasks === 1)).to.have.length(1);
        expect(outcomes.filter((outcome) => outcome.kind === 'ended' && outcome.tasks === 0)).to.have.length(19);
      });
      expect(records).to.have.length(1);
    });
  }

  for (const [which, tasks] of [
    ['the expired task', 1],
    ['the person of its parent', 2],
  ] as const) {
    it(`by ${which} ends the tasks delegated from an expired task`, async () => {
      const root = await openedTask(storage());
      const over = await openedTask(storage(), { parentTaskId: root.task.taskId, expiresAt: LATER });
      const child = await openedTask(storage(), { parentTaskId: over.task.taskId });
      expect(await end(tasks === 1 ? theTask(over) : itsSponsor(root))).to.deep.equal(ended(tasks));
      expect(await stateOf(child)).to.deep.equal(revoked('parent_revoked'));
      expect(await stateOf(over)).to.deep.equal(LIVE);
    });
  }

  it('answers not_found for a task and an agent that are not stored', async () => {
    expect(await end({ kind: 'task', taskId: makeTaskId(ulid()) })).to.deep.equal({ kind: 'not_found' });
    expect(await end({ kind: 'agent', agentId: newAgentId() })).to.deep.equal({ kind: 'not_found' });
  });

  it('ends the task of a concurrent exchange that commits first, and keeps that of one that commits later', async function () {
    this.timeout(60_000);
    const agent = await registeredAgent(storage());
    for (let round = 0; round < repetitions(10, 30); round++) {
      const opening = anOpening(agent);
      const select = [itsAgent, itsSponsor][round % 2] ?? itsAgent;
      const decide = [() => storage().tasks.open(opening), () => end(select(opening))];
      if (round % 4 > 1) decide.reverse();
      const outcomes = await Promise.all(decide.map((decision) => decision()));
      const killed = outcomes.find((outcome) => outcome.kind === 'ended');
      const { state } = await stateOf(opening);
      expect(state?.kind).to.equal(killed?.kind === 'ended' && killed.tasks === 1 ? 'revoked' : 'live');
      await end(theTask(opening));
    }
  });
});

onEveryDatabase(
  'ending tasks, beside other decisions or failing writes,',
  (stage) => {
    const { storage, database, kind } = stage;
    const { outside, secondWaitsForFirst, expectRollback } = outsideConnection(stage);

    for (const fault of [
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`changes nothing if a write to ${fault.table} fails`, async () => {
        const opening = await openedTask(storage());
        await openedTask(storage(), { parentTaskId: opening.task.taskId });
        await renewTimes(storage(), opening, 3);
        const attempt = () => storage().tasks.end(itsAgent(opening), kill);
        await expectRollback(fault, attempt);
        expect(await attempt()).to.deep.equal(ended(2));
      });
    }

    for (const [by, select] of switches.slice(1)) {
      it(`by ${by} waits for a running exchange, and ends its task`, async () => {
        const opening = anOpening(await registeredAgent(storage()));
        const open = () => storage().tasks.open(opening);
        const outcomes = await secondWaitsForFirst(open, () => storage().tasks.end(select(opening), kill));
        expect(outcomes).to.deep.equal([{ kind: 'opened' }, ended(1)]);
      });

      it(`by ${by} lets a later exchange wait, whose task then stays live`, async () => {
        const agent = await registeredAgent(storage());
        const before = await openedTask(storage(), {}, agent);
        const opening = anOpening(agent, { sponsorKey: before.task.sponsorKey });
        const open = () => storage().tasks.open(opening);
        const records = await recordedBy(storage(), async () => {
          const outcomes = await secondWaitsForFirst(() => storage().tasks.end(select(before), kill), open);
          expect(outcomes).to.deep.equal([ended(1), { kind: 'opened' }]);
        });
        // Sorts by sequence number, because the ledger is read by time and the exchange has an earlier time.
        const inOrder = records.toSorted((one, other) => one.seq - other.seq);
        expect(inOrder.map(({ event, taskId }) => [event, taskId])).to.deep.equal([
          ['task.revoked', before.task.taskId],
          ['token.issued', opening.task.taskId],
        ]);
      });
    }

    for (const [by, select, first, selectFirst] of [
      ['the agent', itsAgent, 'the person', itsSponsor],
      ['the person', itsSponsor, 'the agent', itsAgent],
      ['the task', theTask, 'the agent', itsAgent],
    ] as const) {
      it(`by ${by} waits for an end by ${first}, and then neither ends nor records a task again`, async () => {
        const opening = await openedTask(storage());
        const again: Revocation = { at: plusSeconds(LATER, 1), reason: 'operator_kill_switch' };
        const records = await recordedBy(storage(), async () => {
          const outcomes = await secondWaitsForFirst(
            () => storage().tasks.end(selectFirst(opening), kill),
            () => storage().tasks.end(select(opening), again),
          );
          expect(outcomes).to.deep.equal([ended(1), ended(0)]);
        });
        expect(records.map(asEntry)).to.deep.equal(ends(opening, kill.reason));
        const grant = await storage().tasks.findGrant(opening.task.agentId, opening.grantHash);
        expect(grant?.taskState).to.deep.equal({ kind: 'revoked', ...kill });
      });
    }

    for (const [by, select] of switches) {
      it(`by ${by} counts a renewal that commits first, and refuses a later one`, async () => {
        const opening = await openedTask(storage());
        await renewTimes(storage(), opening, 1);
        const lock = await lockAppends(kind, outside());
        // This renewal appends its own record, so it waits for the lock on appends.
        const first = storage().tasks.renew(aRenewal(opening, { recordEach: true }));
        await lock.untilWaiting(1);
        const killing = storage().tasks.end(select(opening), kill);
        await lock.untilWaiting(kind.engine === 'postgres' ? 2 : 0);
        const late = storage().tasks.renew(aRenewal(opening));
        await lock.release();
        expect([(await first).kind, (await killing).kind]).to.deep.equal(['renewed', 'ended']);
        expect(await late).to.deep.equal({ kind: 'grant_changed' });
        const page = await storage().ledger.page({ taskId: opening.task.taskId, limit: 10, now: NOON });
        expect(page.records.map(({ event }) => event)).to.deep.equal([
          'token.issued',
          'token.refreshed',
          'token.refreshed',
          'task.revoked',
        ]);
      });
    }

    it('is seen by each process after the answer: no grant renews, and no token is active', async function () {
      this.timeout(60_000);
      const other = await database().open();
      const agent = await registeredAgent(storage());
      for (let round = 0; round < repetitions(20, 60); round++) {
        const opening = await openedTask(storage(), {}, agent);
        const { taskId } = opening.task;
        const select = [theTask, itsAgent, itsSponsor][round % 3] ?? theTask;
        // These renewals run during the end. One that is late may have read the grant before the end.
        const busy = Array.from({ length: 4 }, () => other.tasks.renew(aRenewal(opening)));
        await storage().tasks.end(select(opening), kill);
        const facts = await other.tasks.tokenFacts(opening.entry.jti ?? fail('no token'), taskId);
        expect(facts?.taskState.kind, `round ${round}`).to.equal('revoked');
        expect(await other.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'grant_changed' });
        await Promise.all(busy);
      }
      await other.close();
    });
  },
  databases,
);

function fail(message: string): never {
  throw new Error(message);
}
