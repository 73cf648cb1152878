/**
 * Checks whether Postgres can take decisions. It must answer, accept writes and have the current schema. The ledger must
 * have this month's partition, and its sequence must be ahead of its records. The replica is `Degraded`
 * if the decisions of this process fail, if a lock keeps the check waiting, or if a page had a wrong checksum in the last hour.
 * The check has its own connections with short limits. Concurrent checks share one run.
 */

import pg from 'pg';
import { type DatabaseFault, describeFault, StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Clock, ReadinessCheck } from '../../../application/ports/runtime.ts';
import {
  DAMAGED_PAGES,
  DECISIONS_FAIL,
  describeDamage,
  describeLockHolders,
  NUMBERS_BEYOND,
  type PageDamage,
} from '../../../application/ports/storage.ts';
import { type DecisionOutcomes, describeFailing, READS_GO_ON } from '../decision-outcomes.ts';
import { WENT_BACK } from '../ledger-memory.ts';
import { selectBeyond } from '../rows/ledger-row.ts';
import { describeSchema } from '../rows/migrations.ts';
import { pageDamage } from './damaged-pages.ts';
import { hasCode, LOCK_NOT_AVAILABLE, NotThePrimary, READ_ONLY, WentBack } from './errors.ts';
import { CHECK_VIOLATION, IS_SET_BACK, NUMBERS_SET_BACK, SETVAL, UNIQUE_VIOLATION } from './faults.ts';
import { partitionOf, readSchemaStatus } from './migrate.ts';
import type { Connections, ServingPools } from './pool/pool.ts';
import { awaitingStandby, doLocksStopIntrospection, lockHolders } from './waits.ts';

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

/**
 * Locks no row, but a read-only server refuses it. The next check then uses a new connection (`losesConnection`). It fails
 * where introspection fails for a table or right that is missing: this replica then serves nothing.
 */
const lockNothing = {
  name: 'lock_nothing',
  text: `select from tasks t left join agents a using (agent_id) left join revoked_tokens r on r.jti = ''
    limit 0 for share of t`,
};

const hasPartition = {
  name: 'has_partition',
  text: `select exists (
    select from pg_inherits where inhrelid = to_regclass($1) and inhparent = to_regclass('ledger')
  ) as there`,
};

export const isSetBack = { name: 'is_set_back', text: `select ${IS_SET_BACK} as set_back` };

export const isBeyond = { name: 'is_beyond', text: selectBeyond('select last_number()') };

const ARE_SET_BACK = `The sequence ledger_seq was set back below numbers that are taken, so records are refused, and nothing is sealed; as the owner, run \`${SETVAL}\`.`;

const IS_READ_ONLY = 'Postgres is read-only: a standby, or told so by its operator. Nothing can be decided.';

/**
 * Causes for which recent decisions may have failed, but which the check has just ruled out: read-only, a sequence that
 * was set back, a missing partition.
 */
const RULED_OUT = new Set([READ_ONLY, UNIQUE_VIOLATION, CHECK_VIOLATION]);

/** The check reads these without asking the server. */
export interface Watched {
  readonly outcomes: Pick<DecisionOutcomes, 'failing'>;
  readonly primary: ServingPools['primary'];
  /** Creates the partition of the month. */
  readonly makePartitions: () => void;
}

export function postgresReadiness(
  connections: Connections,
  clock: Clock,
  { outcomes, primary, makePartitions }: Watched,
): ReadinessCheck {
  const { run } = connections;
  let asking: Promise<Verdict> | undefined;

  async function ask(): Promise<Verdict> {
    if (primary.wentBack()) return WENT_BACK;
    try {
      const schema = describeSchema(await readSchemaStatus(connections.run));
      if (schema.status === 'Unhealthy') return schema;
      await connections.run(lockNothing);
      const partition = partitionOf(clock.now());
      const { rows } = await connections.run<{ there: boolean }>(hasPartition, [partition]);
      if (rows[0]?.there !== true) {
        makePartitions();
        return { status: 'Unhealthy', detail: `The ledger has no partition ${partition}; run \`mandate migrate\`.` };
      }
      const beyond = await connections.run<{ beyond: boolean }>(isBeyond);
      if (beyond.rows[0]?.beyond === true) return { status: 'Unhealthy', detail: NUMBERS_BEYOND };
      const sequence = await connections.run<{ set_back: boolean | null }>(isSetBack);
      if (sequence.rows[0]?.set_back === true) return { status: 'Unhealthy', detail: ARE_SET_BACK };
      const fault = outcomes.failing();
      if (fault !== undefined && fault !== NUMBERS_SET_BACK && !RULED_OUT.has(fault.code)) return await explain(fault);
      const damage = await pageDamage(connections.run);
      return damage?.isRecent === true ? describeDamaged(damage) : schema;
    } catch (error) {
      if (error instanceof WentBack) return WENT_BACK;
      if (error instanceof NotThePrimary) {
        return { status: 'Unhealthy', detail: `${error.message}: ${error.fault?.meaning}.` };
      }
      if (hasCode(error, READ_ONLY)) return { status: 'Unhealthy', detail: IS_READ_ONLY };
      const fault = error instanceof StorageUnavailable ? error.fault : undefined;
      return fault?.code === LOCK_NOT_AVAILABLE ? explain(fault).catch(unanswered) : unanswered(error);
    }
  }

  /** Says why decisions fail. Reads only catalogs, which no lock on our tables keeps waiting. */
  async function explain(fault: DatabaseFault): Promise<Verdict> {
    const sessions = await awaitingStandby(run);
    if (sessions > 0) return degraded(`${describeAwaiting(sessions)} ${READS_GO_ON}`);
    if (fault.code !== LOCK_NOT_AVAILABLE) return describeFailing(fault);
    const holders = await lockHolders(run);
    const held = holders.length === 0 ? '' : `: ${describeLockHolders(holders)}`;
    const reads = (await doLocksStopIntrospection(run)) ? 'Introspection waits for it too.' : READS_GO_ON;
    return degraded(`${describeFault(fault)}${held}. ${reads}`);
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

const describeDamaged = (damage: PageDamage): Verdict => ({
  status: 'Degraded',
  detail: `${describeDamage(damage)} Requests that read them get 503. ${DAMAGED_PAGES}`,
});

const degraded = (detail: string): Verdict => ({ status: 'Degraded', detail: `${DECISIONS_FAIL} ${detail}` });

function describeAwaiting(sessions: number): string {
  return `their commits wait for a synchronous standby, in ${sessions} ${sessions === 1 ? 'session' : 'sessions'}.`;
}

/** @param error of a query, or of getting a connection for it */
function unanswered(error: unknown): Verdict {
  if (!(error instanceof StorageUnavailable)) return { status: 'Unhealthy', detail: 'Postgres refused the question.' };
  const { fault, cause } = error;
  if (fault === undefined) return { status: 'Unhealthy', detail: 'Postgres did not answer.' };
  const sentence = cause instanceof pg.DatabaseError ? 'Postgres refused the question' : 'No answer from the database';
  return { status: 'Unhealthy', detail: `${sentence}: ${describeFault(fault)}.` };
}
