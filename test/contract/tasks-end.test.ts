import { expect } from 'chai';
import { ulid } from 'ulid';
import type { EndVerdict } from '../../application/decisions/end-tasks.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { makeTaskId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { formatScope } from '../../domain/scope.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { TaskSelection } from '../support/storage.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import {
  anOpening,
  aRenewal,
  asEntry,
  newAgentId,
  newSponsorKey,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
} from './scene.ts';

const LATER = instantFromMicros(NOON + 77_000_001);
const kill: Revocation = { at: LATER, reason: 'operator_kill_switch' };

const theTask = ({ task }: TaskOpening): TaskSelection => ({
  kind: 'task',
  taskId: task.taskId,
  sponsorKey: task.sponsorKey,
});
const itsAgent = ({ task }: TaskOpening): TaskSelection => ({ kind: 'agent', agentId: task.agentId });
const itsSponsor = ({ task }: TaskOpening): TaskSelection => ({ kind: 'sponsor', sponsorKey: task.sponsorKey });
const switches = [
  ['the task', theTask],
  ['the agent', itsAgent],
  ['the person', itsSponsor],
] as const;
const ended = (tasks: number): EndVerdict => ({ kind: 'ended', tasks });

/** What the ledger says of a task that ended. */
function ends({ task }: TaskOpening, reason: string, unrecorded = 0) {
  const about = {
    at: LATER,
    taskId: task.taskId,
    agentId: task.agentId,
    sponsor: task.sponsor,
    audience: task.audience,
    scope: formatScope(task.scope),
    delegationDepth: task.delegationDepth,
    decision: 'allow',
  };
  const summary = { ...about, event: 'token.refreshed', count: unrecorded };
  return [...(unrecorded > 0 ? [summary] : []), { ...about, event: 'task.revoked', reason }];
}

