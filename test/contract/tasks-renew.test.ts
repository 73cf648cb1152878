import { expect } from 'chai';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends, untilBlocked } from './hold.ts';
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

onEveryDatabase('renewing a grant', ({ storage }) => {
  const tasks = () => storage().tasks;

  it('records the first renewal as it is given, and counts the others', async () => {
    const opening = await openedTask(storage());
    const renewals = [aRenewal(opening), aRenewal(opening), aRenewal(opening)];
    const records = await recordedBy(storage(), async () => {
      for (const renewal of renewals) expect(await tasks().renew(renewal)).to.deep.equal({ kind: 'renewed' });
    });
    expect(records.map(asEntry)).to.deep.equal(renewals.slice(0, 1).map(({ entry }) => said(entry)));
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant).to.deep.include({ renewals: 3, scope: opening.task.scope, revokedAt: undefined });
  });

  it('records each renewal that is to be recorded, and counts all the same', async () => {
    const opening = await openedTask(storage());
    const renewals = [true, true, false, true].map((recordEach) => aRenewal(opening, { recordEach }));
    const records = await recordedBy(storage(), async () => {
      for (const renewal of renewals) expect(await tasks().renew(renewal)).to.deep.equal({ kind: 'renewed' });
    });
    const recorded = renewals.filter(({ recordEach }) => recordEach);
    expect(records.map(asEntry)).to.deep.equal(recorded.map(({ entry }) => said(entry)));
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant?.renewals).to.equal(4);
  });

  it('counts each of fifty renewals at once, and records one', async () => {
    const opening = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => tasks().renew(aRenewal(opening))));
      expect(outcomes.every(({ kind }) => kind === 'renewed')).to.equal(true);
    });
    expect(records).to.have.length(1);
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant?.renewals).to.equal(50);
  });

  it('counts one renewal when one assertion is presented a hundred times at once', async () => {
    const opening = await openedTask(storage());
    const renewal = aRenewal(opening);
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => tasks().renew(renewal)));
    expect(outcomes.filter(({ kind }) => kind === 'renewed')).to.have.length(1);
    expect(outcomes.filter(({ kind }) => kind === 'replayed')).to.have.length(99);
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant?.renewals).to.equal(1);
  });

  it('keeps a narrowing, and leaves the task with what the exchange granted', async () => {
    const opening = await openedTask(storage(), { scope: ['a', 'b', 'c'] });
    await tasks().renew(aRenewal(opening, { scope: ['a', 'c'] }));
    const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
    expect(grant).to.deep.include({ scope: ['a', 'c'] });
    expect(grant?.task.scope).to.deep.equal(['a', 'b', 'c']);
    const wide = aRenewal(opening, { grantScope: ['a', 'b', 'c'], scope: ['a', 'b'] });
    expect(await tasks().renew(wide)).to.deep.equal({ kind: 'grant_changed' });
  });

  it('never lets a renewal that was judged before a narrowing undo it', async () => {
    for (let round = 0; round < 40; round++) {
      const opening = await openedTask(storage());
      const narrow = aRenewal(opening, { scope: ['jira:read'] });
      const wide = aRenewal(opening);
      const order = round % 2 === 0 ? [narrow, wide] : [wide, narrow];
      await Promise.all(order.map((renewal) => tasks().renew(renewal)));
      const grant = await tasks().findGrant(opening.task.agentId, opening.grantHash);
      expect(grant?.scope).to.deep.equal(['jira:read']);
    }
  });

  it('writes nothing, and spends nothing, when the grant is no longer as it was judged', async () => {
    const opening = await openedTask(storage());
    const other = await openedTask(storage());
    for (const changes of [
      { grantScope: ['jira:read'] },
      { grantScope: opening.task.scope.toReversed() },
      { grantHash: other.grantHash },
      { grantHash: 'e'.repeat(64) },
    ]) {
      const assertion = anAssertion(opening.task.agentId);
      const records = await recordedBy(storage(), async () => {
        expect(await tasks().renew(aRenewal(opening, { ...changes, assertion }))).to.deep.equal({
          kind: 'grant_changed',
        });
      });
      expect(records).to.deep.equal([]);
      const refusal = { entry: aRefusal('grant_not_found'), assertion };
      expect(await storage().ledger.refuse(refusal)).to.equal('grant_not_found');
    }
    for (const { task, grantHash } of [opening, other]) {
      expect(await tasks().findGrant(task.agentId, grantHash)).to.deep.include({ renewals: 0, scope: task.scope });
    }
  });

  it('renews nothing after the task has ended', async () => {
    const opening = await openedTask(storage());
    const { agentId } = opening.task;
    await tasks().revokeByGrant(
      { at: NOON, reason: 'client_revoked' },
      agentId,
      opening.grantHash,
      anAssertion(agentId),
    );
    expect(await tasks().renew(aRenewal(opening))).to.deep.equal({ kind: 'grant_changed' });
  });

  it('renews nothing for an agent that is at another revision than was judged', async () => {
    const agent = await registeredAgent(storage());
    const opening = await openedTask(storage(), {}, agent);
    await storage().agents.replace({ ...agent, enabled: false, revision: 2 }, anEntry('agent.updated'));
    const renewal = aRenewal(opening);
    expect(await tasks().renew(renewal)).to.deep.equal({ kind: 'agent_changed' });
    expect(await tasks().renew({ ...renewal, agentRevision: 2 })).to.deep.equal({ kind: 'renewed' });
  });

  it('renews nothing for a person on the list, and reports a replay before that', async () => {
    const opening = await openedTask(storage());
    const renewal = aRenewal(opening);
    await tasks().renew(renewal);
    const { sponsorKey } = opening.task;
    const block = { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON } as const;
    await storage().sponsors.block(block, 'sponsor_blocked');
    expect(await tasks().renew(renewal)).to.deep.equal({ kind: 'replayed' });
    const fresh = aRenewal(opening);
    expect(await tasks().renew(fresh)).to.deep.equal({ kind: 'sponsor_blocked', block: 'disabled' });
    expect(await tasks().renew({ ...fresh, agentRevision: 9 })).to.deep.equal({ kind: 'agent_changed' });
    const refusal = { entry: aRefusal('sponsor_disabled'), assertion: fresh.assertion, sponsorKey };
    expect(await storage().ledger.refuse(refusal)).to.equal('sponsor_disabled');
  });

  it('loses no renewal to a revocation at the same time: it is either summed up or refused', async () => {
    for (let round = 0; round < 10; round++) {
      const opening = await openedTask(storage());
      const { agentId, taskId } = opening.task;
      const at = instantFromMicros(NOON + round);
      const renewing = Array.from({ length: 10 }, () => tasks().renew(aRenewal(opening)));
      const revoking = tasks().revokeByGrant(
        { at, reason: 'client_revoked' },
        agentId,
        opening.grantHash,
        anAssertion(agentId),
      );
      const late = Array.from({ length: 10 }, () => tasks().renew(aRenewal(opening)));
      await revoking;
      const outcomes = await Promise.all([...renewing, ...late]);
      const renewed = outcomes.filter(({ kind }) => kind === 'renewed').length;
      const grant = await tasks().findGrant(agentId, opening.grantHash);
      expect(grant?.renewals).to.equal(renewed);
      const { records } = await storage().ledger.page({ taskId, limit: 100, now: NOON });
      const counted = records
        .filter((record) => record.event === 'token.refreshed')
        .reduce((sum, record) => sum + (record.count ?? 1), 0);
      expect(counted).to.equal(renewed);
      expect(records.at(-1)?.event).to.equal('task.revoked');
    }
  });
});

