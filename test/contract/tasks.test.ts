import { expect } from 'chai';
import { ulid } from 'ulid';
import { type LogoutSignal, logOut as logOutNow } from '../../application/decisions/log-out.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { type Renewal, renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { revokeSingleToken } from '../../application/decisions/revoke-single-token.ts';
import { spendAssertion } from '../../application/decisions/spend-assertion.ts';
import { expireDueTasks } from '../../application/decisions/sweep.ts';
import { makeTaskId, makeTokenId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { anAgent, NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anAssertion,
  anEntry,
  anOpening,
  aRenewal,
  aRevocation,
  asEntry,
  aTokenRevocation,
  definedFields,
  endRecordsOf,
  newAgentId,
  openedTask,
  recordedBy,
  registeredAgent,
  renewTimes,
  withClientAssertion,
} from './storage-fixtures.ts';

const KILL = { at: instantFromMicros(NOON + 5), reason: 'operator_kill_switch' } as const;

const grantOf = (storage: Storage, { task, grantHash }: TaskOpening) =>
  storage.tasks.findGrant(task.agentId, grantHash);

async function block({ sponsors }: Storage, { task: { sponsorKey } }: TaskOpening): Promise<void> {
  const older = { sponsorKey, source: 'scim', kind: 'deleted', blockedAt: NOON } as const;
  await sponsors.block({ ...older, source: 'admin', kind: 'disabled', blockedAt: KILL.at }, 'sponsor_blocked');
  await sponsors.block(older, 'scim_deleted');
}

const OLDER_BLOCK = { kind: 'sponsor_blocked', block: 'deleted' };

onEveryDatabase('opening a task', ({ storage, database }) => {
  it('stores every field of the task and its grant, records the entry, and marks both assertions as used', async () => {
    const parent = await openedTask(storage());
    const other = await registeredAgent(storage());
    for (const changes of [{}, { sessionId: undefined, parentTaskId: parent.task.taskId }]) {
      const opening = anOpening(await registeredAgent(storage()), changes);
      const { task, entry } = opening;
      const [one, two] = [anAssertion(task.agentId), anAssertion(task.agentId)];
      const records = await recordedBy(storage(), async () => {
        const verdict = await storage().decide(openTask, { ...opening, assertion: withClientAssertion(one, two) });
        expect(verdict).to.deep.equal({ kind: 'opened' });
      });
      expect(records.map(asEntry)).to.deep.equal([definedFields(entry)]);
      const live = { taskState: { kind: 'live' }, revokedAt: undefined };
      expect(await grantOf(storage(), opening)).to.deep.equal({ task, ...live, scope: task.scope, renewals: 0 });
      expect(await storage().tasks.findGrant(other.agentId, opening.grantHash), 'of another agent').to.equal(undefined);
      for (const { jti } of [one, two]) {
        expect(await storage().decide(spendAssertion, anAssertion(task.agentId, jti))).to.equal('replayed');
        expect(await storage().decide(spendAssertion, anAssertion(other.agentId, jti))).to.equal('spent');
      }
    }
  });

  it('is refused for each fact that it reads, and then writes nothing and marks no assertion as used', async () => {
    const agent = await registeredAgent(storage());
    const refused = async (opening: TaskOpening, verdict: object) => {
      const records = await recordedBy(storage(), async () => {
        expect(await storage().decide(openTask, opening)).to.deep.equal(verdict);
      });
      expect(records).to.deep.equal([]);
      expect(await grantOf(storage(), opening)).to.equal(undefined);
      expect(await storage().decide(spendAssertion, opening.assertion)).to.equal('spent');
    };
    await refused({ ...anOpening(agent), agentRevision: 2 }, { kind: 'agent_changed' });
    await refused(anOpening(anAgent({ agentId: newAgentId() })), { kind: 'agent_changed' });
    const blocked = anOpening(agent);
    await block(storage(), blocked);
    await refused(blocked, OLDER_BLOCK);

    const parentTaskId = makeTaskId(ulid());
    await refused(anOpening(agent, { parentTaskId }), { kind: 'parent_ended' });
    const { task: revoked } = await openedTask(storage());
    await storage().tasks.end({ kind: 'task', taskId: revoked.taskId }, KILL);
    await refused(anOpening(agent, { parentTaskId: revoked.taskId }), { kind: 'parent_ended' });
    const { task: over } = await openedTask(storage());
    const late = { parentTaskId: over.taskId, createdAt: over.expiresAt };
    await refused(anOpening(agent, late), { kind: 'parent_ended' });

    for (const kind of ['person', 'session'] as const) {
      const opening = anOpening(agent);
      const { sponsor: subject, sessionId = '' } = opening.task;
      const loggedOut = kind === 'person' ? ({ kind, subject } as const) : ({ kind, sessionId, subject } as const);
      await logOut(loggedOut);
      await refused({ ...opening, refuseLoggedOut: { issuedAt: NOON, earliest: NOON } }, { kind: 'logged_out' });
    }
  });

  const logOut = (loggedOut: LogoutSignal['loggedOut']) => {
    const remember = { statedAt: NOON, forgetAt: plusSeconds(NOON, 9) };
    const signal = { issuer: 'https://idp.example', jti: ulid(), at: NOON, forgetAt: NOON };
    return storage().decide(logOutNow, { ...signal, loggedOut, remember });
  };

  it('accepts a subject token issued after the logout of its person, and any subject token after the logout has expired', async () => {
    for (const [issuedAt, createdAt] of [
      [plusSeconds(NOON, 1), NOON],
      [NOON, plusSeconds(NOON, 9)],
    ] as const) {
      const opening = anOpening(await registeredAgent(storage()), { createdAt });
      await logOut({ kind: 'person', subject: opening.task.sponsor });
      const verdict = await storage().decide(openTask, {
        ...opening,
        refuseLoggedOut: { issuedAt, earliest: createdAt },
      });
      expect(verdict).to.deep.equal({ kind: 'opened' });
    }
  });

  it('opens one task if an assertion is presented a hundred times concurrently', async () => {
    const agent = await registeredAgent(storage());
    const assertion = anAssertion(agent.agentId);
    const openings = Array.from({ length: 100 }, () => ({ ...anOpening(agent), assertion }));
    const records = await recordedBy(storage(), async () => {
      const verdicts = await Promise.all(openings.map((opening) => storage().decide(openTask, opening)));
      expect(verdicts.filter(({ kind }) => kind === 'opened')).to.have.length(1);
      expect(verdicts.filter(({ kind }) => kind === 'replayed')).to.have.length(99);
    });
    const grants = await Promise.all(openings.map((opening) => grantOf(storage(), opening)));
    const stored = grants.flatMap((grant) => (grant === undefined ? [] : [grant.task.taskId]));
    expect(records.map((record) => record.taskId)).to.deep.equal(stored);
    expect(stored).to.have.length(1);
  });

  it('refuses a replay even after all connections were reopened', async () => {
    const opening = anOpening(await registeredAgent(storage()));
    const first = await database().open();
    await first.decide(openTask, opening);
    await first.close();
    const second = await database().open();
    const again = { ...anOpening({ ...anAgent(), ...opening.task, revision: 1 }), assertion: opening.assertion };
    expect(await second.decide(openTask, again)).to.deep.equal({ kind: 'replayed' });
    expect((await grantOf(second, opening))?.task).to.deep.equal(opening.task);
    await second.close();
  });

  it('refuses text that the database would alter', async () => {
    const agent = await registeredAgent(storage());
    for (const text of ['\u0000', '\udc00']) {
      for (const opening of [
        anOpening(agent, { sponsor: text }),
        anOpening(agent, { sessionId: text }),
        anOpening(agent, { audience: text }),
        { ...anOpening(agent), assertion: anAssertion(agent.agentId, text) },
        { ...anOpening(agent), entry: anEntry('token.issued', { audience: text }) },
      ]) {
        const records = await recordedBy(storage(), async () => {
          const thrown = await storage()
            .decide(openTask, opening)
            .catch((error: unknown) => error);
          expect(thrown).to.be.instanceOf(RangeError);
        });
        expect(records).to.deep.equal([]);
        expect(await grantOf(storage(), opening)).to.equal(undefined);
      }
    }
  });
});

onEveryDatabase('renewing a grant', ({ storage }) => {
  const renew = (renewal: Renewal) => storage().decide(renewGrant, renewal);

  it('stores the narrower scope and both counts, records the first renewal, and keeps the task unchanged', async () => {
    const opening = await openedTask(storage(), { scope: ['a', 'b', 'c'] });
    const first = aRenewal(opening, { scope: ['a', 'c'] });
    const others = [1, 2].map(() => aRenewal(opening, { grantScope: ['a', 'c'], scope: ['a', 'c'] }));
    const records = await recordedBy(storage(), async () => {
      for (const renewal of [first, ...others]) expect(await renew(renewal)).to.deep.equal({ kind: 'renewed' });
    });
    expect(records.map(asEntry)).to.deep.equal([definedFields(first.entry)]);
    const stored = { task: opening.task, taskState: { kind: 'live' }, revokedAt: undefined };
    expect(await grantOf(storage(), opening)).to.deep.equal({ ...stored, scope: ['a', 'c'], renewals: 3 });
    expect(await storage().decide(spendAssertion, first.assertion)).to.equal('replayed');
    const revocation = aRevocation(opening);
    const ended = await recordedBy(storage(), () => storage().decide(revokeGrant, revocation));
    const { at } = revocation;
    expect(ended.map(asEntry), 'two of the three have no record').to.deep.equal(
      endRecordsOf(opening, { at, event: 'task.revoked', reason: 'client_revoked' }, 2),
    );
  });

  it('is refused for each fact that it reads, and then writes nothing and marks no assertion as used', async () => {
    const other = await openedTask(storage());
    const refused = async (opening: TaskOpening, changes: Partial<Renewal>, verdict: object) => {
      const before = await grantOf(storage(), opening);
      const renewal = aRenewal(opening, changes);
      const records = await recordedBy(storage(), async () => expect(await renew(renewal)).to.deep.equal(verdict));
      expect(records).to.deep.equal([]);
      expect(await grantOf(storage(), opening)).to.deep.equal(before);
      expect(await storage().decide(spendAssertion, renewal.assertion)).to.equal('spent');
    };
    const opening = await openedTask(storage());
    await refused(opening, { agentRevision: 7 }, { kind: 'agent_changed' });
    await refused(opening, { grantScope: ['jira:read'] }, { kind: 'grant_changed' });
    await refused(opening, { grantHash: other.grantHash }, { kind: 'grant_changed' });
    await refused(opening, { grantHash: 'e'.repeat(64) }, { kind: 'grant_changed' });
    await storage().decide(revokeGrant, aRevocation(opening));
    await refused(opening, {}, { kind: 'grant_changed' });
    await block(storage(), other);
    await refused(other, {}, OLDER_BLOCK);
  });

  it('counts fifty concurrent renewals, and records one of them', async () => {
    const opening = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      const verdicts = await Promise.all(Array.from({ length: 50 }, () => renew(aRenewal(opening))));
      expect(verdicts.filter(({ kind }) => kind === 'renewed')).to.have.length(50);
    });
    expect(records).to.have.length(1);
    expect((await grantOf(storage(), opening))?.renewals).to.equal(50);
  });
});

