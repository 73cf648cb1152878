/** The rules for which records may follow which: those of approvals and those of hand-overs, for every program that verifies records. */

import { approvalOrder } from '../approvals/approval-order.ts';
import { delegationOrder, isOfDelegation } from '../delegation/delegation-order.ts';
import type { OrderFault } from '../ledger/order-fault.ts';
import type { LedgerRecord } from '../ledger/record.ts';

/** What a part of a ledger may lack. */
export interface Lacking {
  /** Records from before. */
  readonly older: boolean;
  /** Records of other tasks of a tree. */
  readonly others: boolean;
}

export interface RecordOrders {
  /** Takes the next record in the order in which the ledger has them. */
  fault(record: LedgerRecord, lacking: Lacking): OrderFault | undefined;
}

/** Whether a rule is about the record. */
export function isOrdered(record: Pick<LedgerRecord, 'event'>): boolean {
  return record.event.startsWith('approval.') || isOfDelegation(record);
}

export function recordOrders(): RecordOrders {
  const [approvals, delegation] = [approvalOrder(), delegationOrder()];
  return {
    fault: (record, { older, others }) => approvals.fault(record, older) ?? delegation.fault(record, older || others),
  };
}
