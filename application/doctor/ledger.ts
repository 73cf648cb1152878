/**
 * Judges the ledger: its guards, its numbering, its partitions, and whether records are sealed and delivered in time
 * (specification "Ledger and seal", "Sink").
 */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { ArchivedPart } from '../../domain/ledger/archived-part.ts';
import { describeDifference, settled } from '../../domain/ledger/compared.ts';
import { visibleKeyId } from '../../domain/ledger/distrust.ts';
import { type Month, monthOf, nextMonth } from '../../domain/ledger/time-range.ts';
import { visibleText } from '../../domain/visible.ts';
import type { Checkpoints, UsedTwice } from '../ports/checkpoints.ts';
import {
  type BesideCondition,
  describeUsedTwice,
  type GuardCondition,
  type ListedExport,
  NUMBERS_BEYOND,
  type Numbering,
  type OutboxCondition,
  type SealingCondition,
  type StorageCondition,
} from '../ports/storage.ts';
import { ago, describeCode, type Finding, failed, ok, skipped, summarizeList, warning } from './examine.ts';

/** Judges whether the ledger, its checkpoints and every partition refuse changes. */
export function judgeGuards({ tables, missing }: GuardCondition): Finding {
  if (missing.length === 0) return ok(`All ${tables} tables of the ledger refuse to be changed.`);
  return failed(
    `The ledger can be changed: ${summarizeList(missing.map(({ table, what }) => visibleText(`${table}: ${what}`)))}.`,
    'Find out who lifted the guard and run `mandate audit-verify`; then put it back as the migrations make it.',
  );
}

/**
 * @param months the months that have a partition; `undefined` if the database has no partitions
 * @param monthsAhead `Service:Audit:Partitions:MonthsAhead`
 */
export function judgePartitions(months: readonly Month[] | undefined, now: Instant, monthsAhead: number): Finding {
  if (months === undefined) return skipped('This database does not partition the ledger.');
  const present = monthOf(now);
  const wanted = [present];
  for (let ahead = 0; ahead < monthsAhead; ahead += 1) wanted.push(nextMonth(wanted.at(-1) ?? present));
  const missing = wanted.filter((month) => !months.includes(month));
  if (missing.length === 0) return ok(`There is a partition for each month from ${present} to ${wanted.at(-1)}.`);
  const sentence = `There is no partition for ${missing.join(', ')}.`;
  const remedy = 'Run `mandate migrate`. A running service creates them in advance, and logs why it could not.';
  if (!missing.includes(present)) return warning(sentence, remedy);
  return failed(`${sentence} Nothing can be recorded now, and so nothing decided.`, remedy);
}

/** What is known of the numbers. `unexamined`: why the look for a number that two records have failed. */
type Numbers = Numbering | { readonly usedTwice: UsedTwice } | { readonly unexamined: unknown };

export async function readNumbers(
  condition: Pick<StorageCondition, 'numbering'> & { readonly checkpoints: Pick<Checkpoints, 'usedTwice'> },
): Promise<Numbers> {
  const numbering = await condition.numbering();
  if (numbering !== 'ok') return numbering;
  try {
    const usedTwice = await condition.checkpoints.usedTwice();
    return usedTwice === undefined ? 'ok' : { usedTwice };
  } catch (unexamined) {
    return { unexamined };
  }
}

export function judgeNumbering(numbering: Numbers): Finding {
  if (numbering === 'beyond') {
    return failed(
      NUMBERS_BEYOND,
      'No service takes such a number: find out who moved the sequence or inserted the record. See docs/operating.md ("The ledger is not intact").',
    );
  }
  if (numbering === 'ok') return ok('New records get numbers that were never taken.');
  if (numbering === 'set_back') {
    return failed(
      'The sequence ledger_seq was set back below numbers that are taken: nothing is recorded with one of them, and nothing is sealed.',
      'Set it as its owner, as docs/auditing.md says ("After a failover that does not replicate sequences").',
    );
  }
  if ('unexamined' in numbering) {
    return warning(
      `Whether two records have one number could not be examined${describeCode(numbering.unexamined)}.`,
      'See that `schema` above is ok: without the unique index of a month all its records are read. `mandate audit-verify` names such a number.',
    );
  }
  return failed(
    describeUsedTwice(numbering.usedTwice),
    'Take one of the two out of the ledger, as the page says. Do not run `mandate after-restore` before.',
  );
}

/**
 * Judges whether rows whose hash is in the ledger are those that it has.
 * @param part what has left the ledger, as a proved record says
 */
export function judgeBeside({ compared, differences }: BesideCondition, part: ArchivedPart | undefined): Finding {
  const judged = differences.map((difference) => settled(difference, part));
  const [first, ...more] = judged.filter(({ how }) => how !== 'archived');
  if (first !== undefined) {
    return failed(
      `${describeDifference(first)}${more.length === 0 ? '' : ` So do ${more.length} more rows.`}`,
      'Such a row is neither shown nor used. Find out who changed the database: see docs/operating.md ("A row is not as the ledger has it").',
    );
  }
  const kept = judged.length === 0 ? '' : ` The records of ${judged.length} of them have been archived.`;
  return ok(`The newest approvals, answers, purposes and reasons are as the ledger has them: ${compared}.${kept}`);
}

