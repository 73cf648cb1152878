/** All that the thread of a SQLite database does for the main thread. */

import type { Backlog } from '../../../application/ports/storage.ts';
import { outboxBacklog, sealingBacklog } from './backlog.ts';
import { sqliteCondition } from './condition.ts';
import type { Connections } from './connections.ts';
import { migrateSqlite } from './migrate.ts';
import { sqlitePorts } from './ports.ts';
import { readSchemaStatus } from './schema-status.ts';

export function served(connections: Connections) {
  return {
    ports: sqlitePorts(connections),
    condition: sqliteCondition(connections),
    backlog: () => connections.read((run): Backlog => ({ sealing: sealingBacklog(run), outbox: outboxBacklog(run) })),
    schema: {
      status: () => readSchemaStatus(connections),
      migrate: () => migrateSqlite(connections.knex),
    },
  };
}

export type Served = ReturnType<typeof served>;
