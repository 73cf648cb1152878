/** The service is told to stop (SIGTERM) while requests come at a steady rate, over connections kept and new, and is started again. */

import { setTimeout as pause } from 'node:timers/promises';
import { isLost, type Kept } from '../load/kept.ts';
import { wallClock } from '../load/wall-clock.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import { openStage, type StageOptions } from '../stage/stage.ts';
import { atRate, unserved } from './served.ts';

export interface StoppingOptions extends StageOptions {
  readonly perSecond: number;
  readonly times: number;
  /** How long it serves before it is told. */
  readonly servesMs: number;
}

export interface Stopping {
  readonly outcome: Reconciled;
  readonly figures: readonly string[];
  /** What the load fell short of the rate: whether that matters depends on the machine, and not on the service. */
  readonly unsent: readonly string[];
}

/** Of what the rate makes in `servesMs`: a stop at which nobody asks finds nothing. */
const LEAST_OF_ANSWERS = 0.5;
/** For these, beyond `servesMs`, as a multiple of it. */
const LONGEST_WAIT = 10;
const POLL_MS = 50;

export async function stoppingUnderLoad(options: StoppingOptions): Promise<Stopping> {
  const { perSecond, times, servesMs } = options;
  const stage = await openStage({ ...options, pace: { perSecond, newConnections: true } });
  try {
    const [server] = stage.servers;
    if (server === undefined) throw new Error('there is nobody to stop');
    const codes: (number | string)[] = [];
    const took: number[] = [];
    const stops: number[] = [];
    await stage.begin();
    for (let nth = 0; nth < times; nth++) {
      const least = (await stage.driver.count()) + (perSecond * servesMs * LEAST_OF_ANSWERS) / 1000;
      await pause(servesMs);
      // One that answers nobody any more is stopped as well: what it lost shows in the end.
      const until = performance.now() + servesMs * LONGEST_WAIT;
      while ((await stage.driver.count()) < least && performance.now() < until) await pause(POLL_MS);
      const told = wallClock();
      stops.push(told);
      codes.push(await server.end('SIGTERM'));
      took.push(wallClock() - told);
      server.start();
      await server.untilReady();
    }
    const outcome = await stage.end();
    const reset = outcome.kept.filter(isLost);
    const rate = atRate(outcome.kept, perSecond);
    const losses = [
      ...reset.map((one) => `${described(one, stops)}, and was not answered: ${one.error}`),
      ...codes.filter((code) => code !== 0).map((code) => `a stop ended with ${code}`),
      ...unserved(outcome.kept).losses,
    ];
    return {
      outcome: { ...outcome, losses: [...outcome.losses, ...losses] },
      figures: [
        rate.figure,
        `accepted and not answered ${reset.length}; exit codes ${[...new Set(codes)].join(', ')}; ` +
          `a stop took at most ${Math.round(Math.max(...took))} ms`,
      ],
      unsent: rate.losses,
    };
  } finally {
    await stage.close();
  }
}

function described({ act, began, anew }: Kept, stops: readonly number[]): string {
  const last = stops.findLast((told) => told <= began);
  const when = last === undefined ? 'before any stop' : `${Math.round(began - last)} ms after a stop was asked for`;
  return `"${act}" was sent over a ${anew ? 'new' : 'kept'} connection ${when}`;
}
