import { expect } from 'chai';
import type { Decision } from '../../application/decisions/decision.ts';
import { openTask } from '../../application/decisions/open-task.ts';
import { refuse } from '../../application/decisions/refuse.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { revokeSingleToken } from '../../application/decisions/revoke-single-token.ts';
import { deleteEndedTasks, expireDueTasks } from '../../application/decisions/sweep.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { allRows, whileWritesFail } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anAssertion,
  anOpening,
  aRefusal,
  aRenewal,
  aRevocation,
  aTokenRevocation,
  newAgentId,
  openedTask,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

/** Earlier than every other time in this file. */
const DUE = plusSeconds(NOON, 10);
const due = { overBy: DUE, at: DUE, limit: 1000 };

interface Atomic {
  readonly title: string;
  /** Every write that the decision makes. */
  readonly writes: readonly `${'insert' | 'update' | 'delete'} ${string}`[];
  prepare(storage: Storage): Promise<Prepared>;
}

/** The decision with its input, and the expected verdict. */
type Prepared = readonly [act: (storage: Storage) => Promise<unknown>, verdict: unknown];

function deciding<Input, Verdict>(decision: Decision<Input, Verdict>, input: Input, verdict: Verdict): Prepared {
  return [(storage) => storage.decide(decision, input), verdict];
}

const DECISIONS: readonly Atomic[] = [
  {
    title: 'an exchange',
    writes: ['insert spent_assertions', 'insert tasks', 'insert task_grants', 'insert ledger'],
    prepare: async (storage) => deciding(openTask, anOpening(await registeredAgent(storage)), { kind: 'opened' }),
  },
  {
    title: 'a refresh',
    writes: ['insert spent_assertions', 'update task_grants', 'insert ledger'],
    prepare: async (storage) => deciding(renewGrant, aRenewal(await openedTask(storage)), { kind: 'renewed' }),
  },
  {
    title: 'a revocation by grant',
    writes: ['insert spent_assertions', 'update tasks', 'update task_grants', 'insert ledger'],
    async prepare(storage) {
      const opening = await openedTask(storage);
      await openedTask(storage, { parentTaskId: opening.task.taskId });
      await renewTimes(storage, opening, 3);
      return deciding(revokeGrant, aRevocation(opening), 'revoked');
    },
  },
  {
    title: 'a revocation of a token',
    writes: ['insert spent_assertions', 'insert revoked_tokens', 'insert ledger'],
    prepare: async (storage) => deciding(revokeSingleToken, aTokenRevocation(await openedTask(storage)), 'revoked'),
  },
  {
    title: 'a refusal',
    writes: ['insert spent_assertions', 'insert ledger'],
    async prepare() {
      const refusal = { entry: aRefusal('grant_revoked'), assertion: anAssertion(newAgentId()) };
      return deciding(refuse, refusal, 'grant_revoked');
    },
  },
  {
    title: 'an expiry',
    writes: ['update tasks', 'update task_grants', 'insert ledger'],
    async prepare(storage) {
      await renewTimes(storage, await openedTask(storage, { expiresAt: DUE }), 3);
      return deciding(expireDueTasks, due, 1);
    },
  },
  {
    title: 'a deletion of ended tasks',
    writes: ['delete tasks', 'delete task_grants'],
    async prepare(storage) {
      await storage.decide(deleteEndedTasks, { endedBy: DUE, limit: 1000 });
      await openedTask(storage, { expiresAt: DUE });
      await storage.decide(expireDueTasks, due);
      return deciding(deleteEndedTasks, { endedBy: DUE, limit: 1000 }, 1);
    },
  },
];

onEveryDatabase('the transaction', ({ storage, outside, kind }) => {
  for (const { title, writes, prepare } of DECISIONS) {
    for (const write of writes) {
      const [on, table] = write.split(' ') as ['insert' | 'update' | 'delete', string];
      it(`of ${title} writes nothing if the database refuses the ${on} of ${table}`, async () => {
        const connection = await outside();
        const [act, verdict] = await prepare(storage());
        const before = await allRows(connection);
        const outcome = await whileWritesFail(kind, connection, { table, on }, () =>
          act(storage()).catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await allRows(connection)).to.deep.equal(before);
        expect(await act(storage()), 'the same decision afterwards').to.deep.equal(verdict);
      });
    }
  }
});
