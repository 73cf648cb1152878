/**
 * The records of one approval: which may follow which, and whether a stored approval is the one that they are about. The row
 * of an approval is no evidence: the owner of the database can change it. So nothing of it counts before it was compared.
 */

import type { AgentId, TaskId } from '../identifiers.ts';
import type { Compared, Difference } from '../ledger/compared.ts';
import {
  type Approval,
  type ApprovalDetail,
  type ApprovalState,
  openStates,
  parseApprovalDetail,
  WORDS_CHANGED,
} from './approval.ts';
import { commitmentText } from './commitment.ts';
import { isRecordedSays } from './recorded-says.ts';

/** What a record says of its approval. */
export interface ApprovalRecord extends Partial<RecordNames> {
  readonly event: string;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
}

/** Whom and what a record names. */
interface RecordNames {
  readonly taskId: string | undefined;
  readonly agentId: string | undefined;
  /** The person (`sub`). */
  readonly sponsor: string | undefined;
  readonly audience: string | undefined;
}

/** The events of approvals, each with the state that it begins, and the states that it may follow. */
const STEPS = {
  'approval.requested': { state: 'pending', after: [undefined] },
  'approval.granted': { state: 'granted', after: ['pending'] },
  'approval.refused': { state: 'refused', after: ['pending'] },
  'approval.used': { state: 'used', after: ['granted'] },
  'approval.expired': { state: 'expired', after: openStates },
  'approval.withdrawn': { state: 'withdrawn', after: openStates },
} as const satisfies Readonly<
  Record<string, { readonly state: ApprovalState; readonly after: readonly (ApprovalState | undefined)[] }>
>;

export const approvalEvents = Object.keys(STEPS) as readonly (keyof typeof STEPS)[];

function isApprovalEvent(event: string): event is keyof typeof STEPS {
  return Object.hasOwn(STEPS, event);
}

/** What all records of an approval share. */
export type ApprovalNames = RecordNames & ApprovalDetail;

/** `undefined` for a record that is about no approval. */
export function namesOfRecord({ event, detail, ...record }: ApprovalRecord): ApprovalNames | undefined {
  const named = isApprovalEvent(event) ? parseApprovalDetail(detail) : undefined;
  if (named === undefined) return undefined;
  const { taskId, agentId, sponsor, audience } = record;
  return { ...named, taskId, agentId, sponsor, audience };
}

/** The approval of a record, and the state that it begins. `undefined` for a record that begins none. */
export function stepOfRecord({
  event,
  detail,
}: Pick<ApprovalRecord, 'event' | 'detail'>):
  | { readonly approvalId: string; readonly state: ApprovalState }
  | undefined {
  const state = stateOfEvent(event);
  const approvalId = parseApprovalDetail(detail)?.approvalId;
  return state === undefined || approvalId === undefined ? undefined : { approvalId, state };
}

/** The names that records of one approval share, as one text. */
export function sharedNames({ taskId, agentId, sponsor, audience, digest, commitment }: ApprovalNames): string {
  return JSON.stringify([taskId, agentId, sponsor, audience, digest, commitment]);
}

/** `undefined` if the event cannot follow this state. @param state `undefined` before the first record */
export function stateAfter(state: ApprovalState | undefined, event: string): ApprovalState | undefined {
  const step = isApprovalEvent(event) ? STEPS[event] : undefined;
  const after: readonly (ApprovalState | undefined)[] = step?.after ?? [];
  return after.includes(state) ? step?.state : undefined;
}

/** The state that an event begins, whatever came before it. */
export function stateOfEvent(event: string): ApprovalState | undefined {
  return isApprovalEvent(event) ? STEPS[event].state : undefined;
}

/** Whom and what the records of an approval name: the task, its agent, its person (`sub`) and its audience. */
export interface ApprovalOrigin {
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly sponsor: string;
  readonly audience: string;
}

/** What of a stored approval is compared, and the time of its first record. */
type ComparedApproval = Pick<
  Approval,
  | 'approvalId'
  | 'taskId'
  | 'digest'
  | 'commitment'
  | 'salt'
  | 'title'
  | 'lines'
  | 'state'
  | 'requestedAt'
  | 'wordsChanged'
  | 'says'
>;

/**
 * Compares the row of an approval with the records that name its id, in their order. The times of the row are not compared:
 * they shorten or lengthen the wait, and say nothing of the yes.
 *
 * @param digest SHA-256 in lowercase hex
 */
export function compareApproval<Row extends ComparedApproval>(
  digest: (text: string) => string,
  row: Row,
  records: readonly ApprovalRecord[],
): Compared<Row, ApprovalOrigin> {
  const differs = (how: Difference['how'], written?: Difference['written']) =>
    ({
      kind: 'differs',
      row,
      difference: { what: 'approval', id: row.approvalId, how, ...(written && { written }) },
    }) as const;
  const [first] = records;
  const request = first && namesOfRecord(first);
  if (request === undefined || first?.event !== 'approval.requested') {
    return differs('no_record', { at: row.requestedAt });
  }
  const state = stateOfRecords(records, sharedNames(request));
  if (state === undefined) return differs('records');
  const { taskId, agentId, sponsor, audience } = request;
  if (agentId === undefined || sponsor === undefined || audience === undefined) return differs('records');
  const isNamed = request.approvalId === row.approvalId && taskId === row.taskId && request.digest === row.digest;
  if (!isNamed || request.commitment !== row.commitment) return differs('names');
  if (digest(commitmentText(row)) !== row.commitment) return differs('text');
  const wordsChanged = records.at(-1)?.reason === WORDS_CHANGED;
  if (state !== row.state || wordsChanged !== row.wordsChanged) return differs('state');
  if (!isRecordedSays(digest, row.says, saysHashOf(records))) return differs('text');
  return { kind: 'same', row, record: { taskId: row.taskId, agentId: agentId as AgentId, sponsor, audience } };
}

/** Compares the person who is to answer with the record. @param keysAreSubjects whether people's sponsor keys are their `sub` */
export function comparePerson<Row extends Pick<Approval, 'approvalId' | 'sponsorKey'>>(
  compared: Compared<Row, ApprovalOrigin>,
  keysAreSubjects: boolean,
): Compared<Row, ApprovalOrigin> {
  if (compared.kind === 'differs') return compared;
  const { row, record } = compared;
  if (!keysAreSubjects || row.sponsorKey === record.sponsor) return compared;
  return { kind: 'differs', row, difference: { what: 'approval', id: row.approvalId, how: 'names' } };
}

/** `undefined` if the records have not all these names, or one of them cannot follow the one before it. */
function stateOfRecords(records: readonly ApprovalRecord[], shared: string): ApprovalState | undefined {
  let state: ApprovalState | undefined;
  for (const record of records) {
    const names = namesOfRecord(record);
    state = stateAfter(state, record.event);
    if (state === undefined || names === undefined || sharedNames(names) !== shared) return undefined;
    if (names.saysHash !== undefined && state !== 'refused') return undefined;
  }
  return state;
}

/** The hash of the line with which the person refused; `undefined` if they wrote none, or did not refuse. */
function saysHashOf(records: readonly ApprovalRecord[]): string | undefined {
  const refusal = records.find(({ event }) => event === 'approval.refused');
  return refusal && namesOfRecord(refusal)?.saysHash;
}
