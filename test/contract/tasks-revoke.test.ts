import { expect } from 'chai';
import { ulid } from 'ulid';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { makeTaskId, makeTokenId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { formatScope } from '../../domain/scope.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anAssertion,
  anEntry,
  aRefusal,
  aRenewal,
  asEntry,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
  said,
} from './scene.ts';

const LATER = instantFromMicros(NOON + 77_000_001);
const revocation: Revocation = { at: LATER, reason: 'client_revoked' };

/** What the ledger says of a task that ended. */
function ended({ task }: TaskOpening, reason: string, renewals = 0) {
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
  const summary = { ...about, event: 'token.refreshed', count: renewals - 1 };
  return [...(renewals > 1 ? [summary] : []), { ...about, event: 'task.revoked', reason }];
}

onEveryDatabase('revoking by grant', ({ storage }) => {
  const tasks = () => storage().tasks;
  const revoke = ({ task, grantHash }: TaskOpening, assertion = anAssertion(task.agentId)) =>
    tasks().revokeByGrant(revocation, task.agentId, grantHash, assertion);

  it('leaves a task whose time is up to the sweeper: an expiry is never recorded as a revocation', async () => {
    const opening = await openedTask(storage(), { expiresAt: LATER });
    const assertion = anAssertion(opening.task.agentId);
    const records = await recordedBy(storage(), async () => {
      expect(await revoke(opening, assertion)).to.deep.equal({ kind: 'already_ended' });
      expect(await revoke(opening, assertion)).to.deep.equal({ kind: 'replayed' });
    });
    expect(records).to.deep.equal([]);
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant).to.deep.include({ taskState: { kind: 'live' }, revokedAt: undefined });
  });

  it('ends the task and its grant, and records it with everything the task had', async () => {
    const opening = await openedTask(storage(), { delegationDepth: 3 });
    const records = await recordedBy(storage(), async () => {
      expect(await revoke(opening)).to.deep.equal({ kind: 'revoked' });
    });
    expect(records.map(asEntry)).to.deep.equal(ended(opening, 'client_revoked'));
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant).to.deep.include({
      taskState: { kind: 'revoked', at: LATER, reason: 'client_revoked' },
      revokedAt: LATER,
    });
  });

  for (const [renewals, summaries] of [
    [1, 0],
    [2, 1],
    [5, 1],
  ] as const) {
    it(`writes ${summaries === 0 ? 'no' : 'one'} summary of ${renewals} renewals, immediately before`, async () => {
      const opening = await openedTask(storage());
      await renewTimes(storage(), opening, renewals);
      const records = await recordedBy(storage(), () => revoke(opening));
      expect(records).to.have.length(1 + summaries);
      expect(records.map(asEntry)).to.deep.equal(ended(opening, 'client_revoked', renewals));
    });
  }

  it('writes no summary of renewals that were each recorded, and sums up those alone that were not', async () => {
    const recorded = await openedTask(storage());
    for (let time = 0; time < 3; time++) await tasks().renew(aRenewal(recorded, { recordEach: true }));
    const records = await recordedBy(storage(), () => revoke(recorded));
    expect(records.map(asEntry)).to.deep.equal(ended(recorded, 'client_revoked'));

    const both = await openedTask(storage());
    for (const recordEach of [true, false, true, false, false]) {
      await tasks().renew(aRenewal(both, { recordEach }));
    }
    const summed = await recordedBy(storage(), () => revoke(both));
    // As after four renewals of which the first has its record: three have none.
    expect(summed.map(asEntry)).to.deep.equal(ended(both, 'client_revoked', 4));
  });

  it('ends everything delegated from the task, each with its own record, parents first', async () => {
    const root = await openedTask(storage());
    const { sponsorKey } = root.task;
    const child = await openedTask(storage(), { sponsorKey, parentTaskId: root.task.taskId, delegationDepth: 2 });
    const sibling = await openedTask(storage(), { parentTaskId: root.task.taskId, delegationDepth: 2 });
    const grandchild = await openedTask(storage(), { parentTaskId: child.task.taskId, delegationDepth: 3 });
    const parent = await openedTask(storage());
    const stranger = await openedTask(storage(), { sponsorKey });
    await renewTimes(storage(), grandchild, 4);
    const records = await recordedBy(storage(), () => revoke(root));
    expect(records.map(asEntry)).to.deep.equal([
      ...ended(root, 'client_revoked'),
      ...ended(child, 'parent_revoked'),
      ...ended(sibling, 'parent_revoked'),
      ...ended(grandchild, 'parent_revoked', 4),
    ]);
    for (const { task, grantHash } of [child, sibling, grandchild]) {
      const grant = await tasks().findGrant(task.agentId, grantHash);
      expect(grant).to.deep.include({
        taskState: { kind: 'revoked', at: LATER, reason: 'parent_revoked' },
        revokedAt: LATER,
      });
    }
    for (const { task, grantHash } of [parent, stranger]) {
      const grant = await tasks().findGrant(task.agentId, grantHash);
      expect(grant).to.deep.include({ taskState: { kind: 'live' }, revokedAt: undefined });
    }
  });

  it('leaves what ended before as it ended, and still ends what is below it', async () => {
    const root = await openedTask(storage());
    const over = instantFromMicros(NOON + 2_000_000);
    const child = await openedTask(storage(), { parentTaskId: root.task.taskId, expiresAt: over });
    const grandchild = await openedTask(storage(), { parentTaskId: child.task.taskId });
    expect(await storage().sweeping.expire({ overBy: over, at: over }, 1)).to.equal(1);
    const records = await recordedBy(storage(), () => revoke(root));
    expect(records.map((record) => record.taskId)).to.deep.equal([root.task.taskId, grandchild.task.taskId]);
    const grant = await tasks().findGrant(child.task.agentId, child.grantHash);
    expect(grant?.taskState).to.deep.equal({ kind: 'expired', at: over });
  });

  it('changes and records nothing when the task has ended, but spends the assertion', async () => {
    const opening = await openedTask(storage());
    await revoke(opening);
    const assertion = anAssertion(opening.task.agentId);
    const records = await recordedBy(storage(), async () => {
      const again = { at: instantFromMicros(NOON), reason: 'operator_kill_switch' } as const;
      const { agentId } = opening.task;
      expect(await tasks().revokeByGrant(again, agentId, opening.grantHash, assertion)).to.deep.equal({
        kind: 'already_ended',
      });
      expect(await revoke(opening, assertion)).to.deep.equal({ kind: 'replayed' });
    });
    expect(records).to.deep.equal([]);
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant?.taskState).to.deep.equal({ kind: 'revoked', ...revocation });
  });

  it('knows no grant of another agent, and then spends nothing', async () => {
    const opening = await openedTask(storage());
    const stranger = await registeredAgent(storage());
    const assertion = anAssertion(stranger.agentId);
    const records = await recordedBy(storage(), async () => {
      for (const hash of [opening.grantHash, 'd'.repeat(64)]) {
        expect(await tasks().revokeByGrant(revocation, stranger.agentId, hash, assertion)).to.deep.equal({
          kind: 'not_found',
        });
      }
    });
    expect(records).to.deep.equal([]);
    const refusal = { entry: aRefusal('revocation_not_owner'), assertion };
    expect(await storage().ledger.refuse(refusal)).to.equal('revocation_not_owner');
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant?.taskState).to.deep.equal({ kind: 'live' });
  });

  it('ends nothing on an assertion that was used before', async () => {
    const opening = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      expect(await revoke(opening, opening.assertion)).to.deep.equal({ kind: 'replayed' });
    });
    expect(records).to.deep.equal([]);
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant?.taskState).to.deep.equal({ kind: 'live' });
  });

  it('is one revocation when it is asked for twenty times at once', async () => {
    const opening = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => revoke(opening)));
      expect(outcomes.filter(({ kind }) => kind === 'revoked')).to.have.length(1);
      expect(outcomes.filter(({ kind }) => kind === 'already_ended')).to.have.length(19);
    });
    expect(records).to.have.length(1);
  });
});

