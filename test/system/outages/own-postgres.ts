/** A separate Postgres with one database with the schema, for tests that stop, freeze or fill the server. */

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { capturedLog } from '../../support/captured-log.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { openPostgres } from '../../support/open-postgres.ts';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../../support/postgres-server.ts';
import { withMethods } from '../../support/storage.ts';

export interface Occupied {
  /** How many connections were free before. */
  readonly connections: number;
  leave(): Promise<void>;
}

export interface OwnPostgres {
  readonly postgres: RunningPostgres;
  /** A database of which every `fresh()` returns the same one. */
  readonly database: TestDatabase;
  /** Runs a statement as the superuser, for whom Postgres reserves connections. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Takes all free connections. */
  occupy(): Promise<Occupied>;
  /** Ends all sessions of the service. Resolves after they have ended. */
  terminate(): Promise<void>;
  /** The number of sessions of the service. */
  sessions(): Promise<number>;
}

export const DATABASE = 'mandate';
/** More than one service uses. */
const MAX_CONNECTIONS = 40;
const POLL_MS = 5;

export async function ownPostgres(): Promise<OwnPostgres> {
  const postgres = await startPostgresServer({ maxConnections: MAX_CONNECTIONS });
  const url = (role: string) => postgres.server.url(role, DATABASE);
  const ask = async (connectionString: string, text: string) => {
    const client = await connected(connectionString);
    const { rows } = await client.query(text);
    await client.end();
    return rows;
  };
  for (const statement of [
    'create role owning login',
    'create role serving login',
    'create database mandate owner owning',
  ]) {
    await ask(postgres.server.url(SUPERUSER, 'postgres'), statement);
  }
  const open: Awaited<ReturnType<TestDatabase['fresh']>>['open'] = async ({ limits, ...surroundings } = {}) =>
    withMethods(
      await openPostgres(
        { connectionString: url('serving'), migrationConnectionString: url('owning'), limits },
        { clock: movedClock(), log: capturedLog(), ...surroundings },
      ),
    );
  const storage = await open();
  await storage.migrate();
  await storage.close();
  const sql = (text: string) => ask(url(SUPERUSER), text);
  return {
    postgres,
    sql,
    database: {
      name: 'a separate Postgres',
      engine: 'postgres',
      fresh: async () => ({
        settings: {
          'Service:Database:Provider': 'postgres',
          'Service:Database:ConnectionString': url('serving'),
          'Service:Database:MigrationConnectionString': url('owning'),
        },
        open,
        outside: undefined,
        drop: async () => undefined,
      }),
    },
    async occupy() {
      const clients: pg.Client[] = [];
      for (;;) {
        try {
          clients.push(await connected(url('owning')));
        } catch {
          return {
            connections: clients.length,
            leave: async () => void (await Promise.all(clients.map((client) => client.end()))),
          };
        }
      }
    },
    async sessions() {
      const [row] = await sql("select count(*) as sessions from pg_stat_activity where application_name = 'mandate'");
      return Number(row?.sessions);
    },
    async terminate() {
      const told = await sql(
        `select pid, pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mandate'`,
      );
      const pids = ['null', ...told.map(({ pid }) => pid)].join();
      while ((await sql(`select pid from pg_stat_activity where pid in (${pids})`)).length > 0) await pause(POLL_MS);
    },
  };
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
