/**
 * The databases of the tests: a SQLite file, SQLite in memory, and a real Postgres. Each `fresh()` creates a database
 * with the schema. On Postgres the serving role does not own the schema, so that a test fails if the role lacks a
 * privilege.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { LIMITS, type Limits, type LimitsByUse } from '../../adapters/storage/postgres/limits.ts';
import { openHandle } from '../../adapters/storage/sqlite/handle.ts';
import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import type { StorageSurroundings } from '../../adapters/storage/storage.ts';
import { instantFromSeconds } from '../../domain/instant.ts';
import { capturedLog } from './captured-log.ts';
import { NOON } from './domain-fixtures.ts';
import { byLength } from './length.ts';
import { memoryFolder } from './memory-folder.ts';
import { movedClock } from './moved-clock.ts';
import { openPostgres } from './open-postgres.ts';
import { postgresIsShared, postgresServer, SUPERUSER } from './postgres-server.ts';
import { type Storage, withMethods } from './storage.ts';

export interface FreshDatabase {
  /** The settings of a service that uses the database. */
  readonly settings: Readonly<Record<string, string>>;
  /** Opens another storage on the same database. The caller closes it. */
  open(options?: OpenOptions): Promise<Storage>;
  /** Opens an SQL connection for the test itself. Absent if the database has only one connection. */
  readonly outside: ((role?: Role) => Promise<OutsideConnection>) | undefined;
  drop(): Promise<void>;
}

interface OpenOptions extends Partial<StorageSurroundings> {
  /** The limits on Postgres, by default TENFOLD_LIMITS. */
  readonly limits?: LimitsByUse;
}