onEveryDatabase('revoking a token', ({ storage }) => {
  const tasks = () => storage().tasks;
  const tokenOf = ({ task }: TaskOpening) => ({
    tokenId: makeTokenId(ulid()),
    taskId: task.taskId,
    forgetAt: plusSeconds(NOON, 360),
  });
  const entryFor = ({ entry }: TaskOpening) =>
    ({ ...entry, event: 'token.revoked', reason: 'client_revoked' }) as const;

  it('remembers when and why, and records it; the task goes on', async () => {
    const opening = await openedTask(storage());
    const token = tokenOf(opening);
    const entry = entryFor(opening);
    const assertion = anAssertion(opening.task.agentId);
    const records = await recordedBy(storage(), async () => {
      expect(await tasks().revokeToken(token, revocation, assertion, entry)).to.deep.equal({ kind: 'revoked' });
    });
    expect(records.map(asEntry)).to.deep.equal([said(entry)]);
    expect(await tasks().tokenFacts(token.tokenId, token.taskId)).to.deep.equal({
      tokenRevocation: revocation,
      taskState: { kind: 'live' },
      taskExpiresAt: opening.task.expiresAt,
      agentEnabled: true,
    });
    expect(await tasks().tokenFacts(makeTokenId(ulid()), token.taskId)).to.deep.include({ tokenRevocation: undefined });
  });

  it('is one revocation, the first, however often it is asked for', async () => {
    const opening = await openedTask(storage());
    const token = tokenOf(opening);
    const entry = entryFor(opening);
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () =>
          tasks().revokeToken(token, revocation, anAssertion(opening.task.agentId), entry),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === 'revoked')).to.have.length(1);
      expect(outcomes.filter(({ kind }) => kind === 'already_revoked')).to.have.length(19);
    });
    expect(records).to.have.length(1);
    const again = { at: NOON, reason: 'operator_kill_switch' } as const;
    await tasks().revokeToken(token, again, anAssertion(opening.task.agentId), entry);
    expect(await tasks().tokenFacts(token.tokenId, token.taskId)).to.deep.include({ tokenRevocation: revocation });
  });

  it('spends the assertion in either case, and changes nothing on one that was used before', async () => {
    const opening = await openedTask(storage());
    const [token, other] = [tokenOf(opening), tokenOf(opening)];
    const assertion = anAssertion(opening.task.agentId);
    const entry = entryFor(opening);
    await tasks().revokeToken(token, revocation, anAssertion(opening.task.agentId), entry);
    expect(await tasks().revokeToken(token, revocation, assertion, entry)).to.deep.equal({ kind: 'already_revoked' });
    const records = await recordedBy(storage(), async () => {
      expect(await tasks().revokeToken(other, revocation, assertion, entry)).to.deep.equal({ kind: 'replayed' });
    });
    expect(records).to.deep.equal([]);
    expect(await tasks().tokenFacts(other.tokenId, other.taskId)).to.deep.include({ tokenRevocation: undefined });
  });
});

