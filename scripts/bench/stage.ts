/** What a measurement runs on: an identity provider, and Mandate on databases of its own. All of it is gone afterwards. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import { type MandateUnderTest, startMandateUnderTest } from './mandate.ts';
import { startPostgres } from './postgres.ts';

export type Database = 'sqlite' | 'postgres';

export interface Stage {
  /**
   * Mandate on a new database.
   *
   * @param settings beside those of the database, as environment variables
   * @param tasks how many are open from the beginning
   */
  start(database: Database, settings?: Readonly<Record<string, string>>, tasks?: number): Promise<Started>;
  /** To be done in the end, the last that was asked for first. */
  afterwards(step: () => Promise<void> | void): void;
}

export interface Started extends MandateUnderTest {
  /** Of the role that owns a Postgres database. */
  readonly ownerUri: string | undefined;
}

const NAMES = { sqlite: 'SQLite', postgres: 'Postgres' } as const;

export async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-bench-'));
  const undo: (() => Promise<void> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const provider = await startIdentityProvider({ algorithm: 'RS256' });
    undo.push(() => provider.stop());
    await work({
      afterwards: (step) => void undo.push(step),
      async start(database, settings = {}, tasks) {
        const home = mkdtempSync(join(folder, `${database}-`));
        const postgres = database === 'postgres' ? await startPostgres() : undefined;
        if (postgres !== undefined) undo.push(postgres.stop);
        const chosen: Readonly<Record<string, string>> =
          postgres === undefined
            ? { Service__Database__Path: join(home, 'mandate.db') }
            : {
                Service__Database__ConnectionString: postgres.servingUri,
                Service__Database__MigrationConnectionString: postgres.ownerUri,
              };
        const all = { Service__Database__Provider: database, ...chosen, ...settings };
        const mandate = await startMandateUnderTest(NAMES[database], all, provider, home, tasks);
        undo.push(mandate.process.stop);
        return { ...mandate, ownerUri: postgres?.ownerUri };
      },
    });
  } finally {
    await undoAll(undo);
  }
}

/** Backwards, and to the end even when a step fails: no server is to outlive the run. */
async function undoAll(undo: readonly (() => Promise<void> | void)[]): Promise<void> {
  for (const step of undo.toReversed()) {
    try {
      await step();
    } catch (error) {
      console.error(error);
      process.exitCode = 1;
    }
  }
}
