/**
 * What needs to be done again and again, and how often: for the ledger (specification "Aggregation", "Ledger and seal",
 * "Sink") and for tasks that are over ("Task").
 */

import type { DependencyContainer } from 'tsyringe';
import { eventLoopTurn } from '../adapters/system/event-loop-turn.ts';
import { sha256Bytes } from '../adapters/system/sha256.ts';
import { deliverRecords } from '../application/ledger/deliver.ts';
import { sealLedger } from '../application/ledger/seal.ts';
import { expireTasks } from '../application/upkeep/expire-tasks.ts';
import { forgetEnded } from '../application/upkeep/forget-ended.ts';
import { partitionUpkeep } from './partition-upkeep.ts';
import type { Passes, RecurringPass } from './recurring.ts';
import { chosenDatabase, chosenSink } from './settings/alternatives.ts';
import type { Settings } from './settings/read-settings.ts';
import { tokens } from './tokens.ts';

export function ledgerPasses(c: DependencyContainer): Passes {
  const settings = c.resolve(tokens.settings);
  const clock = c.resolve(tokens.clock);
  const { checkpoints, outbox, sweeping } = c.resolve(tokens.storage);
  const signer = c.resolve(tokens.signingKeys).checkpoints;
  const { sink } = c.resolve(tokens.sinkOption);
  const batchSize = settings['Service:Audit:DrainBatchSize'];
  // All who share a SQLite file are on one machine, and have its clock.
  const clockAheadBy = chosenDatabase(settings).provider === 'postgres' ? CLOCK_AHEAD_SECONDS : 0;
  return {
    async seal() {
      await sealLedger({ checkpoints, signer, hash: sha256Bytes, clock, turn: eventLoopTurn });
    },
    async drain(mayGoOn) {
      if (sink !== undefined) await deliverRecords({ outbox, sink, clock, batchSize }, mayGoOn);
    },
    closeWindows: () => c.resolve(tokens.anonymousDenials).closeEnded(),
    async sweep(mayGoOn) {
      const service = { sweeping, clock, turn: eventLoopTurn };
      await expireTasks({ ...service, batchSize: settings['Service:Tasks:SweepBatchSize'], clockAheadBy }, mayGoOn);
      await forgetEnded({ ...service, retention: settings['Service:Tasks:Retention'] }, mayGoOn);
    },
    setQueueing: () => outbox.setQueueing(sink !== undefined),
  };
}

/**
 * Replicas that are kept to the time are milliseconds apart. One that is further ahead ends tasks early, which takes away
 * what its own clock refuses already; `mandate doctor` names it.
 */
const CLOCK_AHEAD_SECONDS = 2;

/** A window may be as short as a second; looking at those in memory costs nothing. */
const WINDOWS_LOOKED_AT_MS = 1000;
/**
 * While settings are rolled out, instances with a sink and without one overrule each other at their starts. Said anew,
 * what the last of them is told holds in the end; by those with a sink more often, since what is not queued is lost to
 * it, and what is queued for nobody only waits.
 */
const QUEUEING_SAID_MS = { on: 60_000, off: 60 * 60 * 1000 } as const;
/** Until it is said, records that the sink should have may pass it by. */
const QUEUEING_RETRY_MS = 1000;

/**
 * What runs for as long as the service does.
 *
 * @param queueingIsSet whether the ledger could be told at the start
 */
export function recurringPasses(c: DependencyContainer, queueingIsSet: boolean): readonly RecurringPass[] {
  const settings = c.resolve(tokens.settings);
  const { seal, drain, closeWindows, sweep, setQueueing } = c.resolve(tokens.passes);
  const monthsAhead = settings['Service:Audit:Partitions:MonthsAhead'];
  return [
    partitionUpkeep(c.resolve(tokens.storage), c.resolve(tokens.clock), monthsAhead),
    spread('sealing the ledger', settings['Service:Audit:Checkpoint:Interval'], seal),
    spread('sweeping tasks that are over', settings['Service:Tasks:SweepInterval'], sweep),
    { name: 'writing the summaries of denials', intervalMs: WINDOWS_LOOKED_AT_MS, run: closeWindows },
    { name: 'delivering records', intervalMs: inMs(settings['Service:Audit:DrainInterval']), run: drain },
    queueing(settings, queueingIsSet, setQueueing),
  ];
}

/**
 * Replicas that were started together would all wait for the same lock, or look for the same rows, at the same moment,
 * so each begins at another time, in the second half of the first interval.
 */
function spread(name: string, seconds: number, run: RecurringPass['run']): RecurringPass {
  const intervalMs = inMs(seconds);
  const firstAfterMs = (intervalMs * (1 + Math.random())) / 2;
  return { name, intervalMs, firstAfterMs, run };
}

function queueing(settings: Settings, isSet: boolean, run: Passes['setQueueing']): RecurringPass {
  const intervalMs = QUEUEING_SAID_MS[chosenSink(settings) === undefined ? 'off' : 'on'];
  const firstAfterMs = isSet ? intervalMs : QUEUEING_RETRY_MS;
  return { name: 'turning the queue of records on or off', intervalMs, firstAfterMs, retryMs: QUEUEING_RETRY_MS, run };
}

function inMs(seconds: number): number {
  return seconds * 1000;
}
