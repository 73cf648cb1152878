/**
 * The connections of switches: decisions that end tasks, block people or disable agents. They have their own pool. If the
 * server gives it no connection, a switch borrows one of those for requests; requests never use the pool of switches. So
 * switches are the last to fail when connections are scarce.
 */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isTooManyConnections, NoConnection } from '../errors.ts';
import { keyedLimiter } from '../keyed-limiter.ts';
import { BORROWING_PAUSE_MS, type Limits, REVOKING_SHARES } from '../limits.ts';
import type { Run, Transactions } from './transactions.ts';
import { type IsThere, unlessSilent } from './watchdog.ts';

export interface Switches extends Readonly<Record<'operator' | 'person' | 'provider', Transactions>> {
  /** Refuses the transactions that wait for a permit, and all later ones. */
  close(): void;
}

/** Transactions that may use only some of the connections. */
interface Share extends Transactions {
  close(): void;
}

/** @param isThere whether the server answers, over a connection of another pool */
export function switchesOn(
  { revoking, requests }: Readonly<Record<'revoking' | 'requests', Transactions>>,
  { acquire }: Limits,
  isThere: IsThere,
): Switches {
  // A pool does not wait for one of its connections if the server refuses another one. So a switch asks again, and gets
  // one of those that requests give back: they do not ask again.
  const borrowing: Transactions = {
    async transact(work) {
      const until = performance.now() + acquire;
      for (;;) {
        try {
          return await revoking.transact(work).catch((error: unknown) => {
            if (!(error instanceof NoConnection)) throw error;
            return requests.transact(work);
          });
        } catch (error) {
          if (!isTooManyConnections(error) || performance.now() > until) throw error;
          await pause(randomInt(BORROWING_PAUSE_MS / 2, BORROWING_PAUSE_MS));
        }
      }
    },
  };

  /** Uses at most `size` of the connections. Calls that wait for one fail if the server stops answering. */
  const share = (size: number, of: Transactions = borrowing): Share => {
    const limiter = keyedLimiter(size, acquire);
    return {
      transact: (work) =>
        unlessSilent((aborted) => {
          // An aborted decision was already refused, so it must not run once it gets a connection.
          const unlessAborted = (run: Run) =>
            work(async (query, values) => {
              aborted.throwIfAborted();
              return run(query, values);
            });
          return limiter.run('', () => of.transact(unlessAborted));
        }, isThere),
      close: limiter.close,
    };
  };

  const operator = share(REVOKING_SHARES.operators);
  const person = share(REVOKING_SHARES.people, operator);
  const provider = share(REVOKING_SHARES.providers);
  return {
    operator,
    person,
    provider,
    close() {
      for (const each of [person, operator, provider]) each.close();
    },
  };
}
