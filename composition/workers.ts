/**
 * One listening address served by several processes of one machine: a primary that serves nothing itself and keeps the
 * number of its workers, each of which is an instance like any other replica.
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Connections } from '../adapters/http/connections.ts';
import { countedLines } from '../adapters/http/counted-lines.ts';
import { wholeLines } from '../adapters/logging/whole-lines.ts';
import type { Log, LogFields } from '../application/ports/log.ts';
import { accepting } from './accepting.ts';
import { beat, heartbeats } from './heartbeats.ts';
import type { Settings } from './settings/read-settings.ts';
import { StartupError } from './startup-error.ts';
import { STOP_SIGNALS } from './until-told-to-stop.ts';
import { type FleetPublished, publishFleet, type WorkerWatch } from './worker-metrics.ts';

/** What the primary says to a worker, the first with a connection, and a worker to the primary. */
const CONNECTION = 'connection';
const STOP = 'stop';
const SERVING = 'serving';

/** A worker that ends is replaced after this long, doubled for each that did not come to serve, up to the longest. */
const RESTART_MS = { first: 500, longest: 30_000 } as const;
/** More than a worker takes to stop, which gives what is under way ten seconds. */
const STOP_LIMIT_MS = 15_000;
/** Connections that wait for a worker to serve: as many as the system keeps for a process that does not accept. */
const MAX_WAITING = 511;
/** Given to one worker and not yet taken by it. Whoever is behind so many has a better chance with another, or later. */
const MAX_BEHIND = 1000;

/** Whether this process is one of a primary's workers. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** What tells a worker's lines in the log from another's; nothing in a process that is alone. */
export function logOrigin(): { readonly worker?: number } {
  return cluster.worker === undefined ? {} : { worker: cluster.worker.id };
}

/** In a worker: its connections are those that the primary accepts and hands to it. */
export const acceptFromPrimary: typeof accepting = async ({ HOST: host, PORT: port }, take) => {
  process.on('message', (message, connection) => {
    if (message !== CONNECTION || !(connection instanceof Socket)) return;
    // As on those that are accepted here: one that has been handed over has forgotten it.
    connection.allowHalfOpen = true;
    connection.setNoDelay(true);
    take(connection);
  });
  // Whatever the primary accepted has come by the time that it says to stop.
  return { address: { host, port }, close: async () => undefined };
};

/**
 * In a worker that serves: tells the primary, and resolves when that asks for the orderly stop. A signal is the
 * primary's to answer: those of a terminal reach every process of the group, and a worker that obeyed both the signal
 * and its primary would take the one wish for two, and end at once.
 */
export function untilPrimarySaysStop(): Promise<void> {
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (message === STOP) resolve();
    });
    process.send?.(SERVING);
    beat();
  });
}

/** In a worker, once it is through: the line to the primary would keep the process alive. */
export function leavePrimary(): void {
  cluster.worker?.disconnect();
}

/** In a worker, before anything takes time. */
export function leaveSignalsToPrimary(): void {
  for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);
}

interface Supervision {
  readonly log: Log;
  /** Resolves when everything is to end. */
  readonly told: Promise<void>;
}

/**
 * Runs this program's command line again in `count` workers, and replaces those that end, until it is told to stop.
 *
 * @throws StartupError when it can't listen, or when a worker ends before all of them serve: that has said why by itself
 */
export async function superviseWorkers(count: number, settings: Settings, { log, told }: Supervision): Promise<void> {
  const fleet = workers(log);
  let connections: Connections | undefined;
  let metrics: FleetPublished | undefined;
  try {
    metrics = await publishFleet(settings, fleet.serving, count);
    const started = fleet.start(count, metrics?.watch).then(() => true);
    if (await Promise.race([started, told.then(() => false)])) {
      // Not before: whoever asks a service that is only starting is better sent elsewhere than kept waiting.
      connections = await accepting(settings, fleet.hand);
      log.info('every worker serves', { workers: count, ...connections.address });
      await told;
    }
    log.info('stopping every worker');
  } finally {
    await connections?.close();
    await fleet.stop();
    await metrics?.close();
  }
}

interface Workers {
  /** Resolves once all of them serve; rejects when one ends before. */
  start(count: number, watch: WorkerWatch | undefined): Promise<void>;
  /** Those that serve now. */
  serving(): readonly Worker[];
  /** Gives a connection to the one whose turn it is, as soon as there is one. */
  hand(connection: Socket): void;
  /** Each finishes what it was given, then ends; those that do not serve yet end at once. */
  stop(): Promise<void>;
}

