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

/** A person gets one notice in this time. At its end one notice follows for the approvals that came meanwhile and still wait. */
const SECONDS_BETWEEN = 60;

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
    for (const { approvalId, sponsorKey, failures, isWaiting } of due) {
      if (!shouldContinue()) return;
      if (!isWaiting) {
        await approvalNotices.remove(approvalId);
        continue;
      }
      const now = clock.now();
      const claimedUntil = plusSeconds(now, CLAIM_SECONDS);
      // One of the same person may have been sent in this pass.
      if (!(await approvalNotices.claim({ sponsorKey, now, until: claimedUntil }))) continue;
      if (await receiver.send({ approvalId, sponsorKey })) {
        const until = plusSeconds(clock.now(), SECONDS_BETWEEN);
        await approvalNotices.sent({ approvalId, sponsorKey, claimedUntil, until });
      } else {
        const until = plusSeconds(clock.now(), waitAfter(failures + 1));
        await approvalNotices.postpone({ sponsorKey, claimedUntil, until });
        return;
      }
    }
    if (due.length < BATCH_SIZE) return;
  }
}
