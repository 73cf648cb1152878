/** The sink over HTTP (specification "Sink"): each batch is one POST of `{"records": [...]}`. */

import type { Log, LogFields } from '../../application/ports/log.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { Sink } from '../../application/ports/sink.ts';
import { type LedgerRecord, presentRecord } from '../../domain/ledger/record.ts';
import type { Secret } from '../../domain/secret.ts';

export interface HttpSinkAddress {
  readonly url: string;
  /** Presented in the Authorization header; only where the URL is an https one. */
  readonly bearerToken: Secret | undefined;
}

/** Specification "Sink". */
const TIMEOUT_MS = 10_000;
/** Nothing of the answer is used but its status; what fits here lets the connection be kept. */
const MAX_ANSWER_BYTES = 65_536;

type Verdict = { readonly taken: true } | { readonly taken: false; readonly why: LogFields };

/** @throws TypeError for a token that would travel in the clear */
export function httpSink({ url, bearerToken }: HttpSinkAddress, network: Network, log: Log): Sink {
  if (bearerToken !== undefined && new URL(url).protocol !== 'https:') {
    throw new TypeError('A bearer token is presented over https only.');
  }
  const headers = {
    'content-type': 'application/json',
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken.reveal()}` }),
  };

  const send = async (records: readonly LedgerRecord[]): Promise<Verdict> => {
    try {
      const body = JSON.stringify({ records: records.map(presentRecord) });
      const request = {
        method: 'POST',
        url,
        headers,
        body,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_ANSWER_BYTES,
      } as const;
      return judge((await network.send(request)).status);
    } catch (error) {
      if (!(error instanceof NetworkFailure)) {
        log.error('a batch for the sink could not be sent', error);
        return { taken: false, why: { failure: 'A fault of this service.' } };
      }
      // It has answered all the same, with more than we read: sent again and again, the batch would never be done.
      return error.status === undefined ? { taken: false, why: { failure: error.message } } : judge(error.status);
    }
  };

  // A sink that is down is told of once, not with every batch.
  let failing = false;
  return {
    async deliver(records) {
      const verdict = await send(records);
      if (!verdict.taken && !failing) log.warn('the sink does not take records: they wait', verdict.why);
      if (verdict.taken && failing) log.info('the sink takes records again');
      failing = !verdict.taken;
      return verdict.taken;
    },
  };
}

function judge(status: number): Verdict {
  return status >= 200 && status <= 299 ? { taken: true } : { taken: false, why: { status } };
}
