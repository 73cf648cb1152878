/**
 * The request of a tool server to have an action approved: a compact JWS. The tool server describes the call that it received,
 * and signs the description. The agent only carries the call.
 */

import { hasControlOrSeparator } from '../control-characters.ts';
import { parseTaskId, type TaskId } from '../identifiers.ts';
import { type Instant, instantFromSeconds, plusSeconds } from '../instant.ts';
import { decodeCanonical } from '../tokens/canonical-base64url.ts';
import { CLOCK_SKEW_SECONDS, type CompactJws, hasType, readCompactJws } from '../tokens/compact-jws.ts';
import { isJsonObject, type Json, member, textMember } from '../tokens/strict-json.ts';
import { isBlank } from '../visible.ts';
import type { ApprovalLine, ApprovalWords } from './approval.ts';

/** Characters of the compact form. In scripts of several bytes a character, a description must stay below its limits. */
export const MAX_REQUEST = 8 * 1024;
export const REQUEST_TYPE = 'approval-request+jwt';

/** A person reads it at a glance, on a phone. */
export const MAX_TITLE = 120;
export const MAX_LABEL = 40;
export const MAX_VALUE = 200;
export const MAX_LINES = 10;
const MAX_JTI = 256;
const SHA256_BYTES = 32;

/** Seconds: a tool server makes a request for each call, and sends it at once. */
export const MAX_LIFETIME_SECONDS = 60;

/** The claims of a request. Untrusted until the signature has been verified. */
export interface ApprovalRequest extends ApprovalWords {
  readonly jws: CompactJws;
  /** The audience of the tool server. */
  readonly issuer: string;
  readonly jti: string;
  readonly taskId: TaskId;
  readonly digest: string;
  /** The later one of `iat` and `nbf`. */
  readonly startsAt: Instant;
  readonly expiresAt: Instant;
}

/** `undefined` if it is malformed, or its `typ`, `alg` or `aud` is wrong. @param audience our issuer */
export function readApprovalRequest(text: string, audience: string): ApprovalRequest | undefined {
  if (text.length > MAX_REQUEST) return undefined;
  const jws = readCompactJws(text);
  if (jws === undefined || !hasType(jws, [REQUEST_TYPE]) || jws.algorithm !== 'ES256') return undefined;
  const { claims, keyId } = jws;
  const { issuer, tokenId: jti, expiry, issuedAt, notBefore, json } = claims;
  if (keyId === undefined || issuer === undefined || expiry === undefined || issuedAt === undefined) return undefined;
  if (claims.audience?.length !== 1 || claims.audience[0] !== audience) return undefined;
  // U+0000 cannot be stored.
  if (jti === undefined || !isLine(jti, MAX_JTI)) return undefined;
  const taskId = parseTaskId(textMember(json, 'task_id') ?? '');
  const digest = readDigest(textMember(json, 'digest'));
  const title = textMember(json, 'title');
  const lines = readLines(member(json, 'lines'));
  if (taskId === undefined || digest === undefined || lines === undefined) return undefined;
  if (title === undefined || !isLine(title, MAX_TITLE)) return undefined;
  const starts = Math.max(issuedAt, notBefore ?? issuedAt);
  const times = { startsAt: instantFromSeconds(starts), expiresAt: instantFromSeconds(expiry) };
  return { jws, issuer, jti, taskId, digest, title, lines, ...times };
}

/**
 * Whether the request may be accepted now. `false` also for one from a clock that is ahead.
 *
 * @param latest the later of two clocks. It decides when a request is past (supplement "Clocks")
 */
export function isInTime(
  { startsAt, expiresAt }: Pick<ApprovalRequest, 'startsAt' | 'expiresAt'>,
  { now, latest }: { readonly now: Instant; readonly latest: Instant },
): boolean {
  const soonest = plusSeconds(now, CLOCK_SKEW_SECONDS);
  return (
    plusSeconds(expiresAt, CLOCK_SKEW_SECONDS) > latest &&
    expiresAt <= plusSeconds(soonest, MAX_LIFETIME_SECONDS) &&
    startsAt <= soonest
  );
}

/** From this time no instance accepts the request, and its `jti` can be forgotten. */
export function forgottenAt({ expiresAt }: Pick<ApprovalRequest, 'expiresAt'>): Instant {
  return plusSeconds(expiresAt, CLOCK_SKEW_SECONDS);
}

/** `undefined` if the text is not a SHA-256 in base64url. */
export function readDigest(text: string | undefined): string | undefined {
  return text !== undefined && decodeCanonical(text)?.length === SHA256_BYTES ? text : undefined;
}

function readLines(value: Json | undefined): readonly ApprovalLine[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_LINES) return undefined;
  const lines = value.map(readLine);
  return lines.every((line) => line !== undefined) ? lines : undefined;
}

/** A further member is refused: the person would not see it. */
function readLine(value: Json): ApprovalLine | undefined {
  if (!isJsonObject(value) || Object.keys(value).length !== 2) return undefined;
  const [label, text] = [textMember(value, 'label'), textMember(value, 'value')];
  if (label === undefined || !isLine(label, MAX_LABEL)) return undefined;
  return text !== undefined && isLine(text, MAX_VALUE) ? { label, value: text } : undefined;
}

/** 1 to `max` characters of one line, of which a reader sees at least one. */
export function isLine(text: string, max: number): boolean {
  return text.length <= max && !isBlank(text) && !hasControlOrSeparator(text);
}
