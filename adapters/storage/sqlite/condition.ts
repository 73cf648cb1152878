/** Reads the condition of a SQLite database, and its backlogs. */

import { ENDED_NOTHING } from '../../../application/decisions/log-out.ts';
import { isLoggedOut, logoutQuestions } from '../../../application/decisions/logged-out.ts';
import type { Backlog, OutboxBacklog, SealingBacklog, StorageCondition } from '../../../application/ports/storage.ts';
import type { Instant } from '../../../domain/instant.ts';
import { evenlySpaced, IS_FOREIGN } from '../rows/migrations.ts';
import type { Connection } from './connection.ts';
import { readFact } from './facts.ts';
import type { Run } from './handle.ts';
import { isBeyond } from './ledger.ts';
import { readSchemaStatus, schemaInMemory } from './migrate.ts';

/** The ledger's tables. Their triggers keep them from being changed. */
const GUARDED = ['ledger', 'ledger_archives', 'checkpoints'] as const;

const selectVersion = 'select sqlite_version() as version';
const selectGuards = "select type, name, tbl_name, sql from sqlite_schema where type in ('trigger', 'table')";
const selectEndedNothing = "select 1 from ledger where event = 'sponsor.signal' and reason = ? and ts >= ? limit 1";
const selectSigners = 'select kid from checkpoints group by kid order by max(checkpoint_id) desc';

/** The parts of the condition that queries answer. */
export type SqliteCondition = Pick<
  StorageCondition,
  'server' | 'schema' | 'guards' | 'numbering' | 'sealing' | 'outbox' | 'isLoggedOut' | 'logoutEndedNothing'
>;

export function sqliteCondition(connection: Connection): SqliteCondition {
  const { read } = connection;
  return {
    server: () => read((run) => `SQLite ${run<{ version: string }>(selectVersion).rows[0]?.version ?? ''}`),
    schema: () => readSchemaStatus(connection),
    async guards() {
      const isCurrent = (await readSchemaStatus(connection)) === 'current';
      const found = await read((run) => run<GuardRow>(selectGuards).rows);
      const made = madeByMigrations();
      // A newer release may have more triggers, and tables with more columns.
      const missing = made.filter((guard) => isGuard(guard, isCurrent) && !found.some((one) => isSame(guard, one)));
      const foreign = found.filter(({ type, name }) => type === 'trigger' && !made.some((one) => one.name === name));
      return {
        tables: GUARDED.length,
        missing: [
          ...missing.map(({ type, name, tbl_name: table }) => ({
            table,
            what: `the ${type} ${name} is not there, or not as the migrations make it`,
          })),
          ...(isCurrent ? foreign : []).map(({ name, tbl_name: table }) => ({
            table,
            what: `the trigger ${name} ${IS_FOREIGN}`,
          })),
        ],
      };
    },
    // AUTOINCREMENT never reuses a number.
    numbering: () => read((run) => (isBeyond(run) ? 'beyond' : 'ok')),
    sealing: () =>
      read((run) => ({
        ...sealingBacklog(run),
        signers: run<{ kid: string }>(selectSigners).rows.map(({ kid }) => kid),
      })),
    outbox: () => read(outboxBacklog),
    isLoggedOut: ({ issuedAt, ...who }, at) =>
      read((run) => {
        const answers = logoutQuestions(who).map((question) => question && readFact(run, question));
        return isLoggedOut(answers, issuedAt, at);
      }),
    logoutEndedNothing: (since) => read((run) => run(selectEndedNothing, [ENDED_NOTHING, since]).count > 0),
  };
}

interface GuardRow {
  readonly type: 'trigger' | 'table';
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** The tables and triggers of the schema. */
function madeByMigrations(): readonly GuardRow[] {
  const schema = schemaInMemory();
  try {
    return schema.prepare<GuardRow>(selectGuards).all();
  } finally {
    schema.close();
  }
}

/** The ledger's triggers, and the tables that have them. */
function isGuard({ type, tbl_name }: GuardRow, isCurrent: boolean): boolean {
  return GUARDED.some((table) => table === tbl_name) && (type === 'trigger' || isCurrent);
}

/** By the whole text: a trigger of the same name may be on another table, or have a condition that is never true. */
function isSame(one: GuardRow, other: GuardRow): boolean {
  return (
    one.type === other.type &&
    one.name === other.name &&
    one.tbl_name === other.tbl_name &&
    evenlySpaced(one.sql ?? '') === evenlySpaced(other.sql ?? '')
  );
}

export function readBacklog({ read }: Connection): Promise<Backlog> {
  return read((run) => ({ sealing: sealingBacklog(run), outbox: outboxBacklog(run) }));
}

/** Counting stops here: a larger backlog is not worth the time. */
const COUNTED = 100_000;

const selectNewest = 'select checkpoint_id, closed_at, last_seq from checkpoints order by checkpoint_id desc limit 1';
const selectUnsealed = `select (select ts from ledger where seq > ? order by seq limit 1) as oldest,
  (select count(*) from (select 1 from ledger where seq > ? limit ${COUNTED})) as unsealed`;
const selectOutbox = `select (select queueing from outbox_queueing) as queueing, count(*) as waiting,
  count(*) filter (where failures > 0) as failing,
  (select ts from ledger where seq = (select min(seq) from outbox)) as oldest
  from (select failures from outbox limit ${COUNTED})`;

function sealingBacklog(run: Run): SealingBacklog {
  const [checkpoint] = run<{ checkpoint_id: number; closed_at: Instant; last_seq: number }>(selectNewest).rows;
  const sealed = checkpoint?.last_seq ?? 0;
  const [open] = run<{ oldest: Instant | null; unsealed: number }>(selectUnsealed, [sealed, sealed]).rows;
  return {
    oldestUnsealedAt: open?.oldest ?? undefined,
    unsealed: open?.unsealed ?? 0,
    newestCheckpoint: checkpoint && { checkpointId: checkpoint.checkpoint_id, closedAt: checkpoint.closed_at },
  };
}

function outboxBacklog(run: Run): OutboxBacklog {
  const [row] = run<{ queueing: number; waiting: number; failing: number; oldest: Instant | null }>(selectOutbox).rows;
  return {
    queueing: row?.queueing === 1,
    waiting: row?.waiting ?? 0,
    failing: row?.failing ?? 0,
    oldestAt: row?.oldest ?? undefined,
  };
}