onEveryDatabase(
  'renewing a grant, seen from outside,',
  ({ storage, database, kind }) => {
    const outside = async () => {
      const reach = database().outside;
      if (reach === undefined) throw new Error('this database cannot be reached from outside');
      return reach();
    };

    for (const fault of [
      { table: 'spent_assertions' },
      { table: 'task_grants', on: 'update' },
      { table: 'ledger' },
    ] as const) {
      it(`leaves nothing behind when writing to ${fault.table} fails`, async () => {
        const connection = await outside();
        const renewal = aRenewal(await openedTask(storage()));
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, fault, () =>
          storage()
            .tasks.renew(renewal)
            .catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await storage().tasks.renew(renewal)).to.deep.equal({ kind: 'renewed' });
        await connection.close();
      });
    }

    it('waits for the end of its task that is under way, and finds the grant changed', async () => {
      const connection = await outside();
      const opening = await openedTask(storage());
      await renewTimes(storage(), opening, 2);
      const { agentId, taskId, sponsorKey } = opening.task;
      const hold = await holdAppends(kind, connection);
      const assertion = anAssertion(agentId);
      const revocation = { at: NOON, reason: 'client_revoked' } as const;
      const revoking = storage().decide(revokeGrant, { ...revocation, taskId, sponsorKey, assertion });
      await hold.waiting(1);
      const renewing = storage().tasks.renew(aRenewal(opening));
      await hold.waiting(2);
      await hold.release();
      expect(await revoking).to.equal('revoked');
      expect(await renewing).to.deep.equal({ kind: 'grant_changed' });
      await connection.close();
    });

    it('waits for a change of its agent that is under way, and is refused', async () => {
      const connection = await outside();
      const agent = await registeredAgent(storage());
      const opening = await openedTask(storage(), {}, agent);
      const hold = await holdAppends(kind, connection);
      const replacing = storage().agents.replace({ ...agent, revision: 2 }, anEntry('agent.updated'));
      await hold.waiting(1);
      const renewing = storage().tasks.renew(aRenewal(opening));
      await hold.waiting(2);
      await hold.release();
      expect(await replacing).to.equal('replaced');
      expect(await renewing).to.deep.equal({ kind: 'agent_changed' });
      await connection.close();
    });

    it('waits for a block of its person that is under way, and is refused', async () => {
      const connection = await outside();
      const opening = await openedTask(storage());
      const { sponsorKey } = opening.task;
      const hold = await holdAppends(kind, connection);
      const blocking = storage().sponsors.block(
        { sponsorKey, source: 'admin', kind: 'deleted', blockedAt: NOON },
        'sponsor_blocked',
      );
      await hold.waiting(1);
      const renewing = storage().tasks.renew(aRenewal(opening));
      await hold.waiting(2);
      await hold.release();
      expect((await blocking).revokedTasks).to.equal(1);
      expect(await renewing).to.deep.equal({ kind: 'sponsor_blocked', block: 'deleted' });
      await connection.close();
    });

    if (kind.engine === 'postgres') {
      it('keeps a change of its agent from being answered before it has committed', async () => {
        const connection = await outside();
        const agent = await registeredAgent(storage());
        const opening = await openedTask(storage(), {}, agent);
        await connection.sql('begin');
        await connection.sql(`select 1 from task_grants where grant_hash = '${opening.grantHash}' for update`);
        const answered: string[] = [];
        const renewing = storage()
          .tasks.renew(aRenewal(opening))
          .then(({ kind }) => answered.push(kind));
        await untilBlocked(connection, 1);
        const replacing = storage()
          .agents.replace({ ...agent, revision: 2 }, anEntry('agent.updated'))
          .then((outcome) => answered.push(outcome));
        await Promise.race([replacing, untilBlocked(connection, 2)]);
        await connection.sql('commit');
        await Promise.all([renewing, replacing]);
        expect(answered).to.deep.equal(['renewed', 'replaced']);
        await connection.close();
      });
    }
  },
  databases,
);
