/**
 * Limits the callers that wait for keys at an endpoint. A token that needs keys which are not cached may be forged. One client
 * and one silent host must not delay other requests. So a caller gives its permit back while it waits (`HeldPermit`), and each
 * endpoint bounds how many wait. Beyond the bound a caller gets the answer of a failed fetch at once.
 */

import type { HeldPermit } from '../../application/ports/keys.ts';
import type { Instant } from '../../domain/instant.ts';

/** Where keys are published. Key caches of one URI share this object. */
export interface KeyAddress {
  /** When the last fetch ended, if it ended at its time limit. */
  timedOutAt: Instant | undefined;
}

export function keyAddress(): KeyAddress {
  return { timedOutAt: undefined };
}

/** The callers of one endpoint that wait for keys. */
export interface KeyWaits {
  /**
   * Lets a caller wait for keys of this address. The caller calls the returned function when its wait ends.
   *
   * @returns `undefined` if too many wait already
   */
  enter(address: KeyAddress): (() => void) | undefined;
  readonly waiting: number;
}

/** The permit of a request, and the callers among which it waits. */
export interface Waiter {
  readonly among: KeyWaits;
  readonly permit: HeldPermit;
}

/** Waits without the permit. @returns false at once if too many wait already */
export async function waitWithoutPermit(
  { among, permit }: Waiter,
  address: KeyAddress,
  fetched: Promise<unknown>,
): Promise<boolean> {
  const leave = among.enter(address);
  if (leave === undefined) return false;
  const resume = permit?.pause();
  try {
    await fetched;
  } finally {
    resume?.();
    leave();
  }
  return true;
}

/** A second caller for an address would only hold a connection, because all share one fetch. Four silent hosts fill the bound. */
const MOST_STRANGERS = 4;
const MOST_STRANGERS_OF_ADDRESS = 1;

/**
 * Enough for all agents when the provider rotates its keys. Each caller holds a connection and a body of at most 64 KiB for
 * some seconds: 16 MiB together.
 */
const MOST_OTHERS = 256;

/** The callers of an endpoint at which any client may present a token. */
export function strangersWait(): KeyWaits {
  return keyWaits(MOST_STRANGERS, MOST_STRANGERS_OF_ADDRESS);
}

/**
 * The callers of an endpoint that are authenticated in another way, or that send a signal of the provider. A sender may not
 * repeat a refused signal, and the task that it should end would go on.
 */
export function manyWait(): KeyWaits {
  return keyWaits(MOST_OTHERS, MOST_OTHERS);
}

function keyWaits(most: number, mostOfAddress: number): KeyWaits {
  const ofAddress = new Map<KeyAddress, number>();
  let waiting = 0;
  return {
    enter(address) {
      const before = ofAddress.get(address) ?? 0;
      if (waiting >= most || before >= mostOfAddress) return undefined;
      waiting += 1;
      ofAddress.set(address, before + 1);
      return () => {
        waiting -= 1;
        const left = (ofAddress.get(address) ?? 1) - 1;
        if (left === 0) ofAddress.delete(address);
        else ofAddress.set(address, left);
      };
    },
    get waiting() {
      return waiting;
    },
  };
}
