/** Opens and ends tasks in a loop and prints their ids, until its parent process kills it. */

import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import { revokeGrant } from '../../application/decisions/revoke-grant.ts';
import { capturedLog } from '../support/captured-log.ts';
import { TENFOLD_LIMITS } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { openPostgres } from '../support/open-postgres.ts';
import { withMethods } from '../support/storage.ts';
import { anOpening, aRevocation, registeredAgent } from './storage-fixtures.ts';

const settings: Readonly<Record<string, string>> = JSON.parse(process.env.SETTINGS ?? '{}');
const surroundings = { clock: { now: () => NOON }, log: capturedLog() };
const path = settings['Service:Database:Path'];
const storage = withMethods(
  path === undefined
    ? await openPostgres(
        { connectionString: settings['Service:Database:ConnectionString'] ?? '', limits: TENFOLD_LIMITS },
        surroundings,
      )
    : await openSqlite({ path }, surroundings),
);

const agent = await registeredAgent(storage);

async function decide(): Promise<never> {
  for (;;) {
    const opening = anOpening(agent);
    const { kind } = await storage.tasks.open(opening);
    if (kind !== 'opened') throw new Error(`the task was not opened: ${kind}`);
    process.stdout.write(`opened ${opening.task.taskId}\n`);
    const verdict = await storage.decide(revokeGrant, aRevocation(opening));
    if (verdict !== 'revoked') throw new Error(`the task was not ended: ${verdict}`);
    process.stdout.write(`ended ${opening.task.taskId}\n`);
  }
}

await Promise.all(Array.from({ length: 20 }, decide));
