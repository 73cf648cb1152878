/** The receiver of notices that an approval waits (`Service:Approvals:Notify`): each is a POST, and has no words of it. */

import type { NoticeReceiver } from '../../application/ports/approvals.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { jsonReceiver, type ReceiverAddress } from './json-receiver.ts';

const WORDS = {
  refused: 'the receiver of approval notices does not accept them: they stay queued',
  acceptedAgain: 'the receiver of approval notices accepts them again',
  notSent: 'a notice that an approval waits could not be sent',
};

/** @throws TypeError if the token would be sent unencrypted */
export function httpNotices(address: ReceiverAddress, network: Network, log: Log): NoticeReceiver {
  const send = jsonReceiver(address, 'notice', WORDS, network, log);
  return {
    send: ({ approvalId, sponsorKey }) => send(() => ({ approval_id: approvalId, sponsor_key: sponsorKey })),
  };
}