onEveryDatabase('ending tasks', ({ storage }) => {
  const end = (selection: TaskSelection, revocation = kill) => storage().tasks.end(selection, revocation);
  const stateOf = async ({ task, grantHash }: TaskOpening) => {
    const grant = await storage().tasks.findGrant(task.agentId, grantHash);
    return { state: grant?.taskState, grantRevokedAt: grant?.revokedAt };
  };

  it('ends one task with its grant, records it with everything it had, and leaves others of its agent and person', async () => {
    const agent = await registeredAgent(storage());
    const opening = await openedTask(storage(), { delegationDepth: 2 }, agent);
    const other = await openedTask(storage(), { sponsorKey: opening.task.sponsorKey }, agent);
    await renewTimes(storage(), opening, 4);
    const records = await recordedBy(storage(), async () => {
      expect(await end(theTask(opening))).to.deep.equal(ended(1));
    });
    expect(records.map(asEntry)).to.deep.equal(ends(opening, 'operator_kill_switch', 3));
    expect(await stateOf(opening)).to.deep.equal({ state: { kind: 'revoked', ...kill }, grantRevokedAt: LATER });
    expect(await stateOf(other)).to.deep.equal({ state: { kind: 'live' }, grantRevokedAt: undefined });
  });

  it('ends every task of an agent, whoever they are for, and of nobody else', async () => {
    const agent = await registeredAgent(storage());
    const openings = [];
    for (let nth = 0; nth < 3; nth++) openings.push(await openedTask(storage(), {}, agent));
    const [first, second, third] = openings as [TaskOpening, TaskOpening, TaskOpening];
    const other = await openedTask(storage(), { sponsorKey: first.task.sponsorKey });
    await renewTimes(storage(), second, 2);
    const records = await recordedBy(storage(), async () => {
      expect(await end(itsAgent(first))).to.deep.equal(ended(3));
    });
    expect(records.map(asEntry)).to.deep.equal([
      ...ends(first, 'operator_kill_switch'),
      ...ends(second, 'operator_kill_switch', 1),
      ...ends(third, 'operator_kill_switch'),
    ]);
    expect((await stateOf(other)).state).to.deep.equal({ kind: 'live' });
  });

  it('ends every task of a person, whoever acts for them, and lets them start another', async () => {
    const sponsorKey = newSponsorKey();
    const openings = [await openedTask(storage(), { sponsorKey }), await openedTask(storage(), { sponsorKey })];
    const other = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      expect(await end({ kind: 'sponsor', sponsorKey })).to.deep.equal(ended(2));
    });
    expect(records.map(asEntry)).to.deep.equal(openings.flatMap((one) => ends(one, 'operator_kill_switch')));
    expect((await stateOf(other)).state).to.deep.equal({ kind: 'live' });
    expect((await stateOf(await openedTask(storage(), { sponsorKey }))).state).to.deep.equal({ kind: 'live' });
  });

  it('ends what was delegated, by whatever agent and for whomever, as that: parents first', async () => {
    const root = await openedTask(storage());
    const child = await openedTask(storage(), { parentTaskId: root.task.taskId, delegationDepth: 2 });
    const sibling = await openedTask(storage(), { parentTaskId: root.task.taskId, delegationDepth: 2 });
    const grandchild = await openedTask(storage(), { parentTaskId: child.task.taskId, delegationDepth: 3 });
    await renewTimes(storage(), grandchild, 3);
    const records = await recordedBy(storage(), async () => {
      expect(await end(theTask(root))).to.deep.equal(ended(4));
    });
    expect(records.map(asEntry)).to.deep.equal([
      ...ends(root, 'operator_kill_switch'),
      ...ends(child, 'parent_revoked'),
      ...ends(sibling, 'parent_revoked'),
      ...ends(grandchild, 'parent_revoked', 2),
    ]);
    for (const below of [child, sibling, grandchild]) {
      expect(await stateOf(below)).to.deep.equal({
        state: { kind: 'revoked', at: LATER, reason: 'parent_revoked' },
        grantRevokedAt: LATER,
      });
    }
  });

  it('ends an agent’s tasks as its own, also where one was delegated from another', async () => {
    const agent = await registeredAgent(storage());
    const root = await openedTask(storage(), {}, agent);
    const foreign = await openedTask(storage(), { parentTaskId: root.task.taskId });
    const own = await openedTask(storage(), { parentTaskId: foreign.task.taskId }, agent);
    const records = await recordedBy(storage(), async () => {
      expect(await end(itsAgent(root))).to.deep.equal(ended(3));
    });
    expect(records.map(({ taskId, reason }) => [taskId, reason])).to.deep.equal([
      [root.task.taskId, 'operator_kill_switch'],
      [foreign.task.taskId, 'parent_revoked'],
      [own.task.taskId, 'operator_kill_switch'],
    ]);
  });

  it('reaches what was delegated from a task that has itself ended', async () => {
    const root = await openedTask(storage(), { expiresAt: LATER });
    const child = await openedTask(storage(), { parentTaskId: root.task.taskId });
    expect(await end(theTask(root))).to.deep.equal(ended(1));
    expect((await stateOf(child)).state).to.deep.include({ reason: 'parent_revoked' });
    expect((await stateOf(root)).state).to.deep.equal({ kind: 'live' });
  });

  for (const [which, select] of switches) {
    it(`answers 0 and writes nothing when ${which} is ended again, by whatever switch it was before`, async () => {
      for (const before of [theTask, itsAgent, itsSponsor]) {
        const opening = await openedTask(storage());
        await renewTimes(storage(), opening, 3);
        await end(before(opening));
        const records = await recordedBy(storage(), async () => {
          const again = { at: instantFromMicros(LATER + 1), reason: 'sponsor_blocked' } as const;
          expect(await end(select(opening), again)).to.deep.equal(ended(0));
        });
        expect(records).to.deep.equal([]);
        expect((await stateOf(opening)).state).to.deep.equal({ kind: 'revoked', ...kill });
      }
    });

    it(`ends no task of ${which} whose time is up: an expiry is never recorded as a revocation`, async () => {
      const opening = await openedTask(storage(), { expiresAt: LATER });
      const records = await recordedBy(storage(), async () => {
        expect(await end(select(opening))).to.deep.equal(ended(0));
      });
      expect(records).to.deep.equal([]);
      expect(await stateOf(opening)).to.deep.equal({ state: { kind: 'live' }, grantRevokedAt: undefined });
    });

    it(`ends nothing that was delegated from ${which} and is over, swept or not`, async () => {
      const opening = await openedTask(storage());
      const over = await openedTask(storage(), { parentTaskId: opening.task.taskId, expiresAt: LATER });
      const records = await recordedBy(storage(), async () => {
        expect(await end(select(opening))).to.deep.equal(ended(1));
      });
      expect(records.map(asEntry)).to.deep.equal(ends(opening, kill.reason));
      expect(await stateOf(over)).to.deep.equal({ state: { kind: 'live' }, grantRevokedAt: undefined });
    });

    it(`is one revocation when ${which} is ended twenty times at once`, async () => {
      const opening = await openedTask(storage());
      const records = await recordedBy(storage(), async () => {
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => end(select(opening))));
        expect(outcomes.filter((outcome) => outcome.kind === 'ended' && outcome.tasks === 1)).to.have.length(1);
        expect(outcomes.filter((outcome) => outcome.kind === 'ended' && outcome.tasks === 0)).to.have.length(19);
      });
      expect(records).to.have.length(1);
    });
  }

  it('knows no task and no agent that is not stored, and never says so of a person', async () => {
    const idle = await registeredAgent(storage());
    const records = await recordedBy(storage(), async () => {
      expect(await end({ kind: 'task', taskId: makeTaskId(ulid()) })).to.deep.equal({ kind: 'not_found' });
      expect(await end({ kind: 'agent', agentId: newAgentId() })).to.deep.equal({ kind: 'not_found' });
      expect(await end({ kind: 'sponsor', sponsorKey: newSponsorKey() })).to.deep.equal(ended(0));
      expect(await end({ kind: 'agent', agentId: idle.agentId })).to.deep.equal(ended(0));
    });
    expect(records).to.deep.equal([]);
  });

  it('leaves nothing live of what races it, and what starts afterwards alone', async function () {
    this.timeout(60_000);
    const agent = await registeredAgent(storage());
    for (let round = 0; round < rounds(10, 30); round++) {
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
  'ending tasks, seen from outside,',
  ({ storage, database, kind }) => {
    const reach = async () => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      return connection;
    };

    for (const [by, select] of switches) {
      for (const fault of [
        { table: 'tasks', on: 'update' },
        { table: 'task_grants', on: 'update' },
        { table: 'ledger' },
      ] as const) {
        it(`by ${by} leaves nothing behind when writing to ${fault.table} fails`, async () => {
          const connection = await reach();
          const opening = await openedTask(storage());
          await openedTask(storage(), { parentTaskId: opening.task.taskId });
          await renewTimes(storage(), opening, 3);
          const before = await contentsOf(connection);
          const attempt = () => storage().tasks.end(select(opening), kill);
          const outcome = await whileFailing(kind, connection, fault, () => attempt().catch((error: unknown) => error));
          expect(outcome).to.be.instanceOf(Error);
          expect(await contentsOf(connection)).to.deep.equal(before);
          expect(await attempt()).to.deep.equal(ended(2));
          await connection.close();
        });
      }
    }

    for (const [by, select] of switches.slice(1)) {
      it(`by ${by} ends a task whose exchange commits first`, async () => {
        const connection = await reach();
        const opening = anOpening(await registeredAgent(storage()));
        const hold = await holdAppends(kind, connection);
        const opened = storage().tasks.open(opening);
        await hold.waiting(1);
        const killing = storage().tasks.end(select(opening), kill);
        await hold.waiting(2);
        await hold.release();
        expect(await opened).to.deep.equal({ kind: 'opened' });
        expect(await killing).to.deep.equal(ended(1));
        await connection.close();
      });

      it(`by ${by} is waited for by an exchange, whose task comes after it`, async () => {
        const connection = await reach();
        const before = await openedTask(storage());
        const agent = await storage().agents.find(before.task.agentId);
        if (agent === undefined) throw new Error('the agent is gone');
        const opening = anOpening(agent, { sponsorKey: before.task.sponsorKey });
        const hold = await holdAppends(kind, connection);
        const killing = storage().tasks.end(select(before), kill);
        await hold.waiting(1);
        const opened = storage().tasks.open(opening);
        await hold.waiting(2);
        await hold.release();
        expect(await killing).to.deep.equal(ended(1));
        expect(await opened).to.deep.equal({ kind: 'opened' });
        const records = await storage().ledger.page({ agentId: agent.agentId, limit: 10, now: NOON });
        const inOrder = records.records.toSorted((one, other) => one.seq - other.seq);
        const [revoked, issued] = inOrder.slice(-2);
        expect([revoked?.event, issued?.event]).to.deep.equal(['task.revoked', 'token.issued']);
        expect(issued?.taskId).to.equal(opening.task.taskId);
        await connection.close();
      });
    }

    for (const [by, select, first, selectFirst] of [
      ['the agent', itsAgent, 'the person', itsSponsor],
      ['the person', itsSponsor, 'the agent', itsAgent],
      ['the task', theTask, 'the agent', itsAgent],
    ] as const) {
      it(`by ${by} waits for an end by ${first} that is under way, and ends and records nothing again`, async () => {
        const connection = await reach();
        const opening = await openedTask(storage());
        const { grantHash, task } = opening;
        const hold = await holdAppends(kind, connection);
        const ending = storage().tasks.end(selectFirst(opening), kill);
        await hold.waiting(1);
        const revocation: Revocation = { at: plusSeconds(LATER, 1), reason: 'operator_kill_switch' };
        const endingAgain = storage().tasks.end(select(opening), revocation);
        await hold.blocked(2);
        const records = await recordedBy(storage(), async () => {
          await hold.release();
          expect(await ending).to.deep.equal(ended(1));
          expect(await endingAgain).to.deep.equal(ended(0));
        });
        expect(records.map(asEntry)).to.deep.equal(ends(opening, kill.reason));
        const grant = await storage().tasks.findGrant(task.agentId, grantHash);
        expect(grant?.taskState).to.deep.equal({ kind: 'revoked', ...kill });
        await connection.close();
      });
    }

    for (const [by, select] of switches) {
      it(`by ${by} counts a renewal that commits first, and refuses one that comes later`, async () => {
        const connection = await reach();
        const opening = await openedTask(storage());
        await renewTimes(storage(), opening, 1);
        const hold = await holdAppends(kind, connection);
        // Recorded each by itself, so that it has to pass the fence.
        const first = storage().tasks.renew(aRenewal(opening, { recordEach: true }));
        await hold.waiting(1);
        const killing = storage().tasks.end(select(opening), kill);
        await hold.waiting(kind.engine === 'postgres' ? 2 : 0);
        const late = storage().tasks.renew(aRenewal(opening));
        await hold.release();
        expect([(await first).kind, (await killing).kind]).to.deep.equal(['renewed', 'ended']);
        expect(await late).to.deep.equal({ kind: 'grant_changed' });
        const page = await storage().ledger.page({ taskId: opening.task.taskId, limit: 10, now: NOON });
        expect(page.records.map(({ event }) => event)).to.deep.equal([
          'token.issued',
          'token.refreshed',
          'token.refreshed',
          'task.revoked',
        ]);
        await connection.close();
      });
    }

    it('is seen by every process once it is answered: nothing renews, nothing is active', async function () {
      this.timeout(60_000);
      const other = await database().open();
      const agent = await registeredAgent(storage());
      for (let round = 0; round < rounds(20, 60); round++) {
        const opening = await openedTask(storage(), {}, agent);
        const { taskId } = opening.task;
        const select = [theTask, itsAgent, itsSponsor][round % 3] ?? theTask;
        // Asks all the while, so that what is answered late was asked early.
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
