/**
 * The sink over HTTP (specification "Sink"): each batch is a POST of `{"records": [...]}`.
 *
 * Each file of this folder is a client of one server. The service calls the sink (here), the receiver of notices that an
 * approval waits (http-notices.ts) and the log's witnesses (http-witnesses.ts). The commands call running services:
 * agent-registry.ts changes their agents, readiness-report.ts reads `/readyz`, replica-keys.ts compares their published
 * keys. `adapters/identity-provider` has the clients of the provider.
 */

import type { Network } from '../../application/ports/network.ts';
import type { Sink } from '../../application/ports/outbox.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { presentRecord } from '../../domain/ledger/record.ts';
import { jsonReceiver, type ReceiverAddress } from './json-receiver.ts';

const WORDS = {
  refused: 'the sink does not accept records: they stay queued',
  acceptedAgain: 'the sink accepts records again',
  notSent: 'a batch for the sink could not be sent',
};

/** @throws TypeError if the token would be sent unencrypted */
export function httpSink(address: ReceiverAddress, network: Network, log: Log): Sink {
  const send = jsonReceiver(address, 'records', WORDS, network, log);
  return { deliver: (records) => send(() => ({ records: records.map(presentRecord) })) };
}
