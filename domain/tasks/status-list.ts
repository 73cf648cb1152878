/**
 * Token status lists (draft-ietf-oauth-status-list-20): one signed document holds the status of many tasks, and a tool
 * server reads the status of a task at the index that its token names.
 */

import { type Instant, toSeconds } from '../instant.ts';
import type { JsonObject } from '../tokens/strict-json.ts';

/** §5.1: the `typ` of a status list token. */
export const STATUS_LIST_TYPE = 'statuslist+jwt';

export const STATUS_LIST_PATH = '/status';

/** How old a list may be by default, when a tool server trusts it. */
export const DEFAULT_LIST_MAX_AGE_SECONDS = 10;

/** The bounds of a list's number of indices, which is a power of two. */
export const statusListEntries = { min: 2 ** 10, max: 2 ** 20 } as const;

/** §7.1, and one application-specific value (§7.2). */
export const taskStatus = {
  /** The task is live. */
  valid: 0,
  /** The task is over. */
  invalid: 1,
  /** An agent of the task's chain is disabled, and may be enabled again. */
  suspended: 2,
  /** One of the task's tokens was revoked: only introspection knows which. */
  ask: 3,
} as const;
export type TaskStatus = (typeof taskStatus)[keyof typeof taskStatus];

/** Bits of a status in our lists. */
export const STATUS_BITS = 2;
const MAX_STATUS = 2 ** STATUS_BITS - 1;

/** 128 bits, so that a list's address cannot be guessed without a token of it. */
export const STATUS_LIST_ID_BYTES = 16;

/** The base64url of 16 bytes: the last character holds two bits. */
const LIST_ID = /^[A-Za-z0-9_-]{21}[AQgw]$/;

export function isStatusListId(text: string): boolean {
  return LIST_ID.test(text);
}

/** Where the status of a task is. */
export interface StatusReference {
  readonly listId: string;
  readonly index: number;
}

interface IndexedStatus {
  readonly index: number;
  readonly status: TaskStatus;
}

/** The URI of a list, which is also the `sub` of its token. */
export function statusListUri(issuer: string, listId: string): string {
  return `${issuer}${STATUS_LIST_PATH}/${listId}`;
}

/** §6.2: the `status` claim of a task token. */
export function statusClaim(issuer: string, { listId, index }: StatusReference): JsonObject {
  return { status_list: { idx: index, uri: statusListUri(issuer, listId) } };
}

/**
 * The validity of a list token, as a multiple of its `ttl`: a replica that cannot make the next one does not end it at
 * once.
 */
const EXPIRES_AFTER_TTLS = 12;

/** The length of an epoch: within one, lists with the same statuses have the same ETag. */
const EPOCH_TTLS = 4;

/** A list is read at most one `ttl` before the answer. After this many `ttl`s, no answer confirms it. */
export const MAX_CONFIRMED_TTLS = EPOCH_TTLS + 1;

/** The number of the epoch in which the tables were read. @param ttl seconds */
export function statusListEpoch(readAt: Instant, ttl: number): number {
  return Math.floor(toSeconds(readAt) / (EPOCH_TTLS * ttl));
}

/**
 * §5.1: the claims of a list token.
 *
 * @param list.lst the compressed statuses, in base64url
 * @param list.ttl seconds
 */
export function statusListClaims(list: {
  readonly uri: string;
  readonly readAt: Instant;
  readonly ttl: number;
  readonly lst: string;
}): JsonObject {
  const { uri, ttl, lst } = list;
  const iat = toSeconds(list.readAt);
  return { sub: uri, iat, exp: iat + EXPIRES_AFTER_TTLS * ttl, ttl, status_list: { bits: STATUS_BITS, lst } };
}

/** The indices of a list whose tasks are not simply valid. */
export interface ListedTasks {
  readonly ended: readonly number[];
  /** Live tasks of disabled agents, and those delegated from them. An index may be there more than once. */
  readonly suspended: readonly number[];
  /** Live tasks with a revoked token. */
  readonly withRevokedToken: readonly number[];
}

/** The later of two statuses of an index is the one that counts: an end is final, and a disabled agent has no active token. */
export function* statusesOf({ ended, suspended, withRevokedToken }: ListedTasks): Generator<IndexedStatus> {
  for (const index of withRevokedToken) yield { index, status: taskStatus.ask };
  for (const index of suspended) yield { index, status: taskStatus.suspended };
  for (const index of ended) yield { index, status: taskStatus.invalid };
}

/**
 * §4.1: the statuses of a list as bytes, before compression. The first status is in the lowest bits of the first byte.
 *
 * @param entries the number of indices; every index that is not in `statuses` is valid
 * @param statuses if two have one index, the later one counts
 */
export function packStatuses(entries: number, statuses: Iterable<IndexedStatus>): Uint8Array {
  const perByte = 8 / STATUS_BITS;
  const bytes = new Uint8Array(entries / perByte);
  for (const { index, status } of statuses) {
    const at = Math.floor(index / perByte);
    const shift = (index % perByte) * STATUS_BITS;
    bytes[at] = ((bytes[at] ?? 0) & ~(MAX_STATUS << shift)) | (status << shift);
  }
  return bytes;
}

/** The status at an index; `undefined` if the list has no such index. @param bits of a status: 1, 2, 4 or 8 */
export function statusAt(bytes: Uint8Array, bits: number, index: number): number | undefined {
  const perByte = 8 / bits;
  const byte = bytes[Math.floor(index / perByte)];
  return byte === undefined ? undefined : (byte >> ((index % perByte) * bits)) & (2 ** bits - 1);
}
