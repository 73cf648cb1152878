/**
 * Removes archived months from the ledger on Postgres (specification "Ledger and seal"), while the service keeps
 * appending. The connections belong to the role that owns the tables. So each statement must call functions and operators
 * of Postgres: one whose argument types fit exactly, or one that is written with `pg_catalog`. Otherwise an object of
 * another role in the schema could fit better (`schema.sql`).
 *
 * Detaching a partition locks the ledger. Each attempt waits only briefly for that lock, because all later appends queue
 * behind it. Like every append, it takes the ledger's fence (`LOCK.ledgerFence`) before that lock. In the other order the
 * sealer would wait for an append that waits for this transaction.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Archives, Departure, Exported, HeldMonth } from '../../../application/ports/archives.ts';
import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import type { SchemaStatus } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { monthOfPartition } from '../../../domain/ledger/archived-part.ts';
import { type Month, nextMonth, startOfMonth } from '../../../domain/ledger/time-range.ts';
import { appendEntries } from './append.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { bindInstant } from './column-types.ts';
import { readDatabaseTime } from './database-time.ts';
import { hasCode, LOCK_NOT_AVAILABLE, orRefusal } from './errors.ts';
import { LOCK } from './locks.ts';
import { partitionOf, readSchemaStatus } from './migrate.ts';
import { type Connections, openAuditing, type Prepared, type Run } from './pool/pool.ts';

/** A request waits up to two seconds for a lock. This limit is shorter, so that no request fails because of it. */
const LOCK_LIMIT_MS = 1_000;
/** Pauses between attempts, in which the queued appends run. */
const LOCK_PAUSES_MS = [500, 1_000, 2_000, 4_000] as const;

const holdOff = { name: 'hold_off', text: `select pg_try_advisory_xact_lock(${LOCK.archive}, 0) as held` };
/** The transaction with the archive lock may be idle for hours. Without a snapshot it does not hold back vacuum. */
const holdOn = { name: 'hold_on', text: `select set_config('idle_in_transaction_session_timeout', '0', true)` };

const partitions = {
  name: 'ledger_partitions',
  text: `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ledger'::regclass::oid order by c.relname`,
};

const hasLeft = { name: 'has_left', text: 'select exists (select from ledger_archives where month = $1) as left' };

const newestExported = {
  name: 'newest_exported',
  text: `select coalesce(max(last_checkpoint), 0) as last_checkpoint, coalesce(max(last_seq), 0) as last_seq
    from ledger_archives`,
};

/** While queueing is off, no sink is configured: entries left in the outbox are then no reason to keep the month. */
const hasUndelivered = {
  name: 'has_undelivered',
  text: 'select (select queueing from outbox_queueing) and exists (select from outbox where seq <= $1) as undelivered',
};

const lockLimit = { name: 'lock_limit', text: `select set_config('lock_timeout', '${LOCK_LIMIT_MS}', true)` };
/** Takes the ledger's fence, as every append does before it takes its sequence number. */
const takeFence = { name: 'take_fence', text: `select pg_advisory_xact_lock_shared(${LOCK.ledgerFence}, 0)` };
const lockLedger = { name: 'lock_ledger', text: 'lock table only ledger in access exclusive mode' };

/** Whether the record of the export is sealed, and of a later month. */
const isRecorded = {
  name: 'is_recorded',
  text: `select exists (
    select from ledger where seq = $1 and ts >= $2 and event = 'audit.archived'
      and exists (select from checkpoints where last_seq >= $1)
  ) as stays`,
};

const noteDeparture = {
  name: 'note_departure',
  text: `insert into ledger_archives
      (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
    values ($1, $2, $3, $4, $5, $6, $7)`,
};

/** @param connections of the role that owns the schema, at least two */
export function postgresArchives({ run, transact }: Connections): Archives {
  return {
    async exclusively(work) {
      return transact(async (hold) => {
        await hold(holdOn);
        const { rows } = await hold<{ held: boolean }>(holdOff);
        return rows[0]?.held === true ? { answer: await work() } : 'busy';
      });
    },

    databaseTime: () => readDatabaseTime(run),

    async heldBefore(before) {
      const { rows } = await run<{ name: string }>(partitions);
      const months = rows.flatMap(({ name }) => monthOfPartition(name) ?? []).filter((month) => month < before);
      const held: HeldMonth[] = [];
      for (const month of months) held.push(await heldMonth(run, month));
      return held;
    },

    exported: () => readExported(run),

    async record(entry) {
      const { query, values } = appendEntries([entry]);
      await transact((within) => within(query, values));
    },

    async remove(departure) {
      for (const wait of [...LOCK_PAUSES_MS, undefined]) {
        const outcome = await attempt(transact, departure);
        if (outcome !== 'locked' || wait === undefined) return outcome;
        await pause(wait);
      }
      return 'locked';
    },
  };
}

