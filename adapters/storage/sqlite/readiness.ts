/** Whether SQLite can take decisions now: the file answers, its schema is ours, and it takes a write transaction. */

import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import { describeSchema } from '../rows/readiness.ts';
import type { Connections } from './connections.ts';
import { readSchemaStatus } from './schema-status.ts';

export const NO_ANSWER = { status: 'Unhealthy', detail: 'SQLite did not answer.' } as const;

const NO_WRITES = {
  status: 'Unhealthy',
  detail: 'SQLite takes no writes: the file is read-only, or another process holds its write lock.',
} as const;

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

/** One question for all that ask meanwhile: `/readyz` is not limited, and the question waits in line with decisions. */
export function sqliteReadiness(connections: Connections): ReadinessCheck {
  let asking: Promise<Verdict> | undefined;
  return {
    name: 'database',
    check() {
      asking ??= ask(connections).finally(() => {
        asking = undefined;
      });
      return asking;
    },
  };
}

async function ask(connections: Connections): Promise<Verdict> {
  try {
    const schema = describeSchema(await readSchemaStatus(connections));
    if (schema.status === 'Unhealthy') return schema;
    try {
      // BEGIN IMMEDIATE and COMMIT: writes nothing, and is refused as a decision would be.
      await connections.decide(() => undefined);
    } catch {
      return NO_WRITES;
    }
    return schema;
  } catch {
    return NO_ANSWER;
  }
}
