/** The environment of a benchmark: an identity provider, and Mandate with temporary databases. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import { type Cleanup, withCleanup } from '../cleanup.ts';
import { createDatabase, type Engine, type TemporaryPostgres } from '../temporary-database.ts';
import { type MandateUnderTest, startMandateUnderTest } from './mandate.ts';

export interface Testbed {
  /**
   * Starts Mandate with a new database.
   *
   * @param settings environment variables, besides those of the database
   * @param tasks how many tasks are open from the start
   */
  start(engine: Engine, settings?: Readonly<Record<string, string>>, tasks?: number): Promise<Started>;
  readonly cleanup: Cleanup;
}

export interface Started extends MandateUnderTest {
  /** A libpq URI of the superuser. `undefined` on SQLite. */
  readonly postgresUri: string | undefined;
  /** The file of the database. `undefined` on Postgres. */
  readonly sqliteFile: string | undefined;
}

const NAMES = { sqlite: 'SQLite', postgres: 'Postgres' } as const;

/** Runs the work, then stops all servers and removes all files. */
export function withTestbed(work: (testbed: Testbed) => Promise<void>): Promise<void> {
  return withCleanup(async (cleanup) => {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-bench-'));
    cleanup(() => rmSync(folder, { recursive: true, force: true }));
    const provider = await startIdentityProvider({ algorithm: 'RS256' });
    cleanup(() => provider.stop());
    await work({
      cleanup,
      async start(engine, settings = {}, tasks) {
        const home = mkdtempSync(join(folder, `${engine}-`));
        const database = await createDatabase(engine, { folder: home, cleanup, durable: true });
        const all = { ...database.settings, ...settings };
        const pid = database.postgres && (await postmasterPid(database.postgres));
        const mandate = await startMandateUnderTest({ name: NAMES[engine], pid }, all, provider, home, tasks);
        cleanup(mandate.process.stop);
        const sqliteFile = database.settings.Service__Database__Path;
        return { ...mandate, postgresUri: database.postgres?.uri, sqliteFile };
      },
    });
  });
}

async function postmasterPid({ query }: TemporaryPostgres): Promise<number> {
  const [row] = await query('show data_directory');
  return Number(readFileSync(join(String(row?.data_directory), 'postmaster.pid'), 'utf8').split('\n')[0]);
}
