/** What `approvalOrder` and `delegationOrder` find in a ledger or in a bundle, and its sentence. */

export interface ApprovalFault {
  readonly kind: 'approval_order';
  readonly approvalId: string;
  readonly problem: /** The record has another task, agent, person, audience, digest or commitment than those before. */
    | 'other_names'
    /** The ledger has no request before it. */
    | 'no_request'
    /** It cannot follow the record before it. */
    | 'order';
}

export interface DelegationFault {
  readonly kind: 'delegation_order';
  readonly taskId: string;
  /** `undefined` for a token. */
  readonly offerId?: string;
  readonly problem: /** The offer was for another agent, person, audience or depth, or for fewer scopes. */
    | 'other_terms'
    /** The ledger has no offer before it. */
    | 'no_offer'
    /** The ledger has no token of the new task before it that names the same. */
    | 'no_token'
    /** The offer was made before, or taken up before. */
    | 'twice'
    /** The task that delegates, or one above it, had ended, or had not begun. */
    | 'not_live';
}

export type OrderFault = ApprovalFault | DelegationFault;

const APPROVAL_PROBLEMS: Readonly<Record<ApprovalFault['problem'], string>> = {
  other_names: 'it has another task, agent, person, audience, digest or commitment than the records before it',
  no_request: 'no request is before it',
  order: 'it cannot follow the records before it, because a yes is said at most once, and used at most once after that',
};

const DELEGATION_PROBLEMS: Readonly<Record<DelegationFault['problem'], string>> = {
  other_terms: 'the offer was for another agent, person, audience or depth, or for fewer scopes',
  no_offer: 'no offer is before it',
  no_token: 'no token of the task that names the same is before it',
  twice: 'an offer is made once, and taken up at most once',
  not_live: 'the task that delegates, or one above it, was not live any more, or not yet',
};

/** @param seq of the record */
export function describeOrderFault(seq: number | string, fault: OrderFault): string {
  if (fault.kind === 'approval_order') {
    return `Record ${seq} does not belong to the records of ${fault.approvalId}: ${APPROVAL_PROBLEMS[fault.problem]}.`;
  }
  const { taskId, offerId = taskId, problem } = fault;
  return `Record ${seq} does not belong to the hand-overs of ${offerId}: ${DELEGATION_PROBLEMS[problem]}.`;
}
