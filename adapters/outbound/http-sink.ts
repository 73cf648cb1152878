/**
 * The sink over HTTP (specification "Sink"): each batch is a POST of `{"records": [...]}`.
 *
 * Each file of this folder is a client of one server. The service calls the sink (here) and the log's witnesses
 * (http-witnesses.ts). The commands call running services: agent-registry.ts changes their agents, readiness-report.ts
 * reads `/readyz`, replica-keys.ts compares their published keys. `adapters/identity-provider` has the clients of the
 * provider.
 */

import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { Sink } from '../../application/ports/outbox.ts';
import type { Log, LogFields } from '../../application/ports/telemetry.ts';
import { type LedgerRecord, presentRecord } from '../../domain/ledger/record.ts';
import type { Secret } from '../../domain/secret.ts';

interface HttpSinkAddress {
  readonly url: string;
  /** Sent in the Authorization header, to an https URL only. */
  readonly bearerToken: Secret | undefined;
}

/** The sink must answer within this time (specification "Sink"). */
const TIMEOUT_MS = 10_000;
/** Only the status of the response is used. A body within this size lets the connection be reused. */
const MAX_ANSWER_BYTES = 65_536;

type Verdict = { readonly taken: true } | { readonly taken: false; readonly why: LogFields };

/** @throws TypeError if the token would be sent unencrypted */
export function httpSink({ url, bearerToken }: HttpSinkAddress, network: Network, log: Log): Sink {
  if (bearerToken !== undefined && new URL(url).protocol !== 'https:') {
    throw new TypeError('A bearer token is sent over https only.');
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
        purpose: 'records',
      } as const;
      return judge((await network.send(request)).status);
    } catch (error) {
      if (!(error instanceof NetworkFailure)) {
        log.error('a batch for the sink could not be sent', error);
        return { taken: false, why: { failure: 'A fault of this service.' } };
      }
      // The sink answered with a longer body than this. Its status decides: a retry would end the same way.
      return error.status === undefined ? { taken: false, why: { failure: error.message } } : judge(error.status);
    }
  };

  // An outage of the sink is logged once, not for every batch.
  let failing = false;
  return {
    async deliver(records) {
      const verdict = await send(records);
      if (!verdict.taken && !failing) log.warn('the sink does not accept records: they stay queued', verdict.why);
      if (verdict.taken && failing) log.info('the sink accepts records again');
      failing = !verdict.taken;
      return verdict.taken;
    },
  };
}

function judge(status: number): Verdict {
  return status >= 200 && status <= 299 ? { taken: true } : { taken: false, why: { status } };
}
