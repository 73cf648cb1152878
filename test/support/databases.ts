/**
 * The databases that suites run on, as data: a SQLite file, SQLite in memory, a real Postgres. Each `fresh()` is a
 * database of its own with the schema applied. On Postgres the role that serves is not the one that owns the schema,
 * so that whatever it lacks a right for fails somewhere.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { LIMITS, type Limits, type LimitsByUse } from '../../adapters/storage/postgres/limits.ts';
import { openPostgres } from '../../adapters/storage/postgres/open.ts';
import { openHandle } from '../../adapters/storage/sqlite/handle.ts';
import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import type { StorageSurroundings } from '../../adapters/storage/storage.ts';
import { capturedLog } from './captured-log.ts';
import { NOON } from './domain-fixtures.ts';
import { movedClock } from './moved-clock.ts';
import { postgresIsShared, postgresServer, SUPERUSER } from './postgres-server.ts';
import { type Storage, withMethods } from './storage.ts';

export interface FreshDatabase {
  /** What a server process is told, by the settings' keys. */
  readonly settings: Readonly<Record<string, string>>;
  /** Another handle on the same database; closed by whoever opened it. */
  open(options?: OpenOptions): Promise<Storage>;
  /** The database as its operator reaches it beside the service; `undefined` where nobody can. */
  readonly outside: ((role?: Role) => Promise<Outside>) | undefined;
  drop(): Promise<void>;
}

interface OpenOptions extends Partial<StorageSurroundings> {
  /** On Postgres: PATIENT unless a suite is about them. */
  readonly limits?: LimitsByUse;
}

/** A connection that is not the service's. Values are whatever the engine's own driver makes of them. */
export interface Outside {
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

/** On Postgres; a SQLite file knows no roles. */
export type Role = 'owner' | 'serving' | 'superuser';

export interface TestDatabase {
  readonly name: string;
  readonly engine: 'sqlite' | 'postgres';
  /** @param schema whether to apply it; applied unless told otherwise */
  fresh(schema?: 'applied' | 'absent'): Promise<FreshDatabase>;
}

/** For suites about what no database has a part in. */
export const sqliteFile: TestDatabase = {
  name: 'SQLite',
  engine: 'sqlite',
  async fresh(schema = 'applied') {
    const directory = mkdtempSync(join(tmpdir(), 'mandate-sqlite-'));
    const path = join(directory, 'mandate.sqlite');
    const open: FreshDatabase['open'] = async (options) =>
      withMethods(await openSqlite({ path }, surroundingsOf(options)));
    if (schema === 'applied') {
      migrated ??= migratedFile();
      writeFileSync(path, await migrated);
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

/** A database as `mandate migrate` leaves it. */
async function migratedFile(): Promise<Uint8Array> {
  const database = await sqliteFile.fresh('absent');
  await migrateOnce(database.open);
  const path = database.settings['Service:Database:Path'] ?? '';
  const content = readFileSync(path);
  await database.drop();
  return content;
}

/** Lives in its one connection, so it cannot be served by a process of its own, nor reached from outside. */
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
    // Copying files takes a third of the CPU time of the default, which writes every page to the log.
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
      open: async ({ limits = PATIENT, ...surroundings } = {}) =>
        withMethods(
          await openPostgres({ connectionString, migrationConnectionString, limits }, surroundingsOf(surroundings)),
        ),
      outside: (role = 'owner') => outsidePostgres(server.url(roles[role], name)),
      drop: () => asSuperuser(`drop database ${name} with (force)`),
    };
  },
};

/** Those that a server process can be pointed at. */
export const databases: readonly TestDatabase[] = [sqliteFile, postgres];

/** Every one that the storage ports are implemented on. */
export const everyDatabase: readonly TestDatabase[] = [sqliteFile, sqliteInMemory, postgres];

export function freshDatabase(engine: TestDatabase['engine'], schema?: 'applied' | 'absent'): Promise<FreshDatabase> {
  return (engine === 'sqlite' ? sqliteFile : postgres).fresh(schema);
}

/** @throws if only the service can reach the database */
export async function outsideOf(database: FreshDatabase, role?: Role): Promise<Outside> {
  if (database.outside === undefined) throw new Error('only the service can reach this database');
  return database.outside(role);
}

const OWNER = 'mandate_owner';
const SERVING = 'mandate_app';
const TEMPLATE = 'mandate_template';

/**
 * Ten times what service has: what suites find out about decisions holds on a machine that stands still for some
 * seconds, too, where a decision that waits for another would be given up.
 */
export const PATIENT: LimitsByUse = {
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

/** Once in a run, whoever of its processes started the server. */
export async function preparePostgres(): Promise<void> {
  template ??= postgresIsShared() ? Promise.resolve() : prepareTemplate();
  await template;
}

/** Copying a database with the schema is several times faster than applying it anew. */
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
          limits: PATIENT,
        },
        surroundingsOf(surroundings),
      ),
    ),
  );
}

async function migrateOnce(open: FreshDatabase['open']): Promise<void> {
  const storage = await open();
  await storage.migrate();
  // Fixtures happen at NOON, whenever the suite runs.
  await storage.createPartitions(NOON, 2);
  await storage.close();
}

function surroundingsOf({ clock = movedClock(), log = capturedLog() }: OpenOptions = {}): StorageSurroundings {
  return { clock, log };
}

async function asSuperuser(statement: string): Promise<void> {
  const server = await postgresServer();
  const connection = await outsidePostgres(server.url(SUPERUSER, 'postgres'));
  await connection.sql(statement);
  await connection.close();
}

async function outsidePostgres(connectionString: string): Promise<Outside> {
  const client = new pg.Client({ connectionString });
  // A test may drop its database, or stop the server, with this open.
  client.on('error', () => undefined);
  await client.connect();
  return {
    sql: async (text) => (await client.query(text)).rows ?? [],
    close: () => client.end(),
  };
}

function outsideSqlite(path: string): Outside {
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
