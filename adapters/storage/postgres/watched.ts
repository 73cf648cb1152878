/** Connections whose calls end once Postgres stops answering, and the question that finds out. */

import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Connections } from './connections.ts';
import { type IsThere, unlessSilent } from './silence.ts';

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
