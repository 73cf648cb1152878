/** A fault run of `mandate witness serve`: it is killed at random moments (SIGKILL) while a log and its forks ask it. */

import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cosignedAt, type WrittenLog, writtenLog } from '../../../test/support/log/written-log.ts';
import { withCleanup } from '../../cleanup.ts';
import { freePort } from '../../free-port.ts';
import { spawnMandate, untilReady } from '../../mandate-process.ts';
import { type Random, seeded } from '../random.ts';

interface WitnessKills {
  /** Node's arguments that run `mandate`. */
  readonly program: readonly string[];
  readonly seed: number;
  readonly kills: number;
  /** The maximum time from readiness to the kill, in milliseconds. */
  readonly servesMs: number;
}

/** Every tenth kill hits a process that is still starting. */
const EARLY_EVERY = 10;
const EARLY_MS = 300;
const START_LIMIT_MS = 60_000;
const REQUEST_LIMIT_MS = 10_000;
const MAX_LEAVES = 5;
const ORIGIN = 'faults.test/ledger';

export function witnessKills({ program, seed, kills, servesMs }: WitnessKills) {
  return withCleanup(async (cleanup) => {
    const random = seeded(seed);
    const folder = mkdtempSync(join(tmpdir(), 'mandate-witness-faults-'));
    cleanup(() => rmSync(folder, { recursive: true, force: true }));
    const [key, state, logFile] = ['key.pem', 'state.db', 'witness.log'].map((name) => join(folder, name)) as [
      ...[string, string, string],
    ];
    const files = ['--key', key, '--state', state];
    const line = [...program, 'witness', 'init', '--name', 'witness.test/w1', ...files];
    const vkey = execFileSync(process.execPath, line, { encoding: 'utf8' }).trim();

    const log = writtenLog(ORIGIN);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    let child: ChildProcess | undefined;
    const start = () => {
      child = spawnMandate(
        [...program, 'witness', 'serve', ...files, '--log', log.vkey, '--port', String(port)],
        {},
        logFile,
      );
      return child;
    };
    cleanup(() => void child?.kill('SIGKILL'));

    const watcher = askWhileKilled(url, vkey, log, random);
    const exits: string[] = [];
    for (let nth = 1; nth <= kills + 1; nth += 1) {
      const served = start();
      const ended = once(served, 'exit');
      if (nth % EARLY_EVERY === 0) {
        await pause(random.below(EARLY_MS));
      } else {
        await untilReady(served, url, logFile, START_LIMIT_MS);
        await pause(random.below(servesMs));
      }
      if (nth > kills) await watcher.stop();
      served.kill(nth > kills ? 'SIGTERM' : 'SIGKILL');
      const [code, signal] = await ended;
      exits.push(String(code ?? signal));
    }
    const { counts, losses } = watcher;
    const { asked, cosigned, unanswered, refused } = counts;
    const strange = exits.filter((exit, nth) => exit !== (nth === kills ? '0' : 'SIGKILL'));
    return {
      counts,
      figures: [
        `requests ${asked}: cosigned ${cosigned}, forks refused ${refused}, without an answer ${unanswered}`,
        `the log has ${log.size} leaves`,
      ],
      losses: [...losses, ...strange.map((exit) => `a process ended with ${exit}`)],
    };
  });
}

/** Sends growing checkpoints, one at a time, and a fork now and then. Compares each answer with what was cosigned before. */
function askWhileKilled(url: string, vkey: string, log: WrittenLog, random: Random) {
  const losses: string[] = [];
  const counts = { asked: 0, cosigned: 0, refused: 0, unanswered: 0 };
  /** The largest size that was answered with a cosignature, and the sizes that may have been cosigned since. */
  let known = 0;
  let pending = new Set<number>();
  let lastSeconds = 0;
  let isStopped = false;

  const send = async (body: string) => {
    counts.asked += 1;
    try {
      const signal = AbortSignal.timeout(REQUEST_LIMIT_MS);
      const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body, signal });
      return { status: answer.status, text: await answer.text() };
    } catch {
      counts.unanswered += 1;
      await pause(random.below(20));
      return undefined;
    }
  };

  const grow = async () => {
    if (pending.size === 0) log.grow(random.below(MAX_LEAVES));
    pending.add(log.size);
    const answer = await send(log.request(known));
    if (answer?.status === 200) {
      const seconds = cosignedAt(answer.text, vkey, log.text());
      if (seconds < lastSeconds) losses.push(`a cosignature of second ${seconds} came after one of ${lastSeconds}`);
      counts.cosigned += 1;
      [known, lastSeconds, pending] = [log.size, seconds, new Set()];
    } else if (answer?.status === 409) {
      // 409: the witness knows another size. Only a request whose answer was lost can have set it.
      const size = Number(answer.text);
      if (!pending.has(size))
        losses.push(`the witness named size ${answer.text.trim()} after it had cosigned ${known}`);
      known = size;
    } else if (answer !== undefined) {
      losses.push(`an honest checkpoint of size ${log.size} was answered ${answer.status}`);
    }
  };

  const lie = async () => {
    if (known === 0 || pending.size > 0) return;
    const fork = log.fork(known - 1);
    fork.grow(1 + random.below(MAX_LEAVES));
    const answer = await send(fork.request(Math.min(known, fork.size)));
    if (answer === undefined) return;
    counts.refused += 1;
    if (answer.status !== 409 && answer.status !== 422) {
      losses.push(`a fork of size ${fork.size} was answered ${answer.status} after ${known} had been cosigned`);
    }
  };

  const running = (async () => {
    while (!isStopped) await (random.below(4) === 0 ? lie() : grow());
    // The last process knows everything that was cosigned.
    for (let nth = 0; nth < 2; nth += 1) await grow();
    if (pending.size > 0) losses.push(`the newest checkpoint, of size ${log.size}, was never cosigned`);
  })();
  return {
    losses,
    counts,
    stop() {
      isStopped = true;
      return running;
    },
  };
}
