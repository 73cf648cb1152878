/** What the doctor looks at in the database; everything but the first is skipped where that already says it all. */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { monthOf, nextMonth } from '../../domain/ledger/month.ts';
import type { Clock } from '../ports/clock.ts';
import type { StorageCondition } from '../ports/storage-condition.ts';
import { describeUnanswered } from './examine-all.ts';
import { type Examination, type Finding, failed, ok, skipped, warning } from './finding.ts';
import { judgeClock } from './judge-clock.ts';
import { judgeGuards } from './judge-guards.ts';
import { judgeOutbox, judgeSealing, judgeSigners } from './judge-ledger.ts';
import { judgeLink } from './judge-link.ts';
import { judgeRole } from './judge-role.ts';

export type OpenedStorage =
  | {
      readonly kind: 'opened';
      readonly condition: StorageCondition;
      /** A sentence for what `server()` threw, if the server answered with a refusal. */
      readonly refusal: (error: unknown) => string | undefined;
    }
  /** `sentence` says why, and `remedy` what to do. */
  | { readonly kind: 'unusable'; readonly sentence: string; readonly remedy: string };

export interface StorageSurroundings {
  readonly clock: Clock;
  readonly isDevelopment: boolean;
  /** `Service:Audit:Partitions:MonthsAhead`. */
  readonly monthsAhead: number;
  /** `Service:Audit:Checkpoint:Interval`, in seconds. */
  readonly checkpointInterval: number;
  readonly hasSink: boolean;
  /** The names of the configured keys; `undefined` while they cannot be loaded. */
  readonly kids: () => Promise<readonly string[] | undefined>;
}

const MIGRATE = 'Run `mandate migrate`.';
const NOT_OPENED = 'The database could not be opened.';

/** @param opened shared by all: the database is opened once */
export function storageExaminations(
  opened: Promise<OpenedStorage>,
  surroundings: StorageSurroundings,
): readonly Examination[] {
  const schema = opened.then((storage) => (storage.kind === 'opened' ? storage.condition.schema() : 'absent'));
  // Each examination waits for it by itself; without any it would be nobody's.
  schema.catch(() => undefined);

  const inSchema = (check: string, examine: (condition: StorageCondition) => Promise<Finding>): Examination => ({
    check,
    async examine() {
      const storage = await opened;
      if (storage.kind === 'unusable') return skipped(NOT_OPENED);
      const status = await schema.catch(() => undefined);
      if (status === undefined) return skipped('The database does not answer.');
      if (status === 'absent') return skipped('There is no schema yet.');
      return examine(storage.condition);
    },
  });

  const { clock, isDevelopment } = surroundings;
  return [
    { check: 'database', examine: () => examineDatabase(opened) },
    { check: 'database connection', examine: () => examineLink(opened) },
    { check: 'schema', examine: () => examineSchema(opened, schema) },
    inSchema('database role', async (condition) => judgeRole(await condition.role(), isDevelopment)),
    inSchema('ledger guards', async (condition) => judgeGuards(await condition.guards())),
    inSchema('ledger partitions', (condition) => examinePartitions(condition, surroundings)),
    inSchema('ledger numbering', examineNumbering),
    inSchema('ledger sealing', async (condition) =>
      judgeSealing(await condition.sealing(), clock.now(), surroundings.checkpointInterval),
    ),
    inSchema('checkpoint keys', async (condition) => {
      const kids = await surroundings.kids();
      if (kids === undefined) return skipped('The signing keys could not be loaded.');
      return judgeSigners((await condition.sealing()).signers, kids);
    }),
    inSchema('outbox', async (condition) => judgeOutbox(await condition.outbox(), surroundings.hasSink)),
    inSchema('database clock', (condition) => examineClock(condition, clock)),
  ];
}

async function examineDatabase(opened: Promise<OpenedStorage>): Promise<Finding> {
  const storage = await opened;
  if (storage.kind === 'unusable') return failed(storage.sentence, storage.remedy);
  try {
    return ok(`${await storage.condition.server()} answers.`);
  } catch (error) {
    const refusal = storage.refusal(error);
    if (refusal !== undefined) return failed(refusal, 'Correct the connection string, or what it names on the server.');
    return failed(
      describeUnanswered(error),
      'See that it runs, that it is reached from here, and that Service:Database:ConnectionString names its address, role and password.',
    );
  }
}

async function examineLink(opened: Promise<OpenedStorage>): Promise<Finding> {
  const storage = await opened;
  return storage.kind === 'unusable' ? skipped(NOT_OPENED) : judgeLink(await storage.condition.link());
}

async function examineSchema(
  opened: Promise<OpenedStorage>,
  schema: Promise<'current' | 'absent' | 'behind' | 'ahead'>,
): Promise<Finding> {
  if ((await opened).kind === 'unusable') return skipped(NOT_OPENED);
  const status = await schema.catch(() => undefined);
  switch (status) {
    case undefined:
      return skipped('The database does not answer.');
    case 'current':
      return ok('The schema is that of this release.');
    case 'ahead':
      return warning('A newer release has migrated the schema.', 'Run this command of the release that serves.');
    case 'absent':
      return failed('There is no schema.', MIGRATE);
    case 'behind':
      return failed('The schema is of an older release, and the service does not start on it.', MIGRATE);
  }
}

async function examinePartitions(
  condition: StorageCondition,
  { clock, monthsAhead }: Pick<StorageSurroundings, 'clock' | 'monthsAhead'>,
): Promise<Finding> {
  const months = await condition.months();
  if (months === undefined) return skipped('This database does not partition the ledger.');
  const present = monthOf(clock.now());
  const wanted = [present];
  for (let ahead = 0; ahead < monthsAhead; ahead += 1) wanted.push(nextMonth(wanted.at(-1) ?? present));
  const missing = wanted.filter((month) => !months.includes(month));
  if (missing.length === 0) return ok(`There is a partition for each month from ${present} to ${wanted.at(-1)}.`);
  const sentence = `There is no partition for ${missing.join(', ')}.`;
  const remedy = `${MIGRATE} A running service makes them ahead, and logs what keeps it.`;
  if (!missing.includes(present)) return warning(sentence, remedy);
  return failed(`${sentence} Nothing can be recorded now, and so nothing decided.`, remedy);
}

async function examineNumbering(condition: StorageCondition): Promise<Finding> {
  if (!(await condition.isSetBack())) return ok('New records get numbers that were never taken.');
  return failed(
    'The sequence ledger_seq was set back below numbers that are taken: nothing is recorded.',
    'Set it as its owner, as docs/auditing.md says ("After a failover that carries no sequences").',
  );
}

async function examineClock(condition: StorageCondition, clock: Clock): Promise<Finding> {
  const askedAt = clock.now();
  const told = await condition.now();
  if (told === undefined) return skipped('The database has no clock of its own.');
  return judgeClock("The database's clock", closest(askedAt, told, clock.now()));
}

/** The other clock was read at some moment in between. */
function closest(askedAt: Instant, told: Instant, heardAt: Instant): number {
  if (told >= askedAt && told <= heardAt) return 0;
  return told > heardAt ? secondsBetween(heardAt, told) : secondsBetween(askedAt, told);
}
