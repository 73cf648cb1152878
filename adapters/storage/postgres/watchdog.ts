/**
 * Ends a call that waits for a server which answers nobody. What may take a minute because there is much to do must not
 * take a minute because the server is frozen: an operator at a kill switch is told within seconds that it did not answer.
 */

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Connections } from './connections.ts';
import { ServerSilent } from './errors.ts';
import { SILENCE_MS, SILENT_QUESTIONS } from './limits.ts';

export type IsThere = () => Promise<boolean>;

/**
 * The call's answer, or an error after which its connection must not be used again: whether it was applied is unknown.
 *
 * @throws ServerSilent
 */
export async function unlessSilent<Answer>(call: Promise<Answer>, isThere: IsThere): Promise<Answer> {
  const over = new AbortController();
  try {
    return await Promise.race([call, untilSilent(isThere, over.signal)]);
  } finally {
    over.abort();
    // It ends with its connection.
    call.catch(() => undefined);
  }
}

async function untilSilent(isThere: IsThere, signal: AbortSignal): Promise<never> {
  for (let unanswered = 0; unanswered < SILENT_QUESTIONS; ) {
    if (unanswered === 0) await pause(SILENCE_MS, undefined, { signal });
    unanswered = (await isThere()) ? 0 : unanswered + 1;
    signal.throwIfAborted();
  }
  throw new ServerSilent('Postgres answers nobody');
}

/** Connections whose calls end once Postgres stops answering, and the question that finds out. */

const question = { name: 'is_there', text: 'select 1' };

/** @param connections with short limits, so that the answer comes within two seconds; one question at a time */
export function serverIsThere({ run }: Pick<Connections, 'run'>): IsThere {
  let asking: Promise<boolean> | undefined;
  const ask = () =>
    run(question).then(
      () => true,
      // A refusal is an answer, if only "too many connections".
      (error: unknown) => error instanceof StorageUnavailable && error.cause instanceof pg.DatabaseError,
    );
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

/** The same connections, but a call that waits gives up once `isThere` says that the server is gone. */
export function watched(
  { run, transact }: Pick<Connections, 'run' | 'transact'>,
  isThere: IsThere,
): Pick<Connections, 'run' | 'transact'> {
  return {
    run: (query, values) => unlessSilent(run(query, values), isThere),
    transact: (work) => unlessSilent(transact(work), isThere),
  };
}
