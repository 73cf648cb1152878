/**
 * Collects items into batches, so that decisions that wait together share one transaction (group commit). A batch holds
 * the items that were submitted in one event loop turn, or while other batches ran.
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
   * This many waiting items begin a batch at once, and fewer at the end of the event loop turn. Under load a turn serves all
   * requests that have arrived. The database then works meanwhile. By default all wait for the end of the turn.
   */
  readonly atOnce?: number;
  /**
   * The keys that the item uses. If two items use the same key, and one of them exclusively, they do not run at once: the
   * later one waits for a later batch, and they never change places. Otherwise items that share a key could keep one that
   * needs it exclusively waiting for ever. Items that both use the key `inTurn` may share a batch.
   */
  readonly uses?: (item: Item) => readonly Use[];
  /** Settles every item of the batch, and never throws. */
  readonly perform: (batch: readonly Item[]) => Promise<void>;
}

export interface Use {
  readonly key: string;
  readonly exclusive: boolean;
  /** Whether items that use this key `inTurn` may share a batch. `perform` handles them one after another. */
  readonly inTurn?: boolean;
}

export function collector<Item>(options: CollectorOptions<Item>): Collector<Item> {
  const { size, underWay, atOnce = Number.POSITIVE_INFINITY, uses = () => [], perform } = options;
  const waiting: Item[] = [];
  /** The exclusive and the shared keys of the batches under way. */
  const exclusive = new Set<string>();
  const shared = new Map<string, number>();
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
      const batch = takeBatch();
      // Every waiting item needs a key that a running batch uses. The end of that batch calls `schedule` again.
      if (batch.length === 0) return;
      running += 1;
      void perform(batch).finally(() => ended(batch));
    }
  }

  function ended(batch: readonly Item[]): void {
    running -= 1;
    for (const { key, exclusive: isExclusive } of batch.flatMap(uses)) {
      if (isExclusive) exclusive.delete(key);
      else if (shared.get(key) === 1) shared.delete(key);
      else shared.set(key, (shared.get(key) ?? 0) - 1);
    }
    if (waiting.length >= atOnce) start();
    else schedule();
    if (waiting.length > 0 || running > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  function takeBatch(): readonly Item[] {
    const batch: Item[] = [];
    const passed: Item[] = [];
    const inTurn = new Set<string>();
    /** The exclusive and the shared keys of the items that were passed. */
    const awaited = new Set<string>();
    const awaitedShared = new Set<string>();
    let read = 0;
    for (const item of waiting) {
      if (batch.length === size) break;
      read += 1;
      const used = uses(item);
      const mayGo = used.every(
        ({ key, exclusive: isExclusive, inTurn: isInTurn }) =>
          !awaited.has(key) &&
          !(isExclusive && awaitedShared.has(key)) &&
          ((isInTurn && inTurn.has(key)) || (!exclusive.has(key) && !(isExclusive && shared.has(key)))),
      );
      (mayGo ? batch : passed).push(item);
      if (!mayGo) {
        for (const { key, exclusive: isExclusive } of used) (isExclusive ? awaited : awaitedShared).add(key);
        continue;
      }
      for (const use of used) {
        if (use.inTurn) inTurn.add(use.key);
        if (use.exclusive) exclusive.add(use.key);
        else shared.set(use.key, (shared.get(use.key) ?? 0) + 1);
      }
    }
    waiting.splice(0, read, ...passed);
    return batch;
  }

  return {
    submit(item) {
      waiting.push(item);
      // Only the item that makes them enough: more wait if too many batches are under way, or their keys are in use.
      if (waiting.length === atOnce) start();
      else schedule();
    },

    drained: () =>
      new Promise((resolve) => {
        if (waiting.length === 0 && running === 0) resolve();
        else whenIdle.push(resolve);
      }),

    waiting: () => waiting.length,
  };
}
