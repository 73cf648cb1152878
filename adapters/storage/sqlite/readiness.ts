/**
 * Checks whether SQLite can take decisions: the path names the opened file, which answers, holds the newest record that was
 * seen, and has the current schema; the last decision could be written, and so can a row.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import { NUMBERS_BEYOND } from '../../../application/ports/storage.ts';
import { describeFailing } from '../decision-outcomes.ts';
import { WENT_BACK } from '../ledger-memory.ts';
import { describeSchema, MIGRATIONS_TABLE } from '../rows/migrations.ts';
import { isBeyond } from './append.ts';
import type { Connection } from './connection.ts';
import { WRITE_PROBE_MS } from './limits.ts';
import { readSchemaStatus } from './migrate.ts';
import { NO_ANSWER } from './no-answer.ts';
import { OVERWRITTEN, REPLACED } from './opened-file.ts';

/** SQLite does not write a page whose content stays the same, so an update to the same values would write nothing. */
const PROBE = [
  `insert into ${MIGRATIONS_TABLE} (name, batch) values ('probe', 0)`,
  `delete from ${MIGRATIONS_TABLE} where name = 'probe'`,
] as const;

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

/** Concurrent checks share one query: `/readyz` has no rate limit, and the query waits in the same queue as decisions. */
export function sqliteReadiness(connection: Connection): Pick<ReadinessCheck, 'check'> {
  let running: Promise<Verdict> | undefined;
  return {
    check() {
      running ??= ask(connection).finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

async function ask(connection: Connection): Promise<Verdict> {
  const { file, outcomes } = connection;
  try {
    if (connection.wasOverwritten()) return OVERWRITTEN;
    if (file?.wasReplaced()) return REPLACED;
    const schema = describeSchema(await readSchemaStatus(connection));
    if (schema.status === 'Unhealthy') return schema;
    if (await connection.read(isBeyond)) return { status: 'Unhealthy', detail: NUMBERS_BEYOND };
    // On a nearly full disk a row can be written when a decision cannot.
    const failing = outcomes.failing();
    if (failing !== undefined) return describeFailing(failing);
    try {
      await connection.write((run) => {
        // Even an empty transaction (BEGIN IMMEDIATE, COMMIT) fails if another process holds the write lock.
        if (!outcomes.committedWithin(WRITE_PROBE_MS)) for (const statement of PROBE) run(statement);
      });
    } catch (error) {
      if (connection.wentBack()) return WENT_BACK;
      if (connection.wasOverwritten()) return OVERWRITTEN;
      if (file?.wasReplaced()) return REPLACED;
      const fault = error instanceof StorageUnavailable ? error.fault : undefined;
      return fault === undefined ? NO_ANSWER : describeFailing(fault);
    }
    return schema;
  } catch {
    if (connection.wentBack()) return WENT_BACK;
    return connection.wasOverwritten() ? OVERWRITTEN : NO_ANSWER;
  }
}
