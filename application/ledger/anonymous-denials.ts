/**
 * Records the anonymous denials of all surfaces of an instance: writes each one, or counts it for a summary
 * (specification "Aggregation"). The request is answered even if the ledger is unavailable; the next summary then
 * includes the denial (supplement "Token endpoint"). So does it if the result of a write is unknown: the denial may be
 * recorded twice, but is never lost.
 */

import { type AnonymousDenial, aggregation, type Summary } from '../../domain/ledger/aggregation.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { append } from '../decisions/append.ts';
import { type Decisions, StorageUnavailable } from '../ports/decisions.ts';
import type { Clock } from '../ports/runtime.ts';
import { type Log, type Measurements, traceFields } from '../ports/telemetry.ts';

export interface AnonymousDenials {
  /**
   * Writes or counts one denial. It returns normally even if the database is unavailable.
   *
   * @returns `undefined` if the denial was counted: there is nothing to await
   */
  record(denial: AnonymousDenial, trace?: Trace): Promise<void> | undefined;

  /**
   * Writes the summaries of the ended windows. A summary that could not be written stays counted.
   *
   * @throws StorageUnavailable
   */
  closeEnded(): Promise<void>;

  /** Writes every count at shutdown, when no more requests come. Counts that can't be written are logged and lost. */
  closeAll(): Promise<void>;
}

interface DenialLedger {
  readonly decisions: Decisions;
  readonly clock: Clock;
  readonly log: Log;
}

/** @param windowSeconds `undefined` writes every denial as its own record */
export function anonymousDenials(service: DenialLedger, windowSeconds: number | undefined): AnonymousDenials {
  return windowSeconds === undefined ? withoutAggregation(service) : withAggregation(service, windowSeconds);
}

function withoutAggregation(service: DenialLedger): AnonymousDenials {
  return {
    record: (denial, trace) => logIfUnavailable(service, denial, trace, () => appendDenial(service, denial)),
    closeEnded: async () => undefined,
    closeAll: async () => undefined,
  };
}

function withAggregation(service: DenialLedger, windowSeconds: number): AnonymousDenials {
  const { clock, log } = service;
  const windows = aggregation(windowSeconds);

  /** Writes the summaries in order. At the first failure, that one and all later ones are counted again. */
  const write = async (summaries: readonly Summary[]): Promise<void> => {
    let written = 0;
    try {
      for (const summary of summaries) {
        await appendDenial(service, summary);
        written += 1;
      }
    } catch (error) {
      for (const summary of summaries.slice(written)) windows.giveBack(summary, summary.count);
      throw error;
    }
  };

  // Writes run one after another, so when `closeEnded` resolves, the summaries of earlier calls are written too.
  let writing: Promise<void> = Promise.resolve();
  const writeNext = (take: () => readonly Summary[]): Promise<void> => {
    const next = writing.then(() => write(take()));
    writing = next.catch(() => undefined);
    return next;
  };

  return {
    record(denial, trace) {
      // No `await` between the lookup and opening the window: of concurrent denials exactly one is the first.
      const occurrence = windows.occurred(denial, clock.now());
      if (occurrence.kind === 'counted') return undefined;
      return logIfUnavailable(service, denial, trace, async () => {
        try {
          if (occurrence.ended !== undefined) await write([occurrence.ended]);
          await appendDenial(service, denial);
        } catch (error) {
          windows.giveBack(denial, 1);
          throw error;
        }
      });
    },

    closeEnded: () => writeNext(() => windows.takeEnded(clock.now())),

    async closeAll() {
      try {
        await writeNext(windows.takeAll);
      } catch (error) {
        log.error('counted anonymous denials could not be written before the shutdown', error);
        for (const { event, reason, count } of windows.takeAll()) {
          log.warn('counted anonymous denials are missing from the ledger', { event, reason, count });
        }
      }
    },
  };
}

function appendDenial({ decisions, clock }: DenialLedger, denial: AnonymousDenial | Summary): Promise<void> {
  const { event, reason, detail } = denial;
  const more = {
    ...('count' in denial ? { count: denial.count } : {}),
    ...(detail === undefined ? {} : { detail }),
  };
  return decisions.decide(append, { at: clock.now(), event, decision: 'deny', reason, ...more });
}

/** Without aggregation there is no later summary: a denial that can't be written is only logged. */
async function logIfUnavailable(
  { log }: DenialLedger,
  { event, reason }: AnonymousDenial,
  trace: Trace | undefined,
  record: () => Promise<void>,
): Promise<void> {
  try {
    await record();
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    log.warn('an anonymous denial could not be recorded', { ...traceFields(trace), event, reason });
  }
}

type Counting = Pick<Measurements, 'denied'>;

/** Anonymous denials count as soon as they happen: the database may be slow or unavailable. */
export function measuredAnonymousDenials(anonymous: AnonymousDenials, { denied }: Counting): AnonymousDenials {
  return {
    ...anonymous,
    record(denial, trace) {
      denied(denial.event, denial.reason);
      return anonymous.record(denial, trace);
    },
  };
}

/** Other denials count once they are recorded, under the recorded reason. */
export function measuredDenials<Storage extends Decisions>(storage: Storage, { denied }: Counting): Storage {
  return {
    ...storage,
    async decide(decision, input) {
      const verdict = await storage.decide(decision, input);
      const denial = decision.denial?.(input, verdict);
      if (denial !== undefined) denied(denial.event, denial.reason);
      return verdict;
    },
  };
}
