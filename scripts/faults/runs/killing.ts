/** The service is killed (SIGKILL) again and again at random moments, at once started anew, and never spared. */

import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../load/random.ts';
import { wallClock } from '../load/wall-clock.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import { openStage, type StageOptions } from '../stage/stage.ts';
import { unanswered, unserved } from './served.ts';

export interface KillingOptions extends StageOptions {
  readonly kills: number;
  /** The longest that it serves between being ready and being killed, in milliseconds. */
  readonly servesMs: number;
}

/** Every so many kills hit a process that has not begun to serve yet. */
const EARLY_EVERY = 10;
const EARLY_MS = 600;

export async function killing(options: KillingOptions): Promise<Reconciled> {
  const stage = await openStage(options);
  try {
    const random = seeded(options.seed);
    const kills: number[] = [];
    const ends: (number | string)[] = [];
    await stage.begin();
    for (let kill = 1; kill <= options.kills; kill++) {
      const server = stage.servers[kill % stage.servers.length];
      if (server === undefined) throw new Error('there is nobody to kill');
      if (kill % EARLY_EVERY === 0) await pause(random.below(EARLY_MS));
      else {
        await server.untilReady();
        await pause(random.below(options.servesMs));
      }
      kills.push(wallClock());
      ends.push(await server.end('SIGKILL'));
      server.start();
    }
    await Promise.all(stage.servers.map((server) => server.untilReady()));
    const outcome = await stage.end();
    const losses = [...unanswered(outcome.kept, kills), ...unserved(outcome.kept).losses, ...byThemselves(ends)];
    return { ...outcome, losses: [...outcome.losses, ...losses] };
  } finally {
    await stage.close();
  }
}

/** @param ends of processes that were killed, or found to be gone already */
export function byThemselves(ends: readonly (number | string)[]): readonly string[] {
  return ends.filter((end) => end !== 'SIGKILL').map((end) => `a process went down by itself, with ${end}`);
}
