/** What `/readyz` says of a schema. */

import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import type { SchemaStatus } from '../storage.ts';

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

/**
 * A schema ahead of this release is no reason to leave the load balancer: older replicas go on serving while a
 * release is rolled out, whose migrations keep them working.
 */
export function describeSchema(status: SchemaStatus): Verdict {
  switch (status) {
    case 'current':
      return { status: 'Healthy', detail: 'The database answers.' };
    case 'ahead':
      return { status: 'Degraded', detail: 'The database was migrated by a newer release.' };
    case 'absent':
    case 'behind':
      return { status: 'Unhealthy', detail: 'The schema is not current; run `mandate migrate`.' };
  }
}
