/** Whether SQLite can take decisions now: the file answers and its schema is ours. */

import type { ReadinessCheck } from '../../../application/ports/readiness.ts';
import { describeSchema } from '../sql/readiness.ts';
import type { Connections } from './connections.ts';
import { readSchemaStatus } from './schema-status.ts';

export const NO_ANSWER = { status: 'Unhealthy', detail: 'SQLite did not answer.' } as const;

export function sqliteReadiness(connections: Connections): ReadinessCheck {
  return {
    name: 'database',
    async check() {
      try {
        return describeSchema(await readSchemaStatus(connections));
      } catch {
        return NO_ANSWER;
      }
    },
  };
}
