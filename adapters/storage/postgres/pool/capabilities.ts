/**
 * What the server offers beyond what decisions need. Each capability only makes a failover noticed sooner, so a process goes on
 * without it. A hosted Postgres may lack one: Aurora answers 55000 while its `wal_level` is not `logical`, others revoke the right.
 * Any other error of these statements is a failure like that of each statement, and refuses the connection or the decision.
 */

import {
  CAPABILITIES,
  type Capability,
  type FailoverCondition,
  type MissingCapability,
} from '../../../../application/ports/storage.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import type { Bound, Rows } from '../../rows/column.ts';
import { serverCode } from '../errors.ts';

/** Runs one statement. */
export type Ask = <Row>(
  query: { readonly name: string; readonly text: string },
  values?: readonly Bound[],
) => Promise<Rows<Row>>;

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

/** Not in a state for it, not supported, no such function, no right to it. */
const LACKING = new Set(['55000', '0A000', '42883', '42501']);

/** Writes to the WAL and to no table, and its commit waits for the synchronous standby. */
const writeMessage = { name: 'write_nothing', text: "select pg_logical_emit_message(true, 'mandate', '')" };
/** No commit waits for such a message. */
const probeMessage = { name: 'probe_message', text: "select pg_logical_emit_message(false, 'mandate', '')" };
/** Postgres refuses all further statements of a transaction in which one failed. */
const beforeMessage = { name: 'before_message', text: 'savepoint before_message' };
const withoutMessage = { name: 'without_message', text: 'rollback to savepoint before_message' };

/** A process has one: it logs each missing capability once. */
export interface Capabilities {
  /** Who answers, with the timeline if the server tells it. */
  identity(ask: Ask): Promise<IdentityRow>;
  /** Logs whether messages are missing. Asks once, on a connection to the primary. */
  probe(ask: Ask): Promise<void>;
  /** Lets the commit of a transaction that wrote nothing wait for the standby, if the server has messages. */
  writeMessage(ask: Ask): Promise<void>;
}

export function serverCapabilities(log: Log): Capabilities {
  const isLogged: Record<Capability, boolean> = { timeline: false, wal_message: false };
  let isProbed = false;

  const offered = async <Answer>(capability: Capability, statement: () => Promise<Answer>) => {
    const attempted = await attempt(capability, statement);
    if ('answer' in attempted) return attempted;
    if (!isLogged[capability]) {
      isLogged[capability] = true;
      const { needs, without } = CAPABILITIES[capability];
      log.warn(`Postgres lacks a capability (${needs}): ${without}`, {
        code: attempted.code,
        page: 'docs/high-availability.md',
      });
    }
    return undefined;
  };

  return {
    async identity(ask) {
      const told = await offered('timeline', () => ask<IdentityRow>(IDENTITY));
      const { rows } = told?.answer ?? (await ask<IdentityRow>(WITHOUT_TIMELINE));
      if (rows[0] === undefined) throw new Error('Postgres did not tell who it is');
      return rows[0];
    },
    async probe(ask) {
      if (isProbed) return;
      await offered('wal_message', () => ask(probeMessage));
      isProbed = true;
    },
    async writeMessage(ask) {
      await ask(beforeMessage);
      const written = await offered('wal_message', () => ask(writeMessage));
      if (written === undefined) await ask(withoutMessage);
    },
  };
}

/** For `mandate doctor`. */
export async function failoverCondition(ask: Ask): Promise<FailoverCondition> {
  const timeline = await attempt('timeline', () => ask<IdentityRow>(IDENTITY));
  const { rows } = 'answer' in timeline ? timeline.answer : await ask<IdentityRow>(WITHOUT_TIMELINE);
  if (rows[0]?.standby !== false) return { isStandby: true, missing: [] };
  const message = await attempt('wal_message', () => ask(probeMessage));
  return { isStandby: false, missing: [timeline, message].filter((one) => 'code' in one) };
}

async function attempt<Answer>(
  capability: Capability,
  statement: () => Promise<Answer>,
): Promise<{ readonly answer: Answer } | MissingCapability> {
  try {
    return { answer: await statement() };
  } catch (error) {
    const code = serverCode(error);
    if (code === undefined || !LACKING.has(code)) throw error;
    return { capability, code };
  }
}