onEveryDatabase('spending an assertion alone', ({ storage }) => {
  it('uses it up for that agent, whatever it is for, and records nothing', async () => {
    const { task, assertion } = await openedTask(storage());
    const fresh = anAssertion(task.agentId);
    const records = await recordedBy(storage(), async () => {
      expect(await storage().tasks.spend(assertion)).to.deep.equal({ kind: 'replayed' });
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => storage().tasks.spend(fresh)));
      expect(outcomes.filter(({ kind }) => kind === 'spent')).to.have.length(1);
      const another = anAssertion((await registeredAgent(storage())).agentId, fresh.jti);
      expect(await storage().tasks.spend(another)).to.deep.equal({ kind: 'spent' });
    });
    expect(records.map(({ event }) => event)).to.deep.equal(['agent.registered']);
    const token = { tokenId: makeTokenId(ulid()), taskId: task.taskId, forgetAt: LATER };
    const again = storage().tasks.revokeToken(token, revocation, fresh, anEntry('token.revoked'));
    expect(await again).to.deep.equal({ kind: 'replayed' });
  });
});

onEveryDatabase('the facts of a token', ({ storage }) => {
  const factsOf = ({ task }: TaskOpening) => storage().tasks.tokenFacts(makeTokenId(ulid()), task.taskId);

  it('are unknown when its task is not stored', async () => {
    expect(await storage().tasks.tokenFacts(makeTokenId(ulid()), makeTaskId(ulid()))).to.equal(undefined);
  });

  it('follow the agent from one request to the next', async () => {
    const agent = await registeredAgent(storage());
    const opening = await openedTask(storage(), {}, agent);
    expect(await factsOf(opening)).to.deep.include({ agentEnabled: true });
    await storage().agents.replace({ ...agent, enabled: false, revision: 2 }, anEntry('agent.updated'));
    expect(await factsOf(opening)).to.deep.include({ agentEnabled: false });
    await storage().agents.replace({ ...agent, enabled: true, revision: 3 }, anEntry('agent.updated'));
    expect(await factsOf(opening)).to.deep.include({ agentEnabled: true });
  });

  it('say when and why the task was revoked', async () => {
    const opening = await openedTask(storage());
    const { agentId } = opening.task;
    await storage().tasks.revokeByGrant(revocation, agentId, opening.grantHash, anAssertion(agentId));
    expect(await factsOf(opening)).to.deep.include({ taskState: { kind: 'revoked', ...revocation } });
  });
});

