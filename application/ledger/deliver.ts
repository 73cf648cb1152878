/** Copies the records that wait for the sink (specification "Sink"). Never on the path of a request. */

import type { Clock } from '../ports/clock.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { Sink } from '../ports/sink.ts';

export interface Delivery {
  readonly outbox: Pick<Outbox, 'drain'>;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly batchSize: number;
}

/** So that a pass ends even where records come as fast as they go; the next one goes on. */
const MAX_BATCHES = 1000;

/**
 * Sends batch after batch until nothing is due any more, one fails, or `mayGoOn` says no. Who fails waits (Outbox), and
 * what became due meanwhile is for the next pass: a sink that is down gets one batch to refuse, not all of them.
 *
 * @throws StorageUnavailable
 */
export async function deliverRecords(service: Delivery, mayGoOn: () => boolean = () => true): Promise<void> {
  const { outbox, sink, clock, batchSize } = service;
  for (let batch = 0; batch < MAX_BATCHES && mayGoOn(); batch += 1) {
    const drain = { now: clock.now(), limit: batchSize };
    const outcome = await outbox.drain(drain, (records) => sink.deliver(records));
    if (outcome.kind !== 'delivered') return;
  }
}