/**
 * Judges whether sealed records name what `ledger_archives` lists. A row alone vouches for nothing, so it hides no deletion,
 * but `audit-archive` stops at it.
 * @param part what has left the ledger, as a proved record says
 */
export function judgeArchives(listed: readonly ListedExport[], part: ArchivedPart | undefined): Finding | undefined {
  const last = part?.months.at(-1)?.month ?? '';
  const unnamed = listed.filter(
    ({ month, lastCheckpoint = 0 }) => month > last || lastCheckpoint > (part?.lastCheckpoint ?? 0),
  );
  if (unnamed.length === 0) return undefined;
  return failed(
    `ledger_archives lists months that no sealed record audit.archived names: ${summarizeList(unnamed.map(({ month }) => visibleText(month)))}.`,
    'Find out who wrote the rows, and run `mandate audit-verify`. See docs/operating.md ("The ledger is not intact"). If a key that is no longer configured sealed the record, configure its public half.',
  );
}

/** A record may wait three intervals for its checkpoint: the current one, a missed one, and one for delay. */
const SEALING_INTERVALS = 3;

/**
 * @param numbering if it stops the sealing, this fails however young the unsealed records are
 * @param interval `Service:Audit:Checkpoint:Interval`, in seconds
 */
export function judgeSealing(
  { oldestUnsealedAt, unsealed, newestCheckpoint }: SealingCondition,
  numbering: Numbers,
  now: Instant,
  interval: number,
): Finding {
  const newest =
    newestCheckpoint === undefined
      ? 'there is no checkpoint yet'
      : `checkpoint ${newestCheckpoint.checkpointId} was closed ${ago(newestCheckpoint.closedAt, now)}`;
  if (oldestUnsealedAt === undefined) {
    return ok(newestCheckpoint === undefined ? 'There is no record yet.' : `Every record is sealed; ${newest}.`);
  }
  const waiting = `${unsealed} ${unsealed === 1 ? 'record is' : 'records are'} not sealed`;
  if (stopsSealing(numbering)) {
    return failed(`${waiting}, and cannot be; ${newest}.`, 'See `ledger numbering` above.');
  }
  if (secondsBetween(oldestUnsealedAt, now) <= SEALING_INTERVALS * interval) return ok(`${waiting} yet; ${newest}.`);
  return warning(
    `${waiting}, the oldest from ${ago(oldestUnsealedAt, now)}; ${newest}.`,
    'See that a replica runs, and in its log why it does not seal. The records are there, but an unsealed record cannot be verified.',
  );
}

function stopsSealing(numbering: Numbers): boolean {
  if (typeof numbering === 'string') return numbering !== 'ok';
  return 'usedTwice' in numbering && !numbering.usedTwice.isSealed;
}

const KEPT = 'Compare with the key set that you kept (`mandate keys show --json`)';
const NEVER = 'Never configure a key only because the ledger names it.';

/**
 * Judges whether every checkpoint can be verified with a configured key. An owner of the database can sign checkpoints
 * with another key, so no remedy may lead an operator to configure a key that this service never had.
 *
 * @param signers the ids of all keys that signed a checkpoint; first that of the newest checkpoint
 * @param kids the ids of the configured keys
 */
export function judgeSigners(signers: readonly string[], kids: readonly string[]): Finding {
  const [newest] = signers;
  if (newest === undefined) return skipped('There is no checkpoint yet.');
  if (!kids.includes(newest)) {
    return failed(
      `The newest checkpoint is signed with the key ${visibleKeyId(newest)}, which is not configured: nothing is sealed over it.`,
      `${KEPT}. If the key is there, configure its public half until a checkpoint by another key follows. If not, another party signed: see docs/operating.md ("The ledger is not intact"). ${NEVER}`,
    );
  }
  const gone = signers.filter((kid) => !kids.includes(kid));
  if (gone.length === 0) return ok('Every key that signed a checkpoint is configured, and so published.');
  return warning(
    `Earlier checkpoints were signed with keys that are not configured: ${summarizeList(gone.map(visibleKeyId))}.`,
    `${KEPT}, and verify with it: \`mandate audit-verify --jwks FILE\`. If a key is not there, another party signed: see docs/operating.md ("The ledger is not intact"). ${NEVER}`,
  );
}

/** Many times the size of a drain batch: the sink does not keep up. */
const MANY_WAITING = 10_000;

export function judgeOutbox({ queueing, waiting, failing }: OutboxCondition, hasSink: boolean): Finding {
  const records = `${waiting} ${waiting === 1 ? 'record waits' : 'records wait'} for the sink`;
  if (!hasSink) {
    if (!queueing && waiting === 0) return skipped('There is no sink, and nothing waits for one.');
    return warning(
      `${records}${queueing ? ', and more are queued' : ''}, but none is configured here.`,
      'Configure Service:Audit:Sink:Url as the replicas have it; if there is to be no sink, a start without one ends the queueing.',
    );
  }
  if (failing > 0) {
    return warning(
      `${records}; it has refused, or not answered for, ${failing} of them.`,
      "See what the sink says of them, and the replicas' log. They are sent until it takes them.",
    );
  }
  if (waiting >= MANY_WAITING) {
    return warning(
      `${records}, or more.`,
      'See that a replica runs; a larger Service:Audit:DrainBatchSize catches up faster.',
    );
  }
  return ok(`${records}.`);
}