async function heldMonth(run: Run, month: Month): Promise<HeldMonth> {
  const partition = partitionOf(startOfMonth(month));
  const { rows } = await run<NumbersRow>(numbersIn(partition));
  const lastSeq = rows[0]?.last_seq ?? undefined;
  const left = await run<{ left: boolean }>(hasLeft, [month]);
  return {
    month,
    partition,
    firstSeq: rows[0]?.first_seq ?? undefined,
    lastSeq,
    leftBefore: left.rows[0]?.left === true,
    undelivered: await isUndelivered(run, lastSeq),
  };
}

async function isUndelivered(run: Run, lastSeq: number | undefined): Promise<boolean> {
  const { rows } = await run<{ undelivered: boolean }>(hasUndelivered, [lastSeq ?? 0]);
  return rows[0]?.undelivered === true;
}

/** @param partition named by `partitionOf`, so that it needs no quotes */
function numbersIn(partition: string): Prepared {
  return {
    name: `numbers_in_${partition}`,
    text: `select min(seq) as first_seq, max(seq) as last_seq from ${partition}`,
  };
}

interface NumbersRow {
  readonly first_seq: number | null;
  readonly last_seq: number | null;
}

async function readExported(run: Run): Promise<Exported> {
  const { rows } = await run<{ last_checkpoint: number; last_seq: number }>(newestExported);
  return { lastCheckpoint: rows[0]?.last_checkpoint ?? 0, lastSeq: rows[0]?.last_seq ?? 0 };
}

type Outcome = Awaited<ReturnType<Archives['remove']>>;

/** Thrown to roll the transaction back. Carries the outcome. */
class RolledBack extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super(outcome);
    this.outcome = outcome;
  }
}

async function attempt(transact: Connections['transact'], departure: Departure): Promise<Outcome> {
  try {
    await transact((run) => leave(run, departure));
    return 'removed';
  } catch (error) {
    if (error instanceof RolledBack) return error.outcome;
    if (hasCode(error, LOCK_NOT_AVAILABLE)) return 'locked';
    throw error;
  }
}

async function leave(run: Run, { month, at, before, range, recordedAs }: Departure): Promise<void> {
  const partition = partitionOf(startOfMonth(month));
  await run(lockLimit);
  await run(takeFence);
  await run(lockLedger);

  const exported = await readExported(run);
  const unchanged = exported.lastCheckpoint === before.lastCheckpoint && exported.lastSeq === before.lastSeq;
  const { rows } = await run<{ name: string }>(partitions);
  if (!unchanged || !rows.some(({ name }) => name === partition)) throw new RolledBack('overtaken');
  const highest = (await run<NumbersRow>(numbersIn(partition))).rows[0]?.last_seq ?? 0;
  if (highest > (range?.lastSeq ?? before.lastSeq)) throw new RolledBack('gained');
  if (await isUndelivered(run, highest)) throw new RolledBack('undelivered');

  const end = bindInstant(startOfMonth(nextMonth(month)));
  const recorded = await run<{ stays: boolean }>(isRecorded, [recordedAs, end]);
  if (recorded.rows[0]?.stays !== true) throw new RolledBack('unrecorded');

  await run({ name: `detach_${partition}`, text: `alter table ledger detach partition ${partition}` });
  await run({ name: `drop_${partition}`, text: `drop table ${partition}` });
  await run(noteDeparture, [
    month,
    end,
    bindInstant(at),
    range?.firstCheckpoint ?? null,
    range?.lastCheckpoint ?? null,
    range?.firstSeq ?? null,
    range?.lastSeq ?? null,
  ]);
}

/** What `mandate audit-archive` uses of Postgres, as the schema's owner: only an owner can drop a partition. */
export interface OpenedArchives {
  readonly archives: Archives;
  readonly checkpoints: Checkpoints;
  schemaStatus(): Promise<SchemaStatus>;
  /** Whether the role has the rights of the ledger's owner. */
  isOwner(): Promise<boolean>;
  close(): Promise<void>;
}

/** One holds the archive lock, one removes the month, and two read ahead: the next page, and checkpoints. */
const POOL_SIZE = 4;

const ownsLedger = {
  name: 'owns_ledger',
  text: `select pg_has_role(relowner, 'usage') as owns from pg_class where oid = 'ledger'::regclass::oid`,
};

/** @param uri of the role that owns the ledger @throws DatabaseRefusal, StorageUnavailable */
export async function openPostgresArchives(uri: string, log: Log): Promise<OpenedArchives> {
  const connections = await openAuditing(uri, 'migrating', POOL_SIZE, log);
  return {
    archives: postgresArchives(connections),
    checkpoints: postgresCheckpoints(connections),
    schemaStatus: () => orRefusal('serving', () => readSchemaStatus(connections.run)),
    async isOwner() {
      const { rows } = await connections.run<{ owns: boolean }>(ownsLedger);
      return rows[0]?.owns === true;
    },
    close: () => connections.close(),
  };
}
