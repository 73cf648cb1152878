/** Mocha's global fixtures: what a whole run shares is cleared away when it is over. */

import { stopPostgresServer } from './postgres-server.ts';

export async function mochaGlobalTeardown(): Promise<void> {
  await stopPostgresServer();
}
