/**
 * Mocha's global fixtures: they start the resources that all parallel test processes share, and remove them after the
 * run. Tests therefore use no fixed port, path or database name, and do not expect other tests to be idle.
 */

import { preparePostgres } from './databases.ts';
import { sharePostgresServer, stopPostgresServer } from './postgres-server.ts';

/** Mocha calls this with its runner, in the first process only. */
export async function mochaGlobalSetup(this: { isParallelMode(): boolean }): Promise<void> {
  if (!this.isParallelMode()) return;
  await preparePostgres();
  await sharePostgresServer();
}

export async function mochaGlobalTeardown(): Promise<void> {
  await stopPostgresServer();
}