/** A test's own SQL connection. Values have the types of the engine's driver. */
export interface OutsideConnection {
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

/** The roles in Postgres. A SQLite file has no roles. */
export type Role = 'owner' | 'serving' | 'superuser';

export interface TestDatabase {
  readonly name: string;
  readonly engine: 'sqlite' | 'postgres';
  /** @param schema `applied` by default */
  fresh(schema?: 'applied' | 'absent'): Promise<FreshDatabase>;
}

/** For tests whose subject does not depend on the engine. */
export const sqliteFile: TestDatabase = {
  name: 'SQLite',
  engine: 'sqlite',
  async fresh(schema = 'applied') {
    const directory = mkdtempSync(join(memoryFolder(), 'mandate-sqlite-'));
    const path = join(directory, 'mandate.sqlite');
    const open: FreshDatabase['open'] = async (options) =>
      withMethods(await openSqlite({ path }, surroundingsOf(options)));
    if (schema === 'applied') {
      migrated ??= migratedFile();
      writeFileSync(path, await migrated, { mode: 0o600 });
    }
    return {
      settings: { 'Service:Database:Provider': 'sqlite', 'Service:Database:Path': path },
      open,
      outside: async () => outsideSqlite(path),
      drop: async () => rmSync(directory, { recursive: true, force: true }),
    };
  },
};

let migrated: Promise<Uint8Array> | undefined;

/** The bytes of a database file with the schema. */
async function migratedFile(): Promise<Uint8Array> {
  const database = await sqliteFile.fresh('absent');
  await migrateOnce(database.open);
  const path = database.settings['Service:Database:Path'] ?? '';
  const content = readFileSync(path);
  await database.drop();
  return content;
}

/** Exists in one connection only, which no other process or connection can use. */
export const sqliteInMemory: TestDatabase = {
  name: 'SQLite in memory',
  engine: 'sqlite',
  async fresh(schema = 'applied') {
    return {
      settings: {},
      async open(options) {
        const storage = withMethods(await openSqlite({ path: ':memory:' }, surroundingsOf(options)));
        if (schema === 'applied') await storage.migrate();
        return storage;
      },
      outside: undefined,
      drop: async () => undefined,
    };
  },
};

export const postgres: TestDatabase = {
  name: 'Postgres',
  engine: 'postgres',
  async fresh(schema = 'applied') {
    const server = await postgresServer();
    await preparePostgres();
    const name = `mandate_${process.pid}_${++created}`;
    const from = schema === 'applied' ? TEMPLATE : 'template0';
    // The default strategy writes every page to the WAL, and takes three times the CPU time.
    await asSuperuser(`create database ${name} owner ${OWNER} template ${from} strategy = file_copy`);
    const roles = { owner: OWNER, serving: SERVING, superuser: SUPERUSER };
    const connectionString = server.url(SERVING, name);
    const migrationConnectionString = server.url(OWNER, name);
    return {
      settings: {
        'Service:Database:Provider': 'postgres',
        'Service:Database:ConnectionString': connectionString,
        'Service:Database:MigrationConnectionString': migrationConnectionString,
      },
      open: async ({ limits = TENFOLD_LIMITS, ...surroundings } = {}) =>
        withMethods(
          await openPostgres({ connectionString, migrationConnectionString, limits }, surroundingsOf(surroundings)),
        ),
      outside: (role = 'owner') => outsidePostgres(server.url(roles[role], name)),
      drop: () => asSuperuser(`drop database ${name} with (force)`),
    };
  },
};

/** The databases that a separate process can use. */
export const databases: readonly TestDatabase[] = [sqliteFile, postgres];

/**
 * For suites of the whole service: SQLite in `npm test`, both databases in `npm run test:long`. At every push, the contract
 * suites hold that both behave alike.
 */
export const databasesByLength: readonly TestDatabase[] = byLength({ short: [sqliteFile], full: databases });

/** Every database that implements the storage ports. */
export const everyDatabase: readonly TestDatabase[] = [sqliteFile, sqliteInMemory, postgres];

export function freshDatabase(engine: TestDatabase['engine'], schema?: 'applied' | 'absent'): Promise<FreshDatabase> {
  return (engine === 'sqlite' ? sqliteFile : postgres).fresh(schema);
}

/** @throws if only the service can reach the database */
export async function connectOutside(database: FreshDatabase, role?: Role): Promise<OutsideConnection> {
  if (database.outside === undefined) throw new Error('only the service can reach this database');
  return database.outside(role);
}

/**
 * The statement with which a service appends entries on Postgres.
 * @param entries an SQL expression: a JSON array of objects whose members are the columns of `ledger_entry`
 */
export function appendsEntries(entries: string): string {
  return `select append_records(array(select entry from json_populate_recordset(null::ledger_entry, ${entries}) entry))`;
}

const OWNER = 'mandate_owner';
const SERVING = 'mandate_app';
const TEMPLATE = 'mandate_template';

/** Ten times the time limits of the service: on a busy machine a decision may wait long for another one. */
export const TENFOLD_LIMITS: LimitsByUse = {
  serving: tenfold(LIMITS.serving),
  revoking: tenfold(LIMITS.revoking),
  draining: tenfold(LIMITS.draining),
  readiness: tenfold(LIMITS.readiness),
};

function tenfold(limits: Limits): Limits {
  const { acquire, lock, statement, query } = limits;
  return { ...limits, acquire: acquire * 10, lock: lock * 10, statement: statement * 10, query: query * 10 };
}

let template: Promise<void> | undefined;
let created = 0;

/** Runs once per test run, in the process that starts the server. */
export async function preparePostgres(): Promise<void> {
  template ??= postgresIsShared() ? Promise.resolve() : prepareTemplate();
  await template;
}

/** Copying a database with the schema is several times faster than applying the schema. */
async function prepareTemplate(): Promise<void> {
  const server = await postgresServer();
  await asSuperuser(`create role ${OWNER} login`);
  await asSuperuser(`create role ${SERVING} login`);
  await asSuperuser(`create database ${TEMPLATE} owner ${OWNER}`);
  await migrateOnce(async (surroundings) =>
    withMethods(
      await openPostgres(
        {
          connectionString: server.url(SERVING, TEMPLATE),
          migrationConnectionString: server.url(OWNER, TEMPLATE),
          limits: TENFOLD_LIMITS,
        },
        surroundingsOf(surroundings),
      ),
    ),
  );
}

async function migrateOnce(open: FreshDatabase['open']): Promise<void> {
  const storage = await open();
  await storage.migrate();
  // The fixtures have times around NOON, so their partitions must exist.
  await storage.createPartitions(NOON, 2);
  await storage.close();
}

/** By default the clock of Postgres is ahead of every time in a test. So that time alone says whether a task is live. */
const DATABASE_CLOCK = { now: () => instantFromSeconds(9_000_000_000) };

function surroundingsOf(options: OpenOptions = {}): StorageSurroundings {
  const { clock = movedClock(), log = capturedLog(), databaseClock = DATABASE_CLOCK } = options;
  return { clock, log, databaseClock };
}

async function asSuperuser(statement: string): Promise<void> {
  const server = await postgresServer();
  const connection = await outsidePostgres(server.url(SUPERUSER, 'postgres'));
  await connection.sql(statement);
  await connection.close();
}

async function outsidePostgres(connectionString: string): Promise<OutsideConnection> {
  const client = new pg.Client({ connectionString });
  // A test may drop the database or stop the server while this connection is open.
  client.on('error', () => undefined);
  await client.connect();
  return {
    sql: async (text) => (await client.query(text)).rows ?? [],
    close: () => client.end(),
  };
}

function outsideSqlite(path: string): OutsideConnection {
  const connection = openHandle(path);
  return {
    async sql(text) {
      const statement = connection.prepare<Record<string, unknown>>(text);
      if (statement.reader) return statement.all();
      statement.run();
      return [];
    },
    close: async () => {
      connection.close();
    },
  };
}
