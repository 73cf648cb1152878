/**
 * Mocha's global fixtures. `npm test` and `npm run test:long` run each test file in one of several processes at a time.
 * These start once what all of them share, and clear it away when the run is over. So a test takes no fixed port, no
 * fixed path and no fixed name of anything in the shared Postgres outside of its own database, and expects nobody else
 * to be idle.
 */

import { preparePostgres } from './databases.ts';
import { sharePostgresServer, stopPostgresServer } from './postgres-server.ts';

/** Mocha calls it with its runner, in the first process only. */
export async function mochaGlobalSetup(this: { isParallelMode(): boolean }): Promise<void> {
  if (!this.isParallelMode()) return;
  await preparePostgres();
  await sharePostgresServer();
}

export async function mochaGlobalTeardown(): Promise<void> {
  await stopPostgresServer();
}
