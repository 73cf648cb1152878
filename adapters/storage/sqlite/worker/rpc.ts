/**
 * Calls methods of a worker thread over `postMessage`. The requests of one event loop turn share a message, or as many of them
 * as the thread takes in a batch: it then works while this thread goes on with its turn. The responses share a message too,
 * because a message costs more than its contents.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MessagePort, Worker } from 'node:worker_threads';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { BATCH_SIZE } from '../limits.ts';
import { deserializeError, type SerializedError, serializeError } from './errors.ts';

/** A message to the thread is a list of requests. */
type Request =
  | { readonly kind: 'call'; readonly id: number; readonly method: string; readonly args: readonly unknown[] }
  /** No request follows it. */
  | { readonly kind: 'close' };

type Response =
  | { readonly kind: 'opened'; readonly methods: readonly string[] }
  | { readonly kind: 'not_opened'; readonly error: SerializedError }
  | { readonly kind: 'answered'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SerializedError };

/** Arguments and results are copied by structured clone. */
export type Call = (method: string, args: readonly unknown[], limitMs: number) => Promise<unknown>;

/** The main thread's connection to a worker thread. */
export interface Client {
  /** The names of the methods that the thread serves. */
  readonly methods: readonly string[];
  /**
   * @param limitMs after this time the call is refused
   * @throws StorageUnavailable if the thread dies, or does not answer in time. It is then unknown whether a decision was
   * applied
   */
  readonly call: Call;
  /** The number of calls under way. */
  unanswered(): number;
  /** Resolves once all calls are answered and the thread has ended. */
  close(): Promise<void>;
  /** Resolves when the thread has ended: with the error that ended it, or `undefined` after `close`. */
  readonly ended: Promise<{ readonly fault: unknown } | undefined>;
}

interface PendingCall {
  readonly deadline: number;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** How often the deadlines are checked. They need not be exact. */
const CHECK_MS = 500;

/** @throws the error with which the thread failed to open */
export async function connectTo(worker: Worker): Promise<Client> {
  const pending = new Map<number, PendingCall>();
  let lastId = 0;
  let state: 'running' | 'closing' | 'ended' = 'running';
  let fault: unknown;

  const settle = (id: number, how: (call: PendingCall) => void): void => {
    const call = pending.get(id);
    pending.delete(id);
    if (call !== undefined) how(call);
  };

  const send = messageBatcher<Request>(
    BATCH_SIZE,
    (requests) => worker.postMessage(requests),
    setImmediate,
    (request, error) => {
      if (request.kind === 'call') settle(request.id, ({ reject }) => reject(error));
    },
  );

  const call: Call = (method, args, limitMs) =>
    new Promise((resolve, reject) => {
      if (state !== 'running') throw new StorageUnavailable('The database thread has ended');
      lastId += 1;
      pending.set(lastId, { deadline: performance.now() + limitMs, resolve, reject });
      send({ kind: 'call', id: lastId, method, args });
    });

  const checking = setInterval(() => {
    const now = performance.now();
    const late = [...pending].filter(([, { deadline }]) => deadline <= now);
    for (const [id] of late) {
      settle(id, ({ reject }) => reject(new StorageUnavailable('The database thread did not answer in time')));
    }
  }, CHECK_MS).unref();

  worker.on('error', (error) => {
    fault = error;
  });
  const ended: Client['ended'] = new Promise((resolve) => {
    worker.once('exit', () => {
      const death = state === 'closing' ? undefined : { fault };
      state = 'ended';
      clearInterval(checking);
      for (const { reject } of pending.values()) {
        reject(new StorageUnavailable('The database thread ended', { cause: fault }));
      }
      pending.clear();
      resolve(death);
    });
  });

  const opened = new Promise<readonly string[]>((resolve, reject) => {
    const receive = (response: Response): void => {
      switch (response.kind) {
        case 'answered':
          settle(response.id, (waiting) => waiting.resolve(response.answer));
          break;
        case 'failed':
          settle(response.id, ({ reject: fail }) => fail(deserializeError(response.error)));
          break;
        case 'opened':
          resolve(response.methods);
          break;
        case 'not_opened':
          reject(deserializeError(response.error));
          break;
      }
    };
    worker.on('message', (responses: readonly Response[]) => responses.forEach(receive));
    void ended.then(() => reject(fault ?? new StorageUnavailable('The database thread ended before it was open')));
  });

  const methods = await opened;
  return {
    methods,
    call,
    unanswered: () => pending.size,
    async close() {
      if (state === 'running') {
        send({ kind: 'close' });
        state = 'closing';
      }
      await ended;
    },
    ended,
  };
}

export interface Served {
  readonly methods: Methods;
  close(): Promise<void>;
}

/** The methods of a thread by their names. */
export type Methods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

/** Runs in the thread: opens what it serves, then runs the methods that are called. */
export async function serve(port: MessagePort, open: () => Promise<Served>): Promise<void> {
  // With `nextTick`, the responses of one batch are sent before the next batch begins.
  const send = messageBatcher<Response>(
    Number.POSITIVE_INFINITY,
    (responses) => port.postMessage(responses),
    process.nextTick,
    (response, error) => {
      if (response.kind !== 'answered') throw error;
      send({ kind: 'failed', id: response.id, error: serializeError(error) });
    },
  );

  let served: Served;
  try {
    served = await open();
  } catch (error) {
    send({ kind: 'not_opened', error: serializeError(error) });
    return;
  }
  const methods = new Map(Object.entries(served.methods));
  const running = new Set<Promise<void>>();

  async function run({ id, method, args }: Extract<Request, { kind: 'call' }>): Promise<void> {
    try {
      const called = methods.get(method);
      if (called === undefined) throw new Error('The database thread has no such method.');
      send({ kind: 'answered', id, answer: await called(...(args as never[])) });
    } catch (error) {
      send({ kind: 'failed', id, error: serializeError(error) });
    }
  }

  async function close(): Promise<void> {
    await Promise.all(running);
    await served.close();
    // The last responses are sent before the port closes.
    await nextTurn();
    port.close();
  }

  port.on('message', (requests: readonly Request[]) => {
    for (const request of requests) {
      if (request.kind === 'close') {
        void close();
        continue;
      }
      const call = run(request).finally(() => running.delete(call));
      running.add(call);
    }
  });
  send({ kind: 'opened', methods: [...methods.keys()] });
}

/**
 * @param most this many items are sent at once
 * @param post sends a list of items; throws if one of them cannot be cloned
 * @param soon schedules the sending
 * @param refuse handles an item that cannot be cloned
 */
function messageBatcher<Item>(
  most: number,
  post: (items: readonly Item[]) => void,
  soon: (flush: () => void) => void,
  refuse: (item: Item, error: unknown) => void,
): (item: Item) => void {
  let items: Item[] = [];

  const postOne = (item: Item): void => {
    try {
      post([item]);
    } catch (error) {
      refuse(item, error);
    }
  };

  const flush = (): void => {
    const batch = items;
    if (batch.length === 0) return;
    items = [];
    try {
      post(batch);
    } catch {
      // Nothing was sent, because an item cannot be cloned. If the items are sent one by one, the others arrive.
      batch.forEach(postOne);
    }
  };

  return (item) => {
    const waiting = items.push(item);
    if (waiting === 1) soon(flush);
    else if (waiting === most) flush();
  };
}
