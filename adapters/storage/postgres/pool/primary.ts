/**
 * This process's knowledge of the primary, the server that decides (docs/decisions/0028-one-primary.md). All pools
 * share one object, because after a failover their connections may reach different servers.
 *
 * Each new connection is examined once. It must reach a primary, on the highest timeline that any connection has seen,
 * whose ledger still holds the records that this process saw. Each promotion raises the timeline. So a connection that
 * stayed on the old primary has a lower one, and is destroyed before its next use.
 */

import type { Log } from '../../../../application/ports/telemetry.ts';
import { type Instant, toShortText } from '../../../../domain/instant.ts';
import { isMissing, type LedgerMemory, type RememberedRecord } from '../../ledger-memory.ts';
import { losesConnection, NotThePrimary, WentBack } from '../errors.ts';
import { earlierPrimary, STANDBY } from '../faults.ts';
import { type Ask, type Capabilities, serverCapabilities } from './capabilities.ts';

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

export function knownPrimary(
  memory: LedgerMemory,
  log: Log,
  capabilities: Pick<Capabilities, 'identity' | 'probe'> = serverCapabilities(log),
): KnownPrimary {
  let highest: number | undefined;

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
      const { standby, timeline, pid, started_at: startedAt } = await capabilities.identity(ask);
      if (standby) throw new NotThePrimary(STANDBY);
      const server = {
        timeline: parseTimeline(timeline),
        backend: { pid, startedAt },
      };
      admit(server.timeline);
      await capabilities.probe(ask);
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
