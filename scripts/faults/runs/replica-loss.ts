/** One of several replicas is killed every so often, and started again, while clients ask all of them in turns. */

import { setTimeout as pause } from 'node:timers/promises';
import { wallClock } from '../load/wall-clock.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import { openStage, type StageOptions } from '../stage/stage.ts';
import { byThemselves } from './killing.ts';
import { unanswered, unserved } from './served.ts';

export interface ReplicaLossOptions extends Omit<StageOptions, 'engine'> {
  readonly replicas: number;
  readonly kills: number;
  readonly everyMs: number;
  /** How long the one that was killed stays away. */
  readonly awayMs: number;
}

export interface ReplicaLoss {
  readonly outcome: Reconciled;
  readonly figures: readonly string[];
}

export async function replicaLoss(options: ReplicaLossOptions): Promise<ReplicaLoss> {
  const stage = await openStage({ ...options, engine: 'postgres' });
  try {
    const kills: number[] = [];
    const ends: (number | string)[] = [];
    await stage.begin();
    for (let kill = 0; kill < options.kills; kill++) {
      await pause(options.everyMs);
      const server = stage.servers[kill % stage.servers.length];
      if (server === undefined) throw new Error('there is nobody to kill');
      kills.push(wallClock());
      ends.push(await server.end('SIGKILL'));
      await pause(options.awayMs);
      server.start();
      await server.untilReady();
    }
    const outcome = await stage.end();
    const { figure, losses } = unserved(outcome.kept);
    const all = [...outcome.losses, ...losses, ...unanswered(outcome.kept, kills), ...byThemselves(ends)];
    return { outcome: { ...outcome, losses: all }, figures: [figure] };
  } finally {
    await stage.close();
  }
}
