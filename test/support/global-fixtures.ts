/**
 * Mocha's global fixtures start what all parallel test processes share, and remove it after the run. Test files run in
 * parallel, so they use no fixed port, path or database name.
 */

import { preparePostgres } from './databases.ts';
import { sharePostgresServer, stopPostgresServer } from './postgres-server.ts';

/** Mocha calls this function in the first process only, with its runner as `this`. */
export async function mochaGlobalSetup(this: { isParallelMode(): boolean }): Promise<void> {
  if (!this.isParallelMode()) return;
  await preparePostgres();
  await sharePostgresServer();
}

export async function mochaGlobalTeardown(): Promise<void> {
  await stopPostgresServer();
}
