/**
 * Hands the new records of the ledger to listeners, in the order of their numbers. One loop reads for all of them: every
 * record once, after all records with lower numbers are committed. A listener that continues from an earlier number first
 * gets the records up to the loop's position by itself.
 */

import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { TimeLimit, Turn } from '../ports/runtime.ts';
import { recordPages } from './record-pages.ts';

export interface RecordListener {
  /** Does not wait for the client. */
  take(records: readonly LedgerRecord[]): void;
  /** Resolves when the client has been sent everything taken so far, or is gone. */
  drained(): Promise<void>;
  /** Aborted when the client is gone. */
  readonly gone: AbortSignal;
}

export type Opened =
  /** `feed` must be called. It hands over records until the listener is gone or the stream closes. */
  | { readonly kind: 'opened'; feed(listener: RecordListener): Promise<void> }
  /** As many listeners as allowed are connected, or the service is stopping. */
  | { readonly kind: 'full' }
  /** No record has this number yet. */
  | { readonly kind: 'unknown_record' };

export interface RecordStream {
  /** @param after the number of the last record that the client has; `undefined` begins after the newest */
  open(after: number | undefined): Promise<Opened>;
  /** Hands the records since the last call to all listeners. Without listeners it does nothing. */
  advance(): Promise<void>;
  /** Ends all listeners, and refuses later ones. */
  close(): void;
}

/** Each listener is a connection, and gets every record. */
export const MAX_LISTENERS = 50;

/** About 200 KiB as JSON: a listener that reads none of two pages has most of its buffer left. */
const PAGE_SIZE = 500;

/** After a page, listeners get so long to read it before the next one is handed over. */
const PAGE_LIMIT_MS = 1_000;

export interface RecordStreaming {
  readonly ledger: Pick<Ledger, 'settledThrough'>;
  readonly checkpoints: Pick<Checkpoints, 'records'>;
  readonly turn: Turn;
  readonly timeLimit: TimeLimit;
}

interface Place {
  /** The number up to which the listener has the records, or does not want them. */
  through: number;
  readonly listener: RecordListener;
  end(): void;
}

export function recordStream({ ledger, checkpoints, turn, timeLimit }: RecordStreaming): RecordStream {
  const live = new Set<Place>();
  let taken = 0;
  let isClosed = false;
  /** The listeners of `live` have all records up to this number. */
  let position = 0;

  const pages = (after: number, through: number) =>
    recordPages({ ledger: checkpoints, turn, pageSize: PAGE_SIZE }, { firstSeq: after + 1, lastSeq: through });

  const give = (place: Place, records: readonly LedgerRecord[]): void => {
    const later = records.filter(({ seq }) => seq > place.through);
    place.through = later.at(-1)?.seq ?? place.through;
    if (later.length > 0) place.listener.take(later);
  };

  const isOver = ({ gone }: RecordListener): boolean => isClosed || gone.aborted;

  /** All numbers up to `target` are settled, so no record appears among them later. */
  const catchUp = async (place: Place, target: number): Promise<void> => {
    for await (const page of pages(place.through, target)) {
      give(place, page);
      await place.listener.drained();
      if (isOver(place.listener)) return;
    }
    place.through = Math.max(place.through, target);
  };

  const feed = async (listener: RecordListener, after: number, settled: number): Promise<void> => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const place: Place = { through: after, listener, end };
    // Nobody misses the records in between.
    if (live.size === 0) position = Math.max(position, settled);
    while (place.through < position && !isOver(listener)) await catchUp(place, position);
    if (isOver(listener)) return;
    // Without an `await` since the comparison: the loop might hand over a page meanwhile.
    live.add(place);
    listener.gone.addEventListener('abort', end, { once: true });
    await ended;
    live.delete(place);
  };

  return {
    async open(after) {
      if (taken >= MAX_LISTENERS || isClosed) return { kind: 'full' };
      taken += 1;
      const leave = () => {
        taken -= 1;
      };
      try {
        const settled = await ledger.settledThrough();
        if (after === undefined || after <= settled) {
          return { kind: 'opened', feed: (listener) => feed(listener, after ?? settled, settled).finally(leave) };
        }
      } catch (error) {
        leave();
        throw error;
      }
      leave();
      return { kind: 'unknown_record' };
    },

    async advance() {
      if (live.size === 0) return;
      const target = await ledger.settledThrough();
      for await (const page of pages(position, target)) {
        for (const place of live) give(place, page);
        position = page.at(-1)?.seq ?? position;
        if (live.size === 0) return;
        await timeLimit(Promise.all([...live].map(({ listener }) => listener.drained())), PAGE_LIMIT_MS);
      }
      position = Math.max(position, target);
    },

    close() {
      isClosed = true;
      for (const { end } of live) end();
    },
  };
}