onEveryDatabase(
  'revoking, seen from outside,',
  ({ storage, database, kind }) => {
    const reach = async () => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      return connection;
    };

    for (const fault of [
      { table: 'spent_assertions' },
      { table: 'tasks', on: 'update' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`by grant leaves nothing behind when writing to ${fault.table} fails`, async () => {
        const connection = await reach();
        const opening = await openedTask(storage());
        await openedTask(storage(), { parentTaskId: opening.task.taskId });
        await renewTimes(storage(), opening, 3);
        const { agentId } = opening.task;
        const assertion = anAssertion(agentId);
        const revoke = () => storage().tasks.revokeByGrant(revocation, agentId, opening.grantHash, assertion);
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, fault, () => revoke().catch((error: unknown) => error));
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await revoke()).to.deep.equal({ kind: 'revoked' });
        await connection.close();
      });
    }

    for (const table of ['spent_assertions', 'revoked_tokens', 'ledger']) {
      it(`a token leaves nothing behind when writing to ${table} fails`, async () => {
        const connection = await reach();
        const opening = await openedTask(storage());
        const token = { tokenId: makeTokenId(ulid()), taskId: opening.task.taskId, forgetAt: LATER };
        const assertion = anAssertion(opening.task.agentId);
        const revoke = () => storage().tasks.revokeToken(token, revocation, assertion, anEntry('token.revoked'));
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, { table }, () =>
          revoke().catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await revoke()).to.deep.equal({ kind: 'revoked' });
        await connection.close();
      });
    }

    it('finds a task that the sweeper has expired ended already', async () => {
      const connection = await reach();
      const opening = await openedTask(storage());
      const { agentId, taskId } = opening.task;
      const at = kind.engine === 'sqlite' ? String(LATER) : `timestamptz 'epoch' + interval '1 microsecond' * ${LATER}`;
      await connection.sql(`update tasks set state = 'expired', ended_at = ${at} where task_id = '${taskId}'`);
      const outcome = await storage().tasks.revokeByGrant(
        { at: NOON, reason: 'client_revoked' },
        agentId,
        opening.grantHash,
        anAssertion(agentId),
      );
      expect(outcome).to.deep.equal({ kind: 'already_ended' });
      const grant = await storage().tasks.findGrant(agentId, opening.grantHash);
      expect(grant?.taskState).to.deep.equal({ kind: 'expired', at: LATER });
      await connection.close();
    });
  },
  databases,
);
