/**
 * Checks whether Postgres can take decisions. It must answer, accept writes, have space and have the current schema. The ledger must
 * have this month's partition, and its sequence must be ahead of its records. The check has its own connections with short
 * limits. Concurrent checks share one run.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Clock, ReadinessCheck } from '../../../application/ports/runtime.ts';
import { NUMBERS_BEYOND } from '../../../application/ports/storage.ts';
import { FAILED_WRITE_MS, type Writes } from '../last-writes.ts';
import { WENT_BACK } from '../ledger-memory.ts';
import { selectBeyond } from '../rows/ledger-row.ts';
import { describeSchema } from '../rows/migrations.ts';
import type { Connections } from './connections.ts';
import { isReadOnly, NotThePrimary, WentBack } from './errors.ts';
import { partitionOf, readSchemaStatus } from './migrate.ts';
import type { KnownPrimary } from './primary.ts';

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

/** Locks no row, but a read-only server refuses it. The next check then uses a new connection (`losesConnection`). */
const lockNothing = { name: 'lock_nothing', text: 'select from tasks limit 0 for share' };

const hasPartition = {
  name: 'has_partition',
  text: `select exists (
    select from pg_inherits where inhrelid = to_regclass($1) and inhparent = to_regclass('ledger')
  ) as there`,
};

const HIGHEST = 'greatest((select max(seq) from ledger), (select max(last_seq) from checkpoints))';

export const isSetBack = { name: 'is_set_back', text: `select last_number() < ${HIGHEST} as set_back` };

export const isBeyond = { name: 'is_beyond', text: selectBeyond('select last_number()') };

const SET_BACK = `The sequence ledger_seq was set back below numbers that are taken, so nothing is recorded; as the owner, run \`select pg_catalog.setval('ledger_seq', ${HIGHEST})\`.`;

const READ_ONLY = 'Postgres is read-only: a standby, or told so by its operator. Nothing can be decided.';

const DISK_FULL = 'A disk of the Postgres server is full: it refused to write a moment ago.';

export function postgresReadiness(
  connections: Connections,
  clock: Clock,
  writes: Pick<Writes, 'failedWithin'>,
  primary: Pick<KnownPrimary, 'wentBack'>,
): ReadinessCheck {
  let asking: Promise<Verdict> | undefined;

  async function ask(): Promise<Verdict> {
    if (primary.wentBack()) return WENT_BACK;
    try {
      const schema = describeSchema(await readSchemaStatus(connections));
      if (schema.status === 'Unhealthy') return schema;
      await connections.run(lockNothing);
      if (writes.failedWithin(FAILED_WRITE_MS)) return { status: 'Unhealthy', detail: DISK_FULL };
      const partition = partitionOf(clock.now());
      const { rows } = await connections.run<{ there: boolean }>(hasPartition, [partition]);
      if (rows[0]?.there !== true) {
        return { status: 'Unhealthy', detail: `The ledger has no partition ${partition}; run \`mandate migrate\`.` };
      }
      const beyond = await connections.run<{ beyond: boolean }>(isBeyond);
      if (beyond.rows[0]?.beyond === true) return { status: 'Unhealthy', detail: NUMBERS_BEYOND };
      const sequence = await connections.run<{ set_back: boolean | null }>(isSetBack);
      return sequence.rows[0]?.set_back === true ? { status: 'Unhealthy', detail: SET_BACK } : schema;
    } catch (error) {
      if (error instanceof WentBack) return WENT_BACK;
      if (error instanceof NotThePrimary) return { status: 'Unhealthy', detail: `${error.message}.` };
      if (isReadOnly(error)) return { status: 'Unhealthy', detail: READ_ONLY };
      const detail =
        error instanceof StorageUnavailable ? 'Postgres did not answer.' : 'Postgres refused the question.';
      return { status: 'Unhealthy', detail };
    }
  }

  return {
    name: 'database',
    check() {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
  };
}
