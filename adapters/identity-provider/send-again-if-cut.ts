/**
 * Sends a request to the provider once more, on a new connection, if its connection broke before any byte of an answer
 * (supplement "Blocks, poll mode, health"). A provider that restarts resets all idle connections at once.
 */

import {
  type Network,
  type NetworkAnswer,
  NetworkFailure,
  type NetworkRequest,
} from '../../application/ports/network.ts';

/** @param request makes the request, for each attempt: a client assertion is accepted only once */
export async function sendAgainIfCut(
  network: Network,
  request: () => Promise<NetworkRequest> | NetworkRequest,
): Promise<NetworkAnswer> {
  try {
    return await network.send(await request());
  } catch (cause) {
    if (!(cause instanceof NetworkFailure) || !cause.cut) throw cause;
    return network.send({ ...(await request()), newConnection: true });
  }
}
