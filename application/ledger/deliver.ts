/** Delivers queued records to the sink (specification "Sink"). It runs in the background, never during a request. */

import type { Outbox, Sink } from '../ports/outbox.ts';
import type { Clock } from '../ports/runtime.ts';

interface Delivery {
  readonly outbox: Pick<Outbox, 'drain'>;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly batchSize: number;
}

/** Ends a pass even if records arrive as fast as they are delivered; the next pass continues. */
const MAX_BATCHES = 1000;

/**
 * Sends batches until no record is due, a batch fails, or `shouldContinue` returns false. A failed batch becomes due again
 * later (port Outbox). A sink that is down therefore gets one batch for each pass.
 *
 * @throws StorageUnavailable
 */
export async function deliverRecords(service: Delivery, shouldContinue: () => boolean = () => true): Promise<void> {
  const { outbox, sink, clock, batchSize } = service;
  for (let batch = 0; batch < MAX_BATCHES && shouldContinue(); batch += 1) {
    const drain = { now: clock.now(), limit: batchSize };
    const outcome = await outbox.drain(drain, (records) => sink.deliver(records));
    if (outcome.kind !== 'delivered') return;
  }
}
