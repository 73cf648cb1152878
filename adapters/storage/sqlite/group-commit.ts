/**
 * Group commit: decisions that wait together share one BEGIN IMMEDIATE … COMMIT, and so one wait for the disk. Each is
 * answered after the commit. If one fails, the batch runs again with a savepoint for each decision, so that the failure
 * does not undo the others' writes. While the service runs, nothing else opens a write transaction.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { collector } from '../collector.ts';
import { asUnavailable, isBusy, isUnwritable, whileBusy } from './errors.ts';
import type { Handle, Run } from './handle.ts';
import { BATCH_SIZE } from './limits.ts';

interface GroupCommit {
  submit<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  drained(): Promise<void>;
}

interface Member {
  /** Runs in the transaction. Returns a function that resolves the caller's promise, for use after the commit. */
  readonly work: () => () => void;
  readonly fail: (error: unknown) => void;
}

export interface Surroundings {
  /** Called first in each transaction. If it throws, the batch is rolled back and fails with this error. */
  readonly atBegin: () => void;
  /** Called before each commit. If it throws, the batch is rolled back and fails with this error. */
  readonly beforeCommit: () => void;
  /** Called after each commit, before the batch is answered. */
  readonly committed: () => void;
  /** Called once the batch is answered. The next batch waits for it. */
  readonly afterBatch: (isCommitted: boolean) => Promise<void>;
  /** Called with the error of a batch that failed, as its decisions get it. */
  readonly failed: (error: unknown) => void;
}

export function groupCommit(handle: Handle, run: Run, surroundings: Surroundings): GroupCommit {
  const { afterBatch, failed } = surroundings;
  const { submit, drained } = collector<Member>({
    size: BATCH_SIZE,
    underWay: 1,
    perform: async (batch) => {
      let isCommitted = false;
      try {
        await whileBusy(() => commitTogether(handle, run, batch, surroundings));
        isCommitted = true;
      } catch (error) {
        const unavailable = asUnavailable(error);
        failed(unavailable);
        for (const { fail } of batch) fail(unavailable);
      }
      await afterBatch(isCommitted);
    },
  });
  return {
    submit: (work) =>
      new Promise((resolve, reject) => {
        const answered = () => {
          const answer = work(run);
          return () => resolve(answer);
        };
        submit({ work: answered, fail: reject });
      }),
    drained,
  };
}

type InTransaction = Pick<Surroundings, 'atBegin' | 'beforeCommit' | 'committed'>;

function commitTogether(handle: Handle, run: Run, batch: readonly Member[], around: InTransaction): void {
  run('begin immediate');
  try {
    around.atBegin();
    const answers = runAll(handle, run, batch, around);
    around.beforeCommit();
    run('commit');
    around.committed();
    for (const answer of answers) answer();
  } catch (error) {
    if (handle.inTransaction()) run('rollback');
    throw error;
  }
}

/**
 * The first attempt sets no savepoints, because a savepoint costs as much as a small decision. A decision that exceeded
 * its time limit does not run again: the others have waited long enough.
 */
function runAll(
  handle: Handle,
  run: Run,
  batch: readonly Member[],
  { atBegin }: InTransaction,
): readonly (() => void)[] {
  const answers: (() => void)[] = [];
  try {
    for (const { work } of batch) answers.push(work());
    return answers;
  } catch (error) {
    if (isBusy(error) || isUnwritable(error) || !handle.inTransaction()) throw error;
    run('rollback');
    run('begin immediate');
    atBegin();
    const exceeded = error instanceof StorageUnavailable ? answers.length : undefined;
    return batch.map((member, nth) => (nth === exceeded ? () => member.fail(error) : runOne(handle, run, member)));
  }
}

function runOne(handle: Handle, run: Run, { work, fail }: Member): () => void {
  run('savepoint decision');
  try {
    const answer = work();
    run('release decision');
    return answer;
  } catch (error) {
    // On a full or failing disk the other decisions fail too. SQLite may have rolled back the whole transaction by itself.
    if (isUnwritable(error) || !handle.inTransaction()) throw error;
    run('rollback to decision');
    run('release decision');
    return () => fail(asUnavailable(error));
  }
}