onEveryDatabase('revoking by grant', ({ storage }) => {
  const { at } = aRevocation(anOpening(anAgent()));
  const REVOKED = { at, event: 'task.revoked', reason: 'client_revoked' } as const;
  const PARENT_REVOKED = { ...REVOKED, reason: 'parent_revoked' };
  const stateOf = async (opening: TaskOpening) => {
    const grant = await grantOf(storage(), opening);
    return [grant?.taskState, grant?.revokedAt];
  };
  const LIVE = [{ kind: 'live' }, undefined];

  it('ends the task and all tasks delegated from it, and records them in order of creation after their renewals', async () => {
    const root = await openedTask(storage(), { delegationDepth: 4 });
    const { sponsorKey, taskId: parentTaskId } = root.task;
    // The child is created after its sibling, and at the same time as the grandchild, whose id is later.
    const later = { createdAt: instantFromMicros(NOON + 9) };
    const child = await openedTask(storage(), { ...later, sponsorKey, parentTaskId, delegationDepth: 2 });
    const sibling = await openedTask(storage(), { parentTaskId });
    const grandchild = await openedTask(storage(), { ...later, parentTaskId: child.task.taskId, delegationDepth: 3 });
    const strangers = [await openedTask(storage()), await openedTask(storage(), { sponsorKey })];
    for (const recordEach of [true, true]) await storage().decide(renewGrant, aRenewal(root, { recordEach }));
    await renewTimes(storage(), child, 2);
    await renewTimes(storage(), sibling, 1);
    for (const recordEach of [true, false, true, false, false]) {
      await storage().decide(renewGrant, aRenewal(grandchild, { recordEach }));
    }
    const revocation = aRevocation(root);
    const records = await recordedBy(storage(), async () => {
      expect(await storage().decide(revokeGrant, revocation)).to.equal('revoked');
    });
    expect(records.map(asEntry)).to.deep.equal([
      ...endRecordsOf(root, REVOKED),
      ...endRecordsOf(sibling, PARENT_REVOKED),
      ...endRecordsOf(child, PARENT_REVOKED, 1),
      ...endRecordsOf(grandchild, PARENT_REVOKED, 3),
    ]);
    expect(await stateOf(root)).to.deep.equal([{ kind: 'revoked', at, reason: 'client_revoked' }, at]);
    for (const below of [child, sibling, grandchild]) {
      expect(await stateOf(below)).to.deep.equal([{ kind: 'revoked', at, reason: 'parent_revoked' }, at]);
    }
    for (const stranger of strangers) expect(await stateOf(stranger)).to.deep.equal(LIVE);
    expect(await storage().decide(spendAssertion, revocation.assertion)).to.equal('replayed');
  });

  it('also ends the live tasks delegated from an expired task, and leaves the expired task as it is', async () => {
    const root = await openedTask(storage());
    // The clock of the revocation is behind, and the task has not expired by it.
    const over = plusSeconds(at, 2);
    const child = await openedTask(storage(), { parentTaskId: root.task.taskId, expiresAt: over });
    const grandchild = await openedTask(storage(), { parentTaskId: child.task.taskId });
    expect(await storage().decide(expireDueTasks, { overBy: over, at, limit: 1 })).to.equal(1);
    const records = await recordedBy(storage(), () => storage().decide(revokeGrant, aRevocation(root)));
    expect(records.map(asEntry)).to.deep.equal([
      ...endRecordsOf(root, REVOKED),
      ...endRecordsOf(grandchild, PARENT_REVOKED),
    ]);
    expect(await stateOf(child)).to.deep.equal([{ kind: 'expired', at: over }, at]);
  });

  it('leaves a task past its expiry to the sweeper, and ends a live task delegated from that task', async () => {
    const opening = await openedTask(storage(), { expiresAt: at });
    const records = await recordedBy(storage(), async () => {
      expect(await storage().decide(revokeGrant, aRevocation(opening))).to.equal('already_ended');
    });
    expect(records).to.deep.equal([]);
    const child = await openedTask(storage(), { parentTaskId: opening.task.taskId });
    const ended = await recordedBy(storage(), async () => {
      expect(await storage().decide(revokeGrant, aRevocation(opening))).to.equal('revoked');
    });
    expect(ended.map(asEntry)).to.deep.equal(endRecordsOf(child, PARENT_REVOKED));
    expect(await stateOf(opening)).to.deep.equal(LIVE);
  });

  it('writes nothing on a replay, and only marks the assertion as used if the task has ended', async () => {
    const opening = await openedTask(storage());
    const [first, again] = [aRevocation(opening), aRevocation(opening, KILL)];
    const records = await recordedBy(storage(), async () => {
      const { assertion } = opening;
      expect(await storage().decide(revokeGrant, aRevocation(opening, { assertion }))).to.equal('replayed');
      expect(await stateOf(opening)).to.deep.equal(LIVE);
      expect(await storage().decide(revokeGrant, first)).to.equal('revoked');
      expect(await storage().decide(revokeGrant, again)).to.equal('already_ended');
      expect(await storage().decide(revokeGrant, again)).to.equal('replayed');
    });
    expect(records.map(asEntry)).to.deep.equal(endRecordsOf(opening, REVOKED));
    expect(await stateOf(opening)).to.deep.equal([{ kind: 'revoked', at, reason: 'client_revoked' }, at]);
  });

  it('ends the task once if twenty revocations arrive concurrently', async () => {
    const opening = await openedTask(storage());
    const records = await recordedBy(storage(), async () => {
      const revoking = Array.from({ length: 20 }, () => storage().decide(revokeGrant, aRevocation(opening)));
      const verdicts = (await Promise.all(revoking)).toSorted();
      expect(verdicts).to.deep.equal([...Array.from({ length: 19 }, () => 'already_ended'), 'revoked']);
    });
    expect(records).to.have.length(1);
  });
});

