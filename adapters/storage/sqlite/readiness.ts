/** Checks whether SQLite can take decisions: the file answers, its schema is current, and a write transaction begins. */

import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import { describeSchema } from '../rows/migrations.ts';
import type { Connection } from './connection.ts';
import { readSchemaStatus } from './migrate.ts';
import { NO_ANSWER } from './no-answer.ts';

const NO_WRITES = {
  status: 'Unhealthy',
  detail: 'SQLite takes no writes: the file is read-only, or another process holds its write lock.',
} as const;

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
  try {
    const schema = describeSchema(await readSchemaStatus(connection));
    if (schema.status === 'Unhealthy') return schema;
    try {
      // An empty transaction (BEGIN IMMEDIATE, COMMIT) writes nothing, but fails if a decision would fail.
      await connection.write(() => undefined);
    } catch {
      return NO_WRITES;
    }
    return schema;
  } catch {
    return NO_ANSWER;
  }
}
