/**
 * Every port that SQLite implements, on one connection. Arguments and answers are plain data, so that a port can be
 * asked from another thread.
 */

import type { Storage } from '../storage.ts';
import { sqliteAgents } from './agents.ts';
import { sqliteCheckpoints } from './checkpoints.ts';
import type { Connections } from './connections.ts';
import { sqliteLedger } from './ledger.ts';
import { type OutboxEntries, sqliteOutboxEntries } from './outbox-entries.ts';
import { sqliteProvisionedUsers } from './provisioned-users.ts';
import { sqliteReadiness } from './readiness.ts';
import { sqliteSignals } from './signals.ts';
import { sqliteSponsors } from './sponsors.ts';
import { sqliteSweeping } from './sweeping.ts';
import { sqliteTasks } from './tasks.ts';

export interface SqlitePorts
  extends Pick<
    Storage,
    | 'agents'
    | 'tasks'
    | 'sponsors'
    | 'sweeping'
    | 'signals'
    | 'provisionedUsers'
    | 'ledger'
    | 'checkpoints'
    | 'readiness'
  > {
  /** The port itself is put together of these where its `deliver` can be called (`outbox.ts`). */
  readonly outboxEntries: OutboxEntries;
}

export function sqlitePorts(connections: Connections): SqlitePorts {
  return {
    agents: sqliteAgents(connections),
    tasks: sqliteTasks(connections),
    sponsors: sqliteSponsors(connections),
    sweeping: sqliteSweeping(connections),
    signals: sqliteSignals(connections),
    provisionedUsers: sqliteProvisionedUsers(connections),
    ledger: sqliteLedger(connections),
    checkpoints: sqliteCheckpoints(connections),
    outboxEntries: sqliteOutboxEntries(connections),
    readiness: sqliteReadiness(connections),
  };
}
