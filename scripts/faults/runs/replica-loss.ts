/** One of several replicas is killed every so often, and started again, while clients ask all of them in turns. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Kept } from '../load/kept.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import { openStage, type StageOptions } from '../stage/stage.ts';

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

/** What clients get from those that are left while one is away. */
const SURVIVORS_UNSERVED_SHARE = 0.01;

export async function replicaLoss(options: ReplicaLossOptions): Promise<ReplicaLoss> {
  const stage = await openStage({ ...options, engine: 'postgres' });
  try {
    await stage.begin();
    for (let kill = 0; kill < options.kills; kill++) {
      await pause(options.everyMs);
      const server = stage.servers[kill % stage.servers.length];
      await server?.end('SIGKILL');
      await pause(options.awayMs);
      server?.start();
      await server?.untilReady();
    }
    const outcome = await stage.end();
    const asked = outcome.kept.filter(({ refused }) => refused !== true);
    const share = unavailable(asked) / asked.length;
    const losses =
      share > SURVIVORS_UNSERVED_SHARE ? [`${percent(share)} were answered 503 by those that were left`] : [];
    return {
      outcome: { ...outcome, losses: [...outcome.losses, ...losses] },
      figures: [`of the requests that reached a replica, ${percent(share)} were answered 503`],
    };
  } finally {
    await stage.close();
  }
}

function unavailable(kept: readonly Kept[]): number {
  return kept.filter(({ status }) => status === 503).length;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}
