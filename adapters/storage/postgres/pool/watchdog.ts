/**
 * Aborts calls to a server that stopped answering. A kill switch that ends very many tasks may take most of a minute. If
 * the server is frozen, the operator gets an error within seconds instead.
 */

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { ServerSilent } from '../errors.ts';
import { SILENCE_MS, SILENT_QUESTIONS } from '../limits.ts';

/** Whether the server answers. */
export type IsThere = () => Promise<boolean>;

/**
 * Runs a call until it settles or the server stops answering. After ServerSilent it is unknown whether the call was
 * applied, so its connection must be destroyed. The signal keeps a call that still waits for a connection from
 * starting.
 *
 * @throws ServerSilent
 */
export async function unlessSilent<Answer>(
  begin: (aborted: AbortSignal) => Promise<Answer>,
  isThere: IsThere,
  silenceMs: number = SILENCE_MS,
): Promise<Answer> {
  const over = new AbortController();
  const call = begin(over.signal);
  try {
    return await Promise.race([call, untilSilent(isThere, silenceMs, over.signal)]);
  } finally {
    over.abort(new ServerSilent(SILENT));
    // A call that was abandoned fails later, when its connection is destroyed.
    call.catch(() => undefined);
  }
}

const SILENT = 'Postgres stopped answering';

async function untilSilent(isThere: IsThere, silenceMs: number, signal: AbortSignal): Promise<never> {
  for (let unanswered = 0; unanswered < SILENT_QUESTIONS; ) {
    if (unanswered === 0) await pause(silenceMs, undefined, { signal });
    unanswered = (await isThere()) ? 0 : unanswered + 1;
    signal.throwIfAborted();
  }
  throw new ServerSilent(SILENT);
}

/** @param ask sends any statement, with a time limit of about a second. Concurrent callers share one */
export function serverIsThere(ask: () => Promise<unknown>): IsThere {
  let asking: Promise<boolean> | undefined;
  const isAnswered = () =>
    ask().then(
      () => true,
      // An error from the server is an answer too, for example "too many connections".
      (error: unknown) => error instanceof StorageUnavailable && error.cause instanceof pg.DatabaseError,
    );
  return () => {
    asking ??= isAnswered().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}
