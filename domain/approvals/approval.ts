/**
 * An approval: a person's yes to one action of one task, which the agent can use once. The tool server describes the action
 * (approval-request.ts), the person reads these words, and the ledger keeps a commitment to them (commitment.ts).
 *
 * The states:
 *
 * - `pending`: it waits for the person, until its time is up or its task ends.
 * - `granted`: the person said yes. It waits for the agent, who must repeat the same call in time.
 * - `refused`: the person said no.
 * - `used`: the tool server was told of the yes. That happens once.
 * - `expired`: the time of a pending or granted approval was up.
 * - `withdrawn`: the task ended before, or the same call came with other words (`wordsChanged`).
 *
 * Only the first two are open. A task has at most one open approval for a digest.
 */

import type { ApprovalId, SponsorKey, TaskId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { PersonSays } from './recorded-says.ts';

export const approvalStates = ['pending', 'granted', 'refused', 'used', 'expired', 'withdrawn'] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** The SQL of both engines selects open approvals by this list. */
export const openStates: readonly ApprovalState[] = ['pending', 'granted'];

/** One line of the description. */
export interface ApprovalLine {
  readonly label: string;
  readonly value: string;
}

/** What the tool server says that it is about to do. */
export interface ApprovalWords {
  readonly title: string;
  readonly lines: readonly ApprovalLine[];
}

/** The words with the random characters that keep them from being guessed from their commitment. */
export interface SaltedWords extends ApprovalWords {
  readonly salt: string;
}

export interface Approval extends SaltedWords {
  readonly approvalId: ApprovalId;
  readonly taskId: TaskId;
  /** The task's person. */
  readonly sponsorKey: SponsorKey;
  /** How often this task has asked for this digest, with this time. */
  readonly round: number;
  /** Of the action, in base64url. Only the tool server knows what it is made of. */
  readonly digest: string;
  /** SHA-256 over the words and their salt, in lowercase hex. */
  readonly commitment: string;
  readonly state: ApprovalState;
  readonly requestedAt: Instant;
  /** Of a pending approval, when it stops waiting for the person; of a granted one, when the yes can no longer be used. */
  readonly expiresAt: Instant;
  /** When the person answered; `undefined` before. */
  readonly decidedAt: Instant | undefined;
  /** When it was used, expired or was withdrawn; `undefined` before. */
  readonly closedAt: Instant | undefined;
  /** Whether it was withdrawn because the tool server described the same call in other words. Its record has `WORDS_CHANGED`. */
  readonly wordsChanged: boolean;
  /** Of a refused approval: why not, if the person said so. */
  readonly says: PersonSays | undefined;
}

/** The reason of the record of such a withdrawal. After any other withdrawal the task is over. */
export const WORDS_CHANGED = 'words_changed';

/** Whether a person who read the one has read the other. */
export function hasSameWords(one: ApprovalWords, other: ApprovalWords): boolean {
  return (
    one.title === other.title &&
    one.lines.length === other.lines.length &&
    one.lines.every(({ label, value }, nth) => other.lines[nth]?.label === label && other.lines[nth]?.value === value)
  );
}

export function isOpen({ state }: Pick<Approval, 'state'>): boolean {
  return openStates.includes(state);
}

/**
 * Whether the time of an open approval is up, although the sweeper has not recorded that yet.
 *
 * @param latest by the later of the shared clocks, which also refuses a late answer
 */
export function isOver(approval: Pick<Approval, 'state' | 'expiresAt'>, latest: Instant): boolean {
  return isOpen(approval) && approval.expiresAt <= latest;
}

/** Seconds after which a tool server asks again. A request that comes earlier is answered as well. */
export const POLL_INTERVAL_SECONDS = 5;

/** Seconds for which a used approval answers `spent`: a client that repeats a call at once does not ask the person again. */
export const SPENT_FOR_SECONDS = 10;

const PAGES = '/me/approvals/';

/** The page on which the person answers. */
export function approvalUri(issuer: string, approvalId: ApprovalId): string {
  return `${issuer}${PAGES}${approvalId}`;
}

/** An id, of this or a later version of the control plane. */
const ID_IN_ADDRESS = /^[\w-]{1,128}$/;

/**
 * Whether the text is the address of such a page, and nothing more. A person opens it and a model reads it, so it must not
 * hold words of the server that sent it.
 */
export function isApprovalUri(issuer: string, text: string): boolean {
  const start = `${issuer}${PAGES}`;
  return text.startsWith(start) && ID_IN_ADDRESS.test(text.slice(start.length));
}

/** The id of the approval. @param uri an address that `isApprovalUri` accepts */
export function approvalIdIn(uri: string): string {
  return uri.slice(uri.lastIndexOf('/') + 1);
}

/** The `detail` of the records `approval.…`. It has no words. */
export function approvalDetail({ approvalId, digest, commitment, saysHash }: ApprovalDetail): string {
  const shared = `approval=${approvalId}&digest=${digest}&commitment=${commitment}`;
  return saysHash === undefined ? shared : `${shared}&says=${saysHash}`;
}

const DETAIL = /^approval=(approval_\w{26})&digest=([\w-]{43})&commitment=([0-9a-f]{64})(?:&says=([0-9a-f]{64}))?$/;

/** `undefined` for another text, and for none. */
export function parseApprovalDetail(detail: string | undefined): ApprovalDetail | undefined {
  const [, approvalId, digest, commitment, saysHash] = DETAIL.exec(detail ?? '') ?? [];
  if (approvalId === undefined || digest === undefined || commitment === undefined) return undefined;
  return saysHash === undefined ? { approvalId, digest, commitment } : { approvalId, digest, commitment, saysHash };
}

export interface ApprovalDetail {
  readonly approvalId: string;
  readonly digest: string;
  readonly commitment: string;
  /** On `approval.refused`, if the person said why: SHA-256 of the salt's characters, then of the line in UTF-8; in lowercase hex. */
  readonly saysHash?: string | undefined;
}
