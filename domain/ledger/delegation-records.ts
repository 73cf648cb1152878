/** The records of hand-overs: what their `detail` says, and the events that the tree of tasks follows from. */

import type { AgentId, TaskId } from '../identifiers.ts';

/** The `detail` of `delegation.offered`. */
export function offeredDetail(offerId: string, child: AgentId): string {
  return `offer=${offerId}&child=${child}`;
}

/** The `detail` of `delegation.taken`, and of a take-up that was refused. */
export function takenDetail(offerId: string, parent: TaskId): string {
  return `offer=${offerId}&parent=${parent}`;
}

const OFFERED = /^offer=(offer_[0-9A-HJKMNP-TV-Z]{26})&child=([a-z0-9][a-z0-9._-]{0,127})$/;
const TAKEN = /^offer=(offer_[0-9A-HJKMNP-TV-Z]{26})&parent=(task_[0-9A-HJKMNP-TV-Z]{26})$/;

/** What the records of a ledger or a bundle say of a hand-over. Any text may stand in them. */
export interface DelegationRecord {
  readonly event: string;
  readonly detail?: string | undefined;
}

/** `undefined` for a record of another event, or one that names no offer. */
export function readOffered({ event, detail = '' }: DelegationRecord) {
  const [, offerId, child] = (event === 'delegation.offered' && OFFERED.exec(detail)) || [];
  return offerId === undefined || child === undefined ? undefined : { offerId, child };
}

/** `undefined` for a record of another event, or one that names no offer. */
export function readTaken({ event, detail = '' }: DelegationRecord) {
  const [, offerId, parent] = (event === 'delegation.taken' && TAKEN.exec(detail)) || [];
  return offerId === undefined || parent === undefined ? undefined : { offerId, parent };
}