onEveryDatabase('the revocation and the state of a token', ({ storage }) => {
  const factsOf = ({ taskId }: TaskOpening['task'], tokenId = makeTokenId(ulid())) =>
    storage().tasks.tokenFacts(tokenId, taskId);

  it('stores and records the revocation of a token, and keeps its task live', async () => {
    const opening = await openedTask(storage());
    const revocation = aTokenRevocation(opening);
    const { tokenId, at, reason, entry, assertion } = revocation;
    const records = await recordedBy(storage(), async () => {
      expect(await storage().decide(revokeSingleToken, revocation)).to.equal('revoked');
    });
    expect(records.map(asEntry)).to.deep.equal([definedFields(entry)]);
    const live = { taskState: { kind: 'live' }, taskExpiresAt: opening.task.expiresAt, agentEnabled: true };
    expect(await factsOf(opening.task, tokenId)).to.deep.equal({ ...live, tokenRevocation: { at, reason } });
    expect(await factsOf(opening.task), 'another token').to.deep.equal({ ...live, tokenRevocation: undefined });
    expect(await storage().decide(spendAssertion, assertion)).to.equal('replayed');
    const other = aTokenRevocation(opening, { assertion });
    expect(await storage().decide(revokeSingleToken, other)).to.equal('replayed');
    expect(await factsOf(opening.task, other.tokenId)).to.deep.include({ tokenRevocation: undefined });
  });

  it('keeps the first of twenty revocations of a token, and marks the assertion of each of them as used', async () => {
    const opening = await openedTask(storage());
    const first = aTokenRevocation(opening);
    const again = () => ({ ...first, assertion: anAssertion(opening.task.agentId) });
    const records = await recordedBy(storage(), async () => {
      const revoking = Array.from({ length: 20 }, () => storage().decide(revokeSingleToken, again()));
      const verdicts = (await Promise.all(revoking)).toSorted();
      expect(verdicts).to.deep.equal([...Array.from({ length: 19 }, () => 'already_revoked'), 'revoked']);
      const later = { ...again(), ...KILL };
      expect(await storage().decide(revokeSingleToken, later)).to.equal('already_revoked');
      expect(await storage().decide(revokeSingleToken, later)).to.equal('replayed');
    });
    expect(records).to.have.length(1);
    const { at, reason, tokenId } = first;
    expect(await factsOf(opening.task, tokenId)).to.deep.include({ tokenRevocation: { at, reason } });
  });

  it('finds no token of a task that is not stored', async () => {
    expect(await storage().tasks.tokenFacts(makeTokenId(ulid()), makeTaskId(ulid()))).to.equal(undefined);
  });

  it('answers each query with the current state of the agent and of the task', async () => {
    const agent = await registeredAgent(storage());
    const opening = await openedTask(storage(), {}, agent);
    for (const [revision, enabled] of [
      [2, false],
      [3, true],
    ] as const) {
      await storage().agents.replace({ ...agent, enabled, revision }, anEntry('agent.updated'));
      expect(await factsOf(opening.task)).to.deep.include({ agentEnabled: enabled });
    }
    const { at, reason } = aRevocation(opening);
    await storage().decide(revokeGrant, { ...aRevocation(opening), at, reason });
    expect(await factsOf(opening.task)).to.deep.include({ taskState: { kind: 'revoked', at, reason } });
  });
});
