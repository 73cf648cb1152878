/** Tells a receiver that approvals wait (`Service:Approvals:Notify`). It runs in the background, never during a request. */

import { plusSeconds } from '../../domain/instant.ts';
import { waitAfter } from '../../domain/ledger/delivery.ts';
import type { ApprovalNotices, NoticeReceiver } from '../ports/approvals.ts';
import type { Clock } from '../ports/runtime.ts';

interface Notifying {
  readonly approvalNotices: ApprovalNotices;
  readonly receiver: NoticeReceiver;
  readonly clock: Clock;
}

/** Notices of one read. */
const BATCH_SIZE = 20;

/** Longer than the receiver may take to answer: no other instance sends a claimed notice meanwhile. */
const CLAIM_SECONDS = 60;

/**
 * Sends each notice that is due, until one fails or `shouldContinue` returns false. A receiver that is down therefore gets one
 * notice for each pass. A notice whose approval does not wait any more is dropped.
 *
 * @throws StorageUnavailable
 */
export async function notifyWaiting(
  { approvalNotices, receiver, clock }: Notifying,
  shouldContinue: () => boolean = () => true,
): Promise<void> {
  for (;;) {
    const due = await approvalNotices.due({ now: clock.now(), limit: BATCH_SIZE });
    for (const notice of due) {
      if (!shouldContinue()) return;
      const { approvalId, sponsorKey, failures, isWaiting } = notice;
      if (!(await approvalNotices.claim(notice, plusSeconds(clock.now(), CLAIM_SECONDS)))) continue;
      if (!isWaiting || (await receiver.send({ approvalId, sponsorKey }))) {
        await approvalNotices.remove(approvalId);
      } else {
        await approvalNotices.postpone(approvalId, plusSeconds(clock.now(), waitAfter(failures + 1)));
        return;
      }
    }
    if (due.length < BATCH_SIZE) return;
  }
}
