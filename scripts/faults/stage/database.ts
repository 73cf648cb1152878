/** A database of a run's own, migrated, and what can be done to it. */

import { join } from 'node:path';
import pg from 'pg';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../../../test/support/postgres-server.ts';

export type Engine = 'sqlite' | 'postgres';

export interface StageDatabase {
  /** By the settings' keys. */
  readonly settings: Readonly<Record<string, string>>;
  /** Asks as its superuser; only on Postgres. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly postgres: RunningPostgres | undefined;
  stop(): Promise<void>;
}

const NAME = 'mandate';
const OWNER = 'mandate_owner';
const SERVING = 'mandate_serving';

export async function openDatabase(engine: Engine, folder: string): Promise<StageDatabase> {
  if (engine === 'sqlite') {
    return {
      settings: {
        'Service:Database:Provider': 'sqlite',
        'Service:Database:Path': join(folder, 'mandate.sqlite'),
      },
      sql: () => Promise.reject(new Error('there is nobody to ask beside the service')),
      postgres: undefined,
      stop: async () => undefined,
    };
  }
  // A commit that is answered must outlive the server's process, not the machine's power: nothing here can cut that.
  const postgres = await startPostgresServer();
  const { server } = postgres;
  for (const role of [OWNER, SERVING]) await ask(server.url(SUPERUSER, 'postgres'), `create role ${role} login`);
  await ask(server.url(SUPERUSER, 'postgres'), `create database ${NAME} owner ${OWNER}`);
  return {
    settings: {
      'Service:Database:Provider': 'postgres',
      'Service:Database:ConnectionString': server.url(SERVING, NAME),
      'Service:Database:MigrationConnectionString': server.url(OWNER, NAME),
    },
    sql: (text) => ask(server.url(SUPERUSER, NAME), text),
    postgres,
    stop: postgres.stop,
  };
}

async function ask(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows ?? [];
  } finally {
    await client.end();
  }
}
