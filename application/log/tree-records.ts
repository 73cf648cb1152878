/** Finds the tree of a task by its records of hand-overs, and reads the records of all its tasks in the order of their times. */

import { linkOf, treeOf } from '../../domain/delegation/task-tree.ts';
import { parseTaskId, type TaskId } from '../../domain/identifiers.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Ledger, LedgerPosition, LedgerQuery } from '../ports/ledger.ts';
import type { Clock } from '../ports/runtime.ts';

interface TreeReading {
  readonly ledger: Pick<Ledger, 'page'>;
  readonly clock: Clock;
}

export interface TreeTask {
  readonly taskId: TaskId;
  /** The last checkpoint that seals a hand-over between the selected task and this one; 0 for the selected task. */
  readonly link: number | typeof NOT_SEALED;
}

/** The tree of the task; `undefined` if the task was not delegated, and offered nothing. */
export async function findTree(
  reading: TreeReading,
  taskId: TaskId | undefined,
): Promise<readonly TreeTask[] | undefined> {
  const isUsed = await Promise.all([first(reading, { event: 'delegation.offered' }), first(reading, { event: TAKEN })]);
  if (taskId === undefined || isUsed.every((record) => record === undefined)) return undefined;
  // All tasks of a tree are for one person.
  const sponsor = (await first(reading, { taskId, decision: 'allow' }))?.sponsor;
  const links = [];
  for await (const { records } of pages(reading, { sponsor, event: TAKEN })) {
    links.push(...records.flatMap((record) => linkOf(record) ?? []));
  }
  const tree = [...treeOf(taskId, links)].flatMap(([task, path]) => {
    const id = parseTaskId(task);
    const link = Math.max(0, ...path.map(({ checkpoint }) => checkpoint ?? Number.POSITIVE_INFINITY));
    return id === undefined ? [] : [{ taskId: id, link: Number.isFinite(link) ? link : NOT_SEALED } as const];
  });
  const hasOffered = tree.length > 1 || (await first(reading, { taskId, event: 'delegation.offered' })) !== undefined;
  return hasOffered ? tree : undefined;
}

const TAKEN = 'delegation.taken';
const NOT_SEALED = 'not_sealed';

async function first({ ledger, clock }: TreeReading, query: Pick<LedgerQuery, 'taskId' | 'event' | 'decision'>) {
  const { records } = await ledger.page({ ...query, limit: 1, now: clock.now() });
  return records[0];
}

/** Each page is proved before the next one is read. */
const RECORDS_AT_ONCE = 500;
/** Of each task of a tree: most tasks have fewer. */
const RECORDS_OF_A_TASK = 50;

/** All records of a query, the oldest first. */
export async function* pages(
  { ledger, clock }: TreeReading,
  query: Omit<LedgerQuery, 'limit' | 'after' | 'now'>,
  limit = RECORDS_AT_ONCE,
): AsyncGenerator<{ readonly records: readonly LedgerRecord[] }> {
  let after: LedgerPosition | undefined;
  do {
    const page = await ledger.page({ ...query, limit, after, now: clock.now() });
    yield page;
    after = page.next;
  } while (after !== undefined);
}

/** The records of all tasks, the oldest first. */
export async function* pagesOfTasks(
  reading: TreeReading,
  tasks: readonly Pick<TreeTask, 'taskId'>[],
): AsyncGenerator<{ readonly records: readonly LedgerRecord[] }> {
  // The task with the oldest record is the last one: it is taken out and put back at little cost.
  const waiting: Waiting[] = [];
  for (const { taskId } of tasks) {
    const records = recordsOf(reading, taskId);
    await putBack(waiting, records);
  }
  let records: LedgerRecord[] = [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    records.push(next.record);
    if (records.length >= RECORDS_AT_ONCE) {
      yield { records };
      records = [];
    }
    await putBack(waiting, next.rest);
  }
  if (records.length > 0) yield { records };
}

/** The records of a task of which the first one was read. */
interface Waiting {
  readonly record: LedgerRecord;
  readonly rest: AsyncGenerator<LedgerRecord>;
}

async function* recordsOf(reading: TreeReading, taskId: TaskId): AsyncGenerator<LedgerRecord> {
  for await (const { records } of pages(reading, { taskId }, RECORDS_OF_A_TASK)) yield* records;
}

/** Reads the next record, and puts its task where all later ones in the list have older records. */
async function putBack(waiting: Waiting[], rest: AsyncGenerator<LedgerRecord>): Promise<void> {
  const { done, value: record } = await rest.next();
  if (done) return;
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isOlder(record, waiting[middle]?.record ?? record)) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, { record, rest });
}

function isOlder(one: LedgerRecord, other: LedgerRecord): boolean {
  return one.at === other.at ? one.seq < other.seq : one.at < other.at;
}
