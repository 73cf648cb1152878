/**
 * Checks the order of approvals' records in a ledger or in a bundle. All records of an approval have the same names, digest
 * and commitment; each state follows one that it can follow. So an approval has at most one yes, which is used at most once,
 * and only after it was said. The owner of the database can make a service record otherwise, and no seal shows that.
 *
 * Of an approval that is over only its id is kept: some 100 bytes, so 30 MB for a million records.
 */

import type { ApprovalFault } from '../ledger/order-fault.ts';
import type { ApprovalState } from './approval.ts';
import { isOpen } from './approval.ts';
import { type ApprovalRecord, namesOfRecord, sharedNames, stateAfter, stateOfEvent } from './approval-records.ts';

export interface ApprovalOrder {
  /**
   * Takes the next record.
   * @param lacksOlder whether older records may be missing. The first record of an approval may then be any.
   */
  fault(record: ApprovalRecord, lacksOlder: boolean): ApprovalFault | undefined;
}

export function approvalOrder(): ApprovalOrder {
  const open = new Map<string, { state: ApprovalState; readonly shared: string }>();
  const over = new Set<string>();
  return {
    fault(record, lacksOlder) {
      if (!record.event.startsWith('approval.')) return undefined;
      const names = namesOfRecord(record);
      // No approval is named, so nothing is said of one.
      if (names === undefined) return undefined;
      const { approvalId } = names;
      const fault = (problem: ApprovalFault['problem']) => ({ kind: 'approval_order', approvalId, problem }) as const;
      if (over.has(approvalId)) return fault('order');
      const known = open.get(approvalId);
      const first = stateAfter(undefined, record.event) ?? (lacksOlder ? stateOfEvent(record.event) : undefined);
      const state = known === undefined ? first : stateAfter(known.state, record.event);
      if (state === undefined) return fault(known === undefined ? 'no_request' : 'order');
      const shared = known?.shared ?? sharedNames(names);
      if (known !== undefined && shared !== sharedNames(names)) return fault('other_names');
      open.delete(approvalId);
      // The id is a part of a longer text, which would stay in memory with it.
      const id = Buffer.from(approvalId, 'latin1').toString('latin1');
      if (isOpen({ state })) open.set(id, { state, shared });
      else over.add(id);
      return undefined;
    },
  };
}
