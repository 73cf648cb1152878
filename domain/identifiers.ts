/**
 * Identifiers as branded types (specification "Resources"; supplement "Names and identifiers"). The compiler refuses a
 * plain string in their place. Only the `parse` and `make` functions here create them.
 */

import type { Instant } from './instant.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type AgentId = Branded<'AgentId'>;
export type TaskId = Branded<'TaskId'>;
/** The `jti` of a task token. */
export type TokenId = Branded<'TokenId'>;
/** The value of the sponsor key claim: it identifies the person for blocks and provisioning. */
export type SponsorKey = Branded<'SponsorKey'>;
/** The `id` of a provisioned user: it never changes while the user exists (RFC 7643 §3.1). */
export type UserId = Branded<'UserId'>;

/** An approval of one action of a task. */
export type ApprovalId = Branded<'ApprovalId'>;

/** A request of a client at `/oauth2/authorize`, from the person's return from the provider on. */
export type RequestId = Branded<'RequestId'>;

/** 1 to 128 lowercase letters, digits, `-`, `_`, `.`, starting with a letter or digit. */
const AGENT_ID = /^[a-z0-9][a-z0-9._-]{0,127}$/;

export function parseAgentId(text: string): AgentId | undefined {
  return AGENT_ID.test(text) ? (text as AgentId) : undefined;
}

/** The `sub` and `client_id` under which an agent appears in tokens. */
export const AGENT_PREFIX = 'agent:';

export function agentSubject(agentId: AgentId): string {
  return `${AGENT_PREFIX}${agentId}`;
}

/** Exactly the control plane's own spelling. {@link namesAgent} accepts more spellings, to detect imitations. */
export function parseAgentSubject(subject: string): AgentId | undefined {
  return subject.startsWith(AGENT_PREFIX) ? parseAgentId(subject.slice(AGENT_PREFIX.length)) : undefined;
}

/** Whether a subject names an agent: `agent:` in any case (supplement "Subject tokens"). */
export function namesAgent(subject: string): boolean {
  return subject.slice(0, AGENT_PREFIX.length).toLowerCase() === AGENT_PREFIX;
}

/** Longest `act.instance` (specification "Other limits"). */
export const MAX_INSTANCE_LENGTH = 128;

/** Crockford base32 ULID. */
const ULID = '[0-9A-HJKMNP-TV-Z]{26}';
const TASK_ID = new RegExp(`^task_${ULID}$`);
const TOKEN_ID = new RegExp(`^tok_${ULID}$`);
const APPROVAL_ID = new RegExp(`^approval_${ULID}$`);
const REQUEST_ID = new RegExp(`^areq_${ULID}$`);
const USER_ID = new RegExp(`^user_${ULID}$`);

export function makeTaskId(ulid: string): TaskId {
  return `task_${ulid}` as TaskId;
}

export function parseTaskId(text: string): TaskId | undefined {
  return TASK_ID.test(text) ? (text as TaskId) : undefined;
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** A ULID begins with its time: 48 bits of milliseconds, in ten characters. */
const ULID_TIME_LENGTH = 10;
const ULID_LENGTH = 26;

/** Sorts before the ids of tasks that were made at this time or later, and after those that were made before. */
export function firstTaskIdAt(instant: Instant): TaskId {
  let rest = Math.min(Math.max(0, Math.floor(instant / 1000)), 2 ** 48 - 1);
  let time = '';
  for (let place = 0; place < ULID_TIME_LENGTH; place += 1) {
    time = `${CROCKFORD[rest % CROCKFORD.length]}${time}`;
    rest = Math.floor(rest / CROCKFORD.length);
  }
  return makeTaskId(time.padEnd(ULID_LENGTH, '0'));
}

export function makeTokenId(ulid: string): TokenId {
  return `tok_${ulid}` as TokenId;
}

export function parseTokenId(text: string): TokenId | undefined {
  return TOKEN_ID.test(text) ? (text as TokenId) : undefined;
}

export function makeApprovalId(ulid: string): ApprovalId {
  return `approval_${ulid}` as ApprovalId;
}

export function parseApprovalId(text: string): ApprovalId | undefined {
  return APPROVAL_ID.test(text) ? (text as ApprovalId) : undefined;
}

export function makeRequestId(ulid: string): RequestId {
  return `areq_${ulid}` as RequestId;
}

export function parseRequestId(text: string): RequestId | undefined {
  return REQUEST_ID.test(text) ? (text as RequestId) : undefined;
}

export function makeUserId(ulid: string): UserId {
  return `user_${ulid}` as UserId;
}

export function parseUserId(text: string): UserId | undefined {
  return USER_ID.test(text) ? (text as UserId) : undefined;
}

const MAX_SPONSOR_KEY = 256;
const NOT_IN_SPONSOR_KEY = /[\s\p{Cc}]|^\.{1,2}$/u;

/**
 * 1 to 256 characters, none of them white space or a control character (specification "Admin API").
 *
 * `.` and `..` are refused as well: URL parsers remove them from a path, even if encoded (RFC 3986 §5.2.4). The admin
 * API could therefore not address such a person, and an operator could not block them.
 */
export function parseSponsorKey(text: string): SponsorKey | undefined {
  const usable =
    text.length >= 1 && text.length <= MAX_SPONSOR_KEY && text.isWellFormed() && !NOT_IN_SPONSOR_KEY.test(text);
  return usable ? (text as SponsorKey) : undefined;
}
