/** The other end of a database thread: does what the main thread calls for, and answers it. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import type { Log } from '../../../../application/ports/telemetry.ts';
import { carryError } from './carried-error.ts';
import { gathered } from './gathered.ts';
import type { FromDatabase, ToDatabase } from './messages.ts';
import { methodsOf, shapeOf } from './remote.ts';

export interface Opened {
  /** Methods, plain data, and parts with these. */
  readonly served: object;
  close(): Promise<void>;
}

/** @param open is given a log whose lines are written by the main thread */
export async function serveCalls(port: MessagePort, open: (log: Log) => Promise<Opened>): Promise<void> {
  // Ticks come after the microtasks: whatever one batch answered leaves at once, before the next batch is begun.
  const send = gathered<FromDatabase>(
    (items) => port.postMessage(items),
    process.nextTick,
    (item, error) => {
      if (item.kind !== 'done') throw error;
      send({ kind: 'failed', id: item.id, error: carryError(error) });
    },
  );

  let opened: Opened;
  try {
    opened = await open(logTo(send));
  } catch (error) {
    send({ kind: 'not_opened', error: carryError(error) });
    return;
  }
  const methods = methodsOf(opened.served);
  const underWay = new Set<Promise<void>>();

  async function perform({ id, name, given }: Extract<ToDatabase, { kind: 'call' }>): Promise<void> {
    try {
      const method = methods.get(name);
      if (method === undefined) throw new Error('The database thread serves no such method.');
      send({ kind: 'done', id, answer: await method(...given) });
    } catch (error) {
      send({ kind: 'failed', id, error: carryError(error) });
    }
  }

  async function close(): Promise<void> {
    await Promise.all(underWay);
    await opened.close();
    // What was answered last is still to be sent.
    await nextTurn();
    port.close();
  }

  port.on('message', (items: readonly ToDatabase[]) => {
    for (const item of items) {
      if (item.kind === 'close') {
        void close();
        continue;
      }
      const performing = perform(item).finally(() => underWay.delete(performing));
      underWay.add(performing);
    }
  });
  send({ kind: 'opened', shape: shapeOf(opened.served) });
}

function logTo(send: (item: FromDatabase) => void): Log {
  const line =
    (level: 'info' | 'warn'): Log['info'] =>
    (message, fields) =>
      send({ kind: 'logged', level, message, fields, cause: undefined });
  return {
    info: line('info'),
    warn: line('warn'),
    error: (message, cause, fields) =>
      send({ kind: 'logged', level: 'error', message, fields, cause: carryError(cause) }),
  };
}
