/** Sends JSON to a server that an operator has set: each message is a POST, and only the status of the answer counts. */

import { type Network, NetworkFailure, type NetworkRequest } from '../../application/ports/network.ts';
import type { Log, LogFields } from '../../application/ports/telemetry.ts';
import type { Secret } from '../../domain/secret.ts';

export interface ReceiverAddress {
  readonly url: string;
  /** Sent in the Authorization header, to an https URL only. */
  readonly bearerToken: Secret | undefined;
}

/** What the log says of a receiver. An outage is logged once, not for every message. */
interface ReceiverWords {
  readonly refused: string;
  readonly acceptedAgain: string;
  /** Of a fault of this service. */
  readonly notSent: string;
}

/** The receiver must answer within this time (specification "Sink"). */
const TIMEOUT_MS = 10_000;
/** Only the status of the response is used. A body within this size lets the connection be reused. */
const MAX_ANSWER_BYTES = 65_536;

type Verdict = { readonly taken: true } | { readonly taken: false; readonly why: LogFields };

/**
 * @returns sends the message that `make` returns, and whether the receiver took it. Never throws
 * @throws TypeError if the token would be sent unencrypted
 */
export function jsonReceiver(
  { url, bearerToken }: ReceiverAddress,
  purpose: NonNullable<NetworkRequest['purpose']>,
  words: ReceiverWords,
  network: Network,
  log: Log,
): (make: () => object) => Promise<boolean> {
  if (bearerToken !== undefined && new URL(url).protocol !== 'https:') {
    throw new TypeError('A bearer token is sent over https only.');
  }
  const headers = {
    'content-type': 'application/json',
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken.reveal()}` }),
  };

  const send = async (make: () => object): Promise<Verdict> => {
    try {
      const body = JSON.stringify(make());
      const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES };
      return judge((await network.send({ method: 'POST', url, headers, body, ...limits, purpose })).status);
    } catch (error) {
      if (!(error instanceof NetworkFailure)) {
        log.error(words.notSent, error);
        return { taken: false, why: { failure: 'A fault of this service.' } };
      }
      // The receiver answered with a longer body than this. Its status decides: a retry would end the same way.
      return error.status === undefined ? { taken: false, why: { failure: error.message } } : judge(error.status);
    }
  };

  let failing = false;
  return async (make) => {
    const verdict = await send(make);
    if (!verdict.taken && !failing) log.warn(words.refused, verdict.why);
    if (verdict.taken && failing) log.info(words.acceptedAgain);
    failing = !verdict.taken;
    return verdict.taken;
  };
}

function judge(status: number): Verdict {
  return status >= 200 && status <= 299 ? { taken: true } : { taken: false, why: { status } };
}
