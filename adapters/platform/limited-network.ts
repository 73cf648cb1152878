/** A network with one time limit for all requests of an examination. */

import type { Network } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { plusSeconds, secondsBetween } from '../../domain/instant.ts';

/** @param limitMs the time limit for all requests together, from this call on */
export function limitedNetwork(network: Network, clock: Clock, limitMs: number): Network {
  const end = plusSeconds(clock.now(), limitMs / 1000);
  return {
    send(request) {
      const left = Math.max(1, Math.floor(secondsBetween(clock.now(), end) * 1000));
      return network.send({ ...request, timeoutMs: Math.min(request.timeoutMs, left) });
    },
  };
}
