/** Opens a Postgres database as the service and its commands do. */

import { openPostgres as open, type PostgresOptions } from '../../adapters/storage/postgres/open.ts';
import type { Storage, StorageSurroundings } from '../../adapters/storage/storage.ts';

export function openPostgres(
  options: Omit<PostgresOptions, 'loadMigrating'>,
  surroundings: StorageSurroundings,
): Promise<Storage> {
  const loadMigrating = () => import('../../adapters/storage/postgres/apply-migrations.ts');
  return open({ ...options, loadMigrating }, surroundings);
}