function workers(log: Log): Workers {
  // On a terminal a log is written for people, line by line; anywhere else it is gathered, and lines would mix.
  const isGathered = process.stdout.isTTY !== true;
  cluster.setupPrimary({ silent: isGathered });
  /** The next one's turn is the first's. */
  const serving: Worker[] = [];
  /** Accepted while nobody serves. */
  const waiting: Socket[] = [];
  /** Given to a worker, and still here: Node sends it one at a time, the next once it has taken the one before. */
  const unsent = new WeakMap<Worker, Set<Socket>>();
  const restarts = new Set<NodeJS.Timeout>();
  const countClosed = countedLines<{ reason: 'too_many' }>(log, 'connections were not taken');
  let [isUp, isStopping] = [false, false];
  let failures = 0;
  let watch: WorkerWatch | undefined;

  const hearts = heartbeats((worker) => {
    log.error('a worker hangs, and is killed', undefined, { worker: worker.id });
    worker.process.kill('SIGKILL');
  });

  const hand = (connection: Socket): void => {
    const turn = serving.findIndex((one) => (unsent.get(one)?.size ?? 0) < MAX_BEHIND);
    const [worker] = turn < 0 ? [] : serving.splice(turn, 1);
    if (worker !== undefined) {
      serving.push(worker);
      const behind = unsent.get(worker);
      behind?.add(connection);
      // Kept open, since Node would close it only once the worker says that it has it, and one that ends says nothing.
      worker.send(CONNECTION, connection, { keepOpen: true }, (error) => {
        if (error !== null) return;
        behind?.delete(connection);
        connection.destroy();
      });
    } else if (serving.length === 0 && waiting.length < MAX_WAITING) {
      waiting.push(connection);
    } else {
      countClosed({ reason: 'too_many' });
      connection.destroy();
    }
  };

  /** Node forgets them without closing them, and their clients would wait for good. */
  const handOn = (worker: Worker): void => {
    for (const connection of unsent.get(worker) ?? []) {
      if (isUp) hand(connection);
      else connection.destroy();
    }
    unsent.delete(worker);
  };

  const begin = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = cluster.fork();
      unsent.set(worker, new Set());
      watch?.began(worker);
      if (isGathered) carryOutput(worker);
      worker.once('message', (message) => {
        if (message !== SERVING) return;
        failures = 0;
        hearts.follow(worker);
        serving.push(worker);
        for (const connection of waiting.splice(0)) hand(connection);
        resolve();
      });
      const end = (how: LogFields): void => {
        hearts.forget(worker);
        const turn = serving.indexOf(worker);
        if (turn >= 0) serving.splice(turn, 1);
        handOn(worker);
        reject(new StartupError(['A worker did not come to serve.']));
        if (!isUp) return;
        watch?.ended(worker);
        log.warn('a worker ended, and is replaced', { worker: worker.id, ...how });
        beginAgain();
      };
      worker.once('exit', (code, signal) => end({ code, signal }));
      worker.on('error', (error) => {
        // One that the system had no room for has no exit. Of any other: what was said to it came too late.
        if (worker.process.pid === undefined) end({ code: 'code' in error ? String(error.code) : undefined });
      });
    });

  const beginAgain = (): void => {
    const afterMs = Math.min(RESTART_MS.first * 2 ** failures, RESTART_MS.longest);
    failures += 1;
    const timer = setTimeout(() => {
      restarts.delete(timer);
      begin().catch((error) => {
        // One that ends early is replaced as one that ends late. What is thrown by the system is of one that never began.
        if (isUp && !(error instanceof StartupError)) beginAgain();
      });
    }, afterMs);
    restarts.add(timer);
  };

  return {
    hand,
    serving: () => [...serving],
    async start(count, watchedBy) {
      watch = watchedBy;
      await Promise.all(Array.from({ length: count }, begin));
      isUp = !isStopping;
    },
    async stop() {
      [isUp, isStopping] = [false, true];
      hearts.close();
      for (const timer of restarts) clearTimeout(timer);
      for (const connection of waiting) connection.destroy();
      const all = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
      await Promise.all(all.map((worker) => stopWorker(worker, serving.includes(worker))));
    },
  };
}

async function stopWorker(worker: Worker, serves: boolean): Promise<void> {
  if (worker.isDead()) return;
  // Later than `exit`: what it said last has been read by then.
  const gone = once(worker.process, 'close');
  const patience = setTimeout(() => worker.process.kill('SIGKILL'), STOP_LIMIT_MS);
  // One that does not serve yet has nothing to finish, and would not listen.
  if (serves && worker.isConnected()) worker.send(STOP, () => undefined);
  else worker.process.kill('SIGKILL');
  await gone;
  clearTimeout(patience);
}

function carryOutput({ process: worker }: Worker): void {
  worker.stdout?.pipe(wholeLines()).pipe(process.stdout, { end: false });
  worker.stderr?.pipe(wholeLines()).pipe(process.stderr, { end: false });
}
