/**
 * Denials that name nobody, of every surface of one instance: written, or counted and summarised (specification
 * "Aggregation"). They are answered even where the ledger can't take them; such a one is counted into the next summary
 * (decisions "Token endpoint"). Where the database did not say whether it took a record, that one is counted as well:
 * rather twice than not at all.
 */

import { type AnonymousDenial, aggregation, type Summary } from '../../domain/ledger/aggregation.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Log } from '../ports/log.ts';
import { StorageUnavailable } from '../ports/storage-unavailable.ts';

export interface AnonymousDenials {
  /**
   * Writes or counts one denial. Where the database does not answer it returns all the same.
   *
   * @returns `undefined` where it was counted: there is nothing to wait for
   */
  record(denial: AnonymousDenial): Promise<void> | undefined;

  /**
   * Writes the summaries of windows that have ended. What could not be written is kept, and counted on.
   *
   * @throws StorageUnavailable
   */
  closeEnded(): Promise<void>;

  /** Writes all that is counted, once no more requests come. What can't be written now is lost, and logged instead. */
  closeAll(): Promise<void>;
}

export interface DenialLedger {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** @param windowSeconds `undefined` to write every denial as a record of its own */
export function anonymousDenials(service: DenialLedger, windowSeconds: number | undefined): AnonymousDenials {
  return windowSeconds === undefined ? eachByItself(service) : aggregated(service, windowSeconds);
}

function eachByItself(service: DenialLedger): AnonymousDenials {
  return {
    record: (denial) => answeredAnyway(service, denial, () => append(service, denial)),
    closeEnded: async () => undefined,
    closeAll: async () => undefined,
  };
}

function aggregated(service: DenialLedger, windowSeconds: number): AnonymousDenials {
  const { clock, log } = service;
  const windows = aggregation(windowSeconds);

  /** Writes summaries in turn; from the first that fails on, all are given back. */
  const write = async (summaries: readonly Summary[]): Promise<void> => {
    let written = 0;
    try {
      for (const summary of summaries) {
        await append(service, summary);
        written += 1;
      }
    } catch (error) {
      for (const summary of summaries.slice(written)) windows.giveBack(summary, summary.count);
      throw error;
    }
  };

  // One after another, so that whoever waits for the end of a window finds its summary written, whoever wrote it.
  let writing: Promise<void> = Promise.resolve();
  const writeNext = (take: () => readonly Summary[]): Promise<void> => {
    const next = writing.then(() => write(take()));
    writing = next.catch(() => undefined);
    return next;
  };

  return {
    record(denial) {
      // Nothing is awaited between asking and opening the window: of many at once exactly one is the first.
      const occurrence = windows.occurred(denial, clock.now());
      if (occurrence.kind === 'counted') return undefined;
      return answeredAnyway(service, denial, async () => {
        try {
          if (occurrence.ended !== undefined) await write([occurrence.ended]);
          await append(service, denial);
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
        log.error('denials that name nobody were counted, and could not be written before the end', error);
        for (const { event, reason, count } of windows.takeAll()) {
          log.warn('counted denials are lost to the ledger', { event, reason, count });
        }
      }
    },
  };
}

function append({ ledger, clock }: DenialLedger, denial: AnonymousDenial | Summary): Promise<void> {
  const { event, reason } = denial;
  const count = 'count' in denial ? { count: denial.count } : {};
  return ledger.append({ at: clock.now(), event, decision: 'deny', reason, ...count });
}

/** Without a window nothing can be counted on: what the database did not take then stands in the log alone. */
async function answeredAnyway(
  { log }: DenialLedger,
  { event, reason }: AnonymousDenial,
  record: () => Promise<void>,
): Promise<void> {
  try {
    await record();
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    log.warn('a refusal that names nobody could not be recorded', { event, reason });
  }
}
