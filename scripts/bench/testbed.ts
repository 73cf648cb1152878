/** The environment of a benchmark: an identity provider, and Mandate with temporary databases. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import { type Cleanup, withCleanup } from '../cleanup.ts';
import { createDatabase, type Engine, type TemporaryPostgres } from '../temporary-database.ts';
import { type MandateUnderTest, type Start, startMandateUnderTest } from './mandate.ts';
import { type Peer, startPeer } from './peer.ts';
import type { PeerDatabase } from './peer-storage.ts';
import { subjectTokens } from './subject-tokens.ts';

export interface Testbed {
  /** Starts Mandate with a new database. */
  start(engine: Engine, start?: Start): Promise<Started>;
  /** Starts the peer in memory. */
  peerInMemory(): Promise<Peer>;
  readonly cleanup: Cleanup;
}

export interface Started extends MandateUnderTest {
  /** A libpq URI of the superuser. `undefined` on SQLite. */
  readonly postgresUri: string | undefined;
  /** The file of the database. `undefined` on Postgres. */
  readonly sqliteFile: string | undefined;
  /** Starts the peer that stores, on the same Postgres server or with another SQLite file. */
  peerThatStores(): Promise<Peer>;
}

const NAMES = { sqlite: 'SQLite', postgres: 'Postgres' } as const;

/** Runs the work, then stops all servers and removes all files. */
export function withTestbed(work: (testbed: Testbed) => Promise<void>): Promise<void> {
  return withCleanup(async (cleanup) => {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-bench-'));
    cleanup(() => rmSync(folder, { recursive: true, force: true }));
    const provider = await startIdentityProvider({ algorithm: 'RS256' });
    cleanup(() => provider.stop());
    const tokens = subjectTokens(provider);
    const peer = async (...storing: Parameters<typeof startPeer>): Promise<Peer> => {
      const started = await startPeer(...storing);
      cleanup(started.stop);
      return started;
    };
    await work({
      cleanup,
      peerInMemory: () => peer(),
      async start(engine, start) {
        const home = mkdtempSync(join(folder, `${engine}-`));
        const database = await createDatabase(engine, { folder: home, cleanup, durable: true });
        const pid = database.postgres && (await postmasterPid(database.postgres));
        const name = NAMES[engine];
        const mandate = await startMandateUnderTest({ name, pid, settings: database.settings }, tokens, home, start);
        cleanup(mandate.process.stop);
        const sqliteFile = database.settings.Service__Database__Path;
        const postgresUri = database.postgres?.uri;
        const own: PeerDatabase =
          postgresUri === undefined
            ? { engine: 'sqlite', path: join(home, 'peer.db') }
            : { engine: 'postgres', uri: postgresUri };
        return {
          ...mandate,
          postgresUri,
          sqliteFile,
          peerThatStores: () => peer({ name, database: own, databasePid: pid, subjectTokens: tokens }),
        };
      },
    });
  });
}

async function postmasterPid({ query }: TemporaryPostgres): Promise<number> {
  const [row] = await query('show data_directory');
  return Number(readFileSync(join(String(row?.data_directory), 'postmaster.pid'), 'utf8').split('\n')[0]);
}
