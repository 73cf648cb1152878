/**
 * This process's knowledge of the primary, the server that decides (docs/decisions/0028-one-primary.md). All pools
 * share one object, because after a failover their connections may reach different servers.
 *
 * Each new connection is examined once. It must reach a primary, on the highest timeline that any connection has seen,
 * whose ledger still holds the records that this process saw. Each promotion raises the timeline. So a connection that
 * stayed on the old primary has a lower one, and is destroyed before its next use.
 */

import pg from 'pg';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type Instant, toShortText } from '../../../domain/instant.ts';
import { isMissing, type LedgerMemory, type RememberedRecord } from '../ledger-memory.ts';
import type { Bound, Rows } from '../rows/column.ts';
import { losesConnection, NotThePrimary, WentBack } from './errors.ts';
import { earlierPrimary, STANDBY } from './faults.ts';

/** The server's process behind a connection. Process ids are used again, so the time of its start belongs to it. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

/** Who answers on a connection. */
export interface Server {
  /** `undefined` if the server does not tell it. */
  readonly timeline: number | undefined;
  readonly backend: Backend;
}

/** Runs one statement. */
export type Ask = <Row>(
  query: { readonly name: string; readonly text: string },
  values?: readonly Bound[],
) => Promise<Rows<Row>>;

export interface KnownPrimary {
  /**
   * Examines a new connection. If this throws, the caller destroys the connection.
   *
   * @param ask runs a statement on the connection
   * @throws NotThePrimary, WentBack
   */
  examine(ask: Ask): Promise<Server>;
  /** Whether another connection has seen a later primary than this server. */
  isOutdated(server: Server): boolean;
  /** Remembers a primary that a connection outside of the pools reached. Whether it is later than all that were seen. */
  sawElsewhere(server: Pick<Server, 'timeline'>): boolean;
  /** Whether the database went back in time. It stays `true` until the process restarts. */
  wentBack(): boolean;
  /** Remembers a record that this process committed. */
  committed(record: RememberedRecord): void;
}

export interface IdentityRow {
  readonly standby: boolean;
  readonly timeline: string | null;
  readonly pid: number;
  readonly started_at: string;
}

const identity = (timeline: string) => ({
  name: 'server_identity',
  text: `select pg_is_in_recovery() as standby, ${timeline} as timeline, pid, backend_start::text as started_at
    from pg_stat_get_activity(pg_backend_pid())`,
});

/** The name of a WAL file begins with the timeline, in hexadecimal. A standby refuses to name it. */
export const IDENTITY = identity(
  'case when pg_is_in_recovery() then null else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end',
);
const WITHOUT_TIMELINE = { ...identity('null'), name: 'server_identity_without_timeline' };

/** Feature not supported, function does not exist, no right to it. */
const NO_TIMELINE = new Set(['0A000', '42883', '42501']);

interface MemoryRow {
  /** The hash of the record that has the remembered number now. */
  readonly found: string | null;
  readonly seq: number | null;
  readonly ts: Instant | null;
  readonly hash: string | null;
}

/** Only tampering stores a larger number, which would be read as another one. Readiness names it. */
const MOST = Number.MAX_SAFE_INTEGER;

/**
 * The record with the remembered number ($1), and the newest record. If two records have that number, the one with the
 * remembered hash ($2).
 */
const remembered = {
  name: 'remembered_records',
  text: `select
      (select hash from ledger, record_hash(ledger) hash where seq = $1::bigint order by hash = $2::text desc limit 1) as found,
      newest.seq, newest.ts, newest.hash
    from (select) one left join lateral (
      select seq, ts, record_hash(ledger) as hash from ledger where seq <= ${MOST} order by seq desc limit 1
    ) newest on true`,
};

export function knownPrimary(memory: LedgerMemory, log: Log): KnownPrimary {
  let highest: number | undefined;
  let isWarned = false;

  async function readIdentity(ask: Ask): Promise<IdentityRow> {
    const { rows } = await ask<IdentityRow>(IDENTITY).catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError && NO_TIMELINE.has(error.code ?? ''))) throw error;
      if (!isWarned) log.warn('the database does not report its timeline: a failover is not noticed');
      isWarned = true;
      return ask<IdentityRow>(WITHOUT_TIMELINE);
    });
    if (rows[0] === undefined) throw new Error('Postgres did not tell who it is');
    return rows[0];
  }

  /** @throws NotThePrimary */
  function admit(timeline: number | undefined): void {
    if (timeline === undefined) return;
    if (highest !== undefined && timeline < highest) throw new NotThePrimary(earlierPrimary(timeline, highest));
    if (highest !== undefined && timeline > highest) {
      log.warn('another database server was promoted to primary', { timeline, before: highest });
    }
    highest = timeline;
  }

  /** @throws WentBack */
  async function compareLedger(ask: Ask): Promise<void> {
    const known = memory.newest();
    const row = await ask<MemoryRow>(remembered, [known?.seq ?? null, known?.hash ?? null]).then(
      ({ rows }) => rows[0],
      (error: unknown) => {
        // Before `mandate migrate` there is no ledger, and nothing to remember.
        if (known === undefined && !losesConnection(error)) return undefined;
        throw error;
      },
    );
    if (row === undefined) return;
    if (known !== undefined && isMissing(known, row.found ?? undefined)) {
      memory.missing();
      log.error('the database went back in time: nothing is decided until a restart', new WentBack(), {
        seq: known.seq,
        at: toShortText(known.ts),
      });
      throw new WentBack();
    }
    if (row.seq !== null && row.ts !== null && row.hash !== null)
      memory.saw({ seq: row.seq, ts: row.ts, hash: row.hash });
  }

  return {
    async examine(ask) {
      const { standby, timeline, pid, started_at: startedAt } = await readIdentity(ask);
      if (standby) throw new NotThePrimary(STANDBY);
      const server = {
        timeline: parseTimeline(timeline),
        backend: { pid, startedAt },
      };
      admit(server.timeline);
      await compareLedger(ask);
      return server;
    },
    sawElsewhere({ timeline }) {
      if (timeline === undefined || highest === undefined || timeline <= highest) return false;
      admit(timeline);
      return true;
    },
    isOutdated: ({ timeline }) => timeline !== undefined && highest !== undefined && timeline < highest,
    wentBack: () => memory.wentBack(),
    committed: memory.saw,
  };
}

export function parseTimeline(text: string | null): number | undefined {
  return text === null ? undefined : Number.parseInt(text, 16);
}
