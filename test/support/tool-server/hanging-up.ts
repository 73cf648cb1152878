/** A client that closes its connection while a Fastify server prepares its answer. */

import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** Adds hooks to the app. @returns a function that requests the URL, and returns whether a handler was reached */
export function hangingUp(app: FastifyInstance): (url: string) => Promise<boolean> {
  const client = new AbortController();
  let prepared: () => void;
  const ended = new Promise<void>((resolve) => {
    prepared = resolve;
  });
  let isReached = false;
  app.addHook('onSend', async (_request, reply) => {
    const closed = once(reply.raw, 'close');
    client.abort();
    await closed;
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    prepared();
  });
  app.addHook('preHandler', async () => {
    isReached = true;
  });
  return async (url) => {
    await fetch(url, { signal: client.signal }).catch(() => undefined);
    await ended;
    return isReached;
  };
}
