/**
 * An authorization: what a client asks a person for at `/oauth2/authorize`, and what the person answered (RFC 6749 §4.1; RFC
 * 7636). It is stored from the person's return from the identity provider on.
 *
 * The states:
 *
 * - `open`: it waits for the person, until `expiresAt`.
 * - `allowed`: the person allowed it. Its code waits for the client, until the code expires.
 * - `refused`: the person refused.
 * - `spent`: the client presented the code, fit for use. A task came from it, and both are deleted together; or it was refused.
 * - `void`: it ended before, with a reason: a stop, a block, a logout, a newer request of the person.
 *
 * Only the first two can lead to a task. Their time may be up although the state does not say so.
 */

import type { DenialReason } from '../denial.ts';
import type { AgentId, RequestId, TaskId } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { Scope } from '../scope.ts';
import type { Person } from '../sponsors/subject-token.ts';
import type { RevocationReason } from '../tasks/task.ts';
import type { ClientLabel } from '../tasks/task-authorization.ts';

export const authorizationStates = ['open', 'allowed', 'refused', 'spent', 'void'] as const;
export type AuthorizationState = (typeof authorizationStates)[number];

/** Why an authorization went void: as tasks end, its agent was disabled or deleted, newer requests, or a restore. */
export type VoidReason =
  | RevocationReason
  | Extract<DenialReason, 'agent_disabled' | 'request_expired'>
  | 'database_restored';

/** SHA-256 of an authorization code, in lowercase hex. The code itself is never stored. */
export type CodeHash = string;

/** What the person chose with *Allow*. */
export interface AuthorizationChoice {
  /** Within the offered scope. */
  readonly scope: Scope;
  /** The latest end of the task. */
  readonly taskEndsAt: Instant;
}

/** What the code was issued for. */
export interface IssuedCode extends AuthorizationChoice {
  readonly hash: CodeHash;
  readonly expiresAt: Instant;
  /** The task that the code will open: so the record of the person's answer is one of its records. */
  readonly taskId: TaskId;
}

export interface Authorization {
  readonly requestId: RequestId;
  /** SHA-256 of the secret of the browser that asked, in lowercase hex: it opens the page in no other one. */
  readonly browserHash: string;
  readonly agentId: AgentId;
  readonly client: ClientLabel;
  /** Where the answer goes. */
  readonly redirectUri: string;
  /** The client's `state`, as it came. Erased when the code is spent. */
  readonly clientState: string | undefined;
  /** `code_challenge` of the method S256. */
  readonly challenge: string;
  readonly audience: string;
  /** The offered scope: asked for, held by the person, and within the agent's ceiling. */
  readonly offered: Scope;
  readonly asked: Scope;
  /** As the client stated it, or the person if it stated none. Erased when the code is spent: the task has its own. */
  readonly purpose: string | undefined;
  /** As the provider's access token named them when they came back. */
  readonly person: Person;
  /** When the browser came from the client, by the earlier clock. */
  readonly beganAt: Instant;
  /** When the person came back from the provider. */
  readonly cameAt: Instant;
  /** Until then the person may answer. */
  readonly expiresAt: Instant;
  readonly state: AuthorizationState;
  /** `undefined` before the answer. */
  readonly answeredAt: Instant | undefined;
  /** Only in the state `void`. */
  readonly voidReason: VoidReason | undefined;
  /** `undefined` unless the person allowed it. */
  readonly code: IssuedCode | undefined;
}

/**
 * Counts the ends of everything, and of the agent. A request that is not stored yet keeps the counts of its beginning. 0: no such
 * end is stored. The count of a newly stored end begins with its time, so it differs from all before.
 */
export interface EndCounts {
  readonly everything: number;
  readonly agent: number;
}

/** The SQL of both engines selects by this list. */
export const waitingStates: readonly AuthorizationState[] = ['open', 'allowed'];

/** Open requests of one person. With one more, the oldest go void: a page that opens requests must not fill the database. */
export const MOST_OPEN_REQUESTS = 20;

/** Seconds for which an authorization without a task stays stored after its time: a late click gets the reason. */
export const KEPT_SECONDS = 60 * 60;

const CODE_PREFIX = 'mandate_code_';
/** 256 bits: unguessable. */
export const CODE_SECRET_BYTES = 32;

export function makeCode(secret: string): string {
  return `${CODE_PREFIX}${secret}`;
}

/** RFC 7636 §4.2: the base64url of a SHA-256, whose last character holds four bits. */
const CHALLENGE = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text);
}

/** RFC 7636 §4.1: 43 to 128 unreserved characters. */
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;

/**
 * RFC 7636 §4.6.
 *
 * @param digest SHA-256 of a text, in lowercase hex
 */
export function verifierMatches(challenge: string, verifier: string, digest: (text: string) => string): boolean {
  return VERIFIER.test(verifier) && Buffer.from(digest(verifier), 'hex').toString('base64url') === challenge;
}

/** The `detail` of `authorization.allowed` and `authorization.refused`. */
export function answerDetail({ requestId, client }: Pick<Authorization, 'requestId' | 'client'>): string {
  return `request=${requestId}&client=${client}`;
}

/** The `detail` of `task.authorized`, by which the person's answer is found. */
export function requestDetail({ requestId }: Pick<Authorization, 'requestId'>): string {
  return `request=${requestId}`;
}

/** The `detail` of a refusal of a void authorization. */
export function voidDetail(requestId: RequestId, reason: VoidReason): string {
  return `request=${requestId}&ended=${reason}`;
}
