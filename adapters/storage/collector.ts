/**
 * Collects items into batches, so that decisions that wait together share one transaction (group commit). What has come
 * by the end of a turn of the event loop goes as one batch, and so does what has come while other batches were under way.
 */

export interface Collector<Item> {
  submit(item: Item): void;
  /** Resolves when no item waits and no batch is under way. */
  drained(): Promise<void>;
  /** The number of items that are in no batch yet. */
  waiting(): number;
}

export interface CollectorOptions<Item> {
  /** The maximum number of items in a batch. */
  readonly size: number;
  /** The maximum number of batches under way. */
  readonly underWay: number;
  /**
   * Whether the item may share this batch, which is never empty. Otherwise it waits for a later batch, and items behind
   * it may go first. All other items go in the order in which they came.
   */
  readonly mayJoin?: (batch: readonly Item[], item: Item) => boolean;
  /** Settles every item of the batch. Never throws. */
  readonly perform: (batch: readonly Item[]) => Promise<void>;
}

export function collector<Item>({
  size,
  underWay,
  mayJoin = () => true,
  perform,
}: CollectorOptions<Item>): Collector<Item> {
  const waiting: Item[] = [];
  let running = 0;
  let isScheduled = false;
  let whenIdle: (() => void)[] = [];

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || running >= underWay) return;
    isScheduled = true;
    setImmediate(start);
  }

  function start(): void {
    isScheduled = false;
    while (waiting.length > 0 && running < underWay) {
      running += 1;
      void perform(takeBatch()).finally(ended);
    }
  }

  function ended(): void {
    running -= 1;
    schedule();
    if (waiting.length > 0 || running > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  function takeBatch(): readonly Item[] {
    const batch: Item[] = [];
    const passed: Item[] = [];
    let read = 0;
    for (const item of waiting) {
      if (batch.length === size) break;
      read += 1;
      (batch.length === 0 || mayJoin(batch, item) ? batch : passed).push(item);
    }
    waiting.splice(0, read, ...passed);
    return batch;
  }

  return {
    submit(item) {
      waiting.push(item);
      schedule();
    },

    drained: () =>
      new Promise((resolve) => {
        if (waiting.length === 0 && running === 0) resolve();
        else whenIdle.push(resolve);
      }),

    waiting: () => waiting.length,
  };
}
