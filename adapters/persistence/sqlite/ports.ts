/**
 * Every port that SQLite implements, on one connection. Arguments and answers are plain data, so that a port can be
 * asked from another thread.
 */

import type { Storage } from '../storage.ts';
import { sqliteAgents } from './agents.ts';
import type { Connections } from './connections.ts';
import { sqliteLedger } from './ledger.ts';
import { sqliteReadiness } from './readiness.ts';
import { sqliteSponsors } from './sponsors.ts';
import { sqliteTasks } from './tasks.ts';

export type SqlitePorts = Pick<Storage, 'agents' | 'tasks' | 'sponsors' | 'ledger' | 'readiness'>;

export function sqlitePorts(connections: Connections): SqlitePorts {
  return {
    agents: sqliteAgents(connections),
    tasks: sqliteTasks(connections),
    sponsors: sqliteSponsors(connections),
    ledger: sqliteLedger(connections),
    readiness: sqliteReadiness(connections),
  };
}
