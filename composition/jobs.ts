/**
 * Background jobs and their intervals: for the ledger (specification "Aggregation", "Ledger and seal", "Sink") and for
 * ended tasks ("Task").
 */

import { eventLoopTurn } from '../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../adapters/platform/system-crypto.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import { notifyWaiting } from '../application/approvals/notify.ts';
import { deliverRecords } from '../application/ledger/deliver.ts';
import { sealLedger } from '../application/ledger/seal.ts';
import type { Clock } from '../application/ports/runtime.ts';
import { expireApprovals, expireTasks, forgetEnded } from '../application/upkeep/sweep.ts';
import type { Parts } from './parts.ts';
import type { Jobs, RecurringPass } from './recurring.ts';
import { databaseChoice, sinkChoice } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';
import { tracedJob } from './traces.ts';

const SEALING = 'sealing the ledger';
const SWEEPING = 'sweeping ended tasks';

export function jobs(parts: Parts): Jobs {
  const { settings, storage, signingKeys, anonymousDenials, recordStream, transparencyLog, sink, clock, clockWatch } =
    parts;
  const { noticeReceiver } = parts;
  const chain = parts.trustedChain;
  const { outbox } = storage;
  const batchSize = settings['Service:Audit:DrainBatchSize'];
  // Instances that share a SQLite file run on one machine, with one clock.
  const clockAheadBy = databaseChoice(settings).provider === 'postgres' ? CLOCK_AHEAD_SECONDS : 0;
  const once = {
    seal: () =>
      tracedJob(parts.tracing, SEALING, async () => {
        const signer = signingKeys.checkpoints;
        await sealLedger({
          checkpoints: storage.checkpoints,
          chain,
          signer,
          hash: sha256Bytes,
          clock,
          turn: eventLoopTurn,
        });
      }),
    async growLog(shouldContinue?: () => boolean) {
      await transparencyLog?.grow(shouldContinue);
    },
    async askWitnesses() {
      await transparencyLog?.askWitnesses();
    },
    async drain(shouldContinue?: () => boolean) {
      if (sink !== undefined) await deliverRecords({ outbox, sink, clock, batchSize }, shouldContinue);
    },
    async notify(shouldContinue?: () => boolean) {
      if (noticeReceiver === undefined) return;
      await notifyWaiting(
        { approvalNotices: storage.approvalNotices, receiver: noticeReceiver, clock },
        shouldContinue,
      );
    },
    closeWindows: () => anonymousDenials.closeEnded(),
    sweep: (shouldContinue?: () => boolean) =>
      tracedJob(parts.tracing, SWEEPING, async () => {
        const endingTime = await clockWatch.endingTime();
        // The clock watch has logged why.
        if (endingTime === undefined) return;
        const service = { decisions: storage, sweeping: storage.sweeping, clock, endingTime, turn: eventLoopTurn };
        const expiry = { ...service, batchSize: settings['Service:Tasks:SweepBatchSize'], clockAheadBy };
        await expireTasks(expiry, shouldContinue);
        // Also while the feature is off: approvals may be left from before.
        await expireApprovals(expiry, shouldContinue);
        await forgetEnded({ ...service, retention: settings['Service:Tasks:Retention'] }, shouldContinue);
      }),
    watchClocks: () => clockWatch.watch(),
    setQueueing: () => outbox.setQueueing(sink !== undefined),
  };
  return {
    ...once,
    recurring: (queueingIsSet) => [
      partitionUpkeep(storage, clock, settings['Service:Audit:Partitions:MonthsAhead']),
      {
        ...spread(SEALING, settings['Service:Audit:Checkpoint:Interval'], once.seal),
        follower: transparencyLog && {
          name: 'growing the transparency log',
          run: once.growLog,
          follower: { name: 'asking the witnesses of the log', run: once.askWitnesses },
        },
      },
      { name: 'comparing the clocks', intervalMs: WATCH_CLOCKS_MS, firstAfterMs: 0, run: once.watchClocks },
      spread(SWEEPING, settings['Service:Tasks:SweepInterval'], once.sweep),
      { name: 'writing the summaries of denials', intervalMs: CLOSE_WINDOWS_MS, run: once.closeWindows },
      { name: 'delivering records', intervalMs: inMs(settings['Service:Audit:DrainInterval']), run: once.drain },
      queueing(settings, queueingIsSet, once.setQueueing),
      ...(noticeReceiver === undefined
        ? []
        : [{ name: 'sending notices of approvals', intervalMs: NOTIFY_MS, run: once.notify }]),
      ...(recordStream === undefined
        ? []
        : [{ name: 'streaming new records', intervalMs: STREAMING_MS, run: recordStream.advance }]),
    ],
  };
}

/** A jump of the clock is noticed after this time at most, and before each sweep. */
const WATCH_CLOCKS_MS = 1000;

/** Replicas with synchronized clocks differ by milliseconds. Tasks end by the earlier of a replica's and the database's. */
const CLOCK_AHEAD_SECONDS = 2;

/** How late the receiver hears that an approval waits. */
const NOTIFY_MS = 1000;

/** How late a listener of `GET /audit/stream` gets a record. */
const STREAMING_MS = 1000;

/** A window may be as short as a second, and reading the counts in memory is cheap. */
const CLOSE_WINDOWS_MS = 1000;

/**
 * During a rollout, instances with a sink and without one overwrite each other's flag at their starts. The flag is set
 * again periodically, so the rollout's final setting wins. Instances with a sink do it more often: a record that is not
 * queued is lost to the sink, while one queued without a sink merely waits.
 */
const SET_QUEUEING_MS = { on: 60_000, off: 60 * 60 * 1000 } as const;
/** The pause before setting the flag is tried again. Until then the sink may miss records. */
const QUEUEING_RETRY_MS = 1000;

/**
 * Replicas that start together would all wait for the same lock at the same moment. So each begins at a random time in
 * the second half of the first interval.
 */
function spread(name: string, seconds: number, run: RecurringPass['run']): RecurringPass {
  const intervalMs = inMs(seconds);
  const firstAfterMs = (intervalMs * (1 + Math.random())) / 2;
  return { name, intervalMs, firstAfterMs, run };
}

function queueing(settings: Settings, isSet: boolean, run: Jobs['setQueueing']): RecurringPass {
  const intervalMs = SET_QUEUEING_MS[sinkChoice(settings) === undefined ? 'off' : 'on'];
  const firstAfterMs = isSet ? intervalMs : QUEUEING_RETRY_MS;
  return { name: 'turning the queue of records on or off', intervalMs, firstAfterMs, retryMs: QUEUEING_RETRY_MS, run };
}

function inMs(seconds: number): number {
  return seconds * 1000;
}

/** Partitions are created a month ahead, so hundreds of failures are tolerable. */
const PARTITIONS_MS = 60 * 60 * 1000;

/**
 * Creates the ledger's partitions ahead while the service runs (specification "Limits"). In a month without a partition
 * no record could be written, so no request could be decided.
 *
 * @param monthsAhead `Service:Audit:Partitions:MonthsAhead`
 */
export function partitionUpkeep(
  storage: Pick<Storage, 'createPartitions'>,
  clock: Clock,
  monthsAhead: number,
): RecurringPass {
  return {
    name: "creating the ledger's partitions ahead",
    intervalMs: PARTITIONS_MS,
    firstAfterMs: 0,
    run: () => storage.createPartitions(clock.now(), monthsAhead),
  };
}
