/**
 * Token status lists (draft-ietf-oauth-status-list-20): one signed document holds the status of many tasks, and a tool
 * server reads the status of a task at the index that its token names.
 */

import type { JsonObject } from '../tokens/strict-json.ts';

/** §5.1: the `typ` of a status list token. */
export const STATUS_LIST_TYPE = 'statuslist+jwt';

export const STATUS_LIST_PATH = '/status';

/** §7.1, and one application-specific value (§7.2). */
export const taskStatus = {
  /** The task is live. */
  valid: 0,
  /** The task is over. */
  invalid: 1,
  /** The task's agent is disabled, and may be enabled again. */
  suspended: 2,
  /** One of the task's tokens was revoked: only introspection knows which. */
  ask: 3,
} as const;
export type TaskStatus = (typeof taskStatus)[keyof typeof taskStatus];

/** Bits of a status in our lists. */
export const STATUS_BITS = 2;

/** Where the status of a task is. */
export interface StatusReference {
  readonly listId: string;
  readonly index: number;
}

export interface IndexedStatus {
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
 * §4.1: the statuses of a list as bytes, before compression. The first status is in the lowest bits of the first byte.
 *
 * @param entries the number of indices; every index that is not in `statuses` is valid
 */
export function packStatuses(entries: number, statuses: Iterable<IndexedStatus>): Uint8Array {
  const perByte = 8 / STATUS_BITS;
  const bytes = new Uint8Array(entries / perByte);
  for (const { index, status } of statuses) {
    const at = Math.floor(index / perByte);
    bytes[at] = (bytes[at] ?? 0) | (status << ((index % perByte) * STATUS_BITS));
  }
  return bytes;
}

/** The status at an index; `undefined` if the list has no such index. @param bits of a status: 1, 2, 4 or 8 */
export function statusAt(bytes: Uint8Array, bits: number, index: number): number | undefined {
  const perByte = 8 / bits;
  const byte = bytes[Math.floor(index / perByte)];
  return byte === undefined ? undefined : (byte >> ((index % perByte) * bits)) & (2 ** bits - 1);
}
