/** An empty database for a benchmark or a fault run. */

import { join } from 'node:path';
import pg from 'pg';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../test/support/postgres-server.ts';
import type { Cleanup } from './cleanup.ts';

export type Engine = 'sqlite' | 'postgres';

interface TemporaryDatabase {
  /** Environment variables for the service. */
  readonly settings: Readonly<Record<string, string>>;
  /** `undefined` on SQLite. */
  readonly postgres: TemporaryPostgres | undefined;
}

export interface TemporaryPostgres extends Omit<RunningPostgres, 'server' | 'stop'> {
  /** A libpq URI of the superuser. */
  readonly uri: string;
  /** Runs SQL as the superuser, on a new connection. */
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const NAME = 'mandate';
const OWNER = 'mandate_owner';
const SERVING = 'mandate_serving';

/**
 * @param folder for the file of SQLite
 * @param durable whether Postgres writes each commit to disk (`fsync`). A fault run does not need that, because it kills
 * processes, not the machine
 */
export async function createDatabase(
  engine: Engine,
  {
    folder,
    cleanup,
    durable = false,
  }: { readonly folder: string; readonly cleanup: Cleanup; readonly durable?: boolean },
): Promise<TemporaryDatabase> {
  if (engine === 'sqlite') {
    const settings = { Service__Database__Provider: 'sqlite', Service__Database__Path: join(folder, 'mandate.db') };
    return { settings, postgres: undefined };
  }
  const { server, stop, ...control } = await startPostgresServer({ durable });
  cleanup(stop);
  const administration = server.url(SUPERUSER, 'postgres');
  for (const role of [OWNER, SERVING]) await query(administration, `create role ${role} login`);
  await query(administration, `create database ${NAME} owner ${OWNER}`);
  const uri = server.url(SUPERUSER, NAME);
  return {
    settings: {
      Service__Database__Provider: 'postgres',
      Service__Database__ConnectionString: server.url(SERVING, NAME),
      Service__Database__MigrationConnectionString: server.url(OWNER, NAME),
    },
    postgres: { ...control, uri, query: (sql) => query(uri, sql) },
  };
}

async function query(uri: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: uri });
  // A fault run may cut the connection after the response.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
