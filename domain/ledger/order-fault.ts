/** What `approvalOrder` of domain/approvals finds in a ledger or in a bundle, and its sentence. */

export interface OrderFault {
  readonly approvalId: string;
  readonly problem: /** The record has another task, agent, person, audience, digest or commitment than those before. */
    | 'other_names'
    /** The ledger has no request before it. */
    | 'no_request'
    /** It cannot follow the record before it. */
    | 'order';
}

const PROBLEMS: Readonly<Record<OrderFault['problem'], string>> = {
  other_names: 'it has another task, agent, person, audience, digest or commitment than the records before it',
  no_request: 'no request is before it',
  order: 'it cannot follow the records before it, because a yes is said at most once, and used at most once after that',
};

/** @param seq of the record */
export function describeOrderFault(seq: number | string, { approvalId, problem }: OrderFault): string {
  return `Record ${seq} does not belong to the records of ${approvalId}: ${PROBLEMS[problem]}.`;
}
