/** Status lists of the fake control plane, correct ones and faulty ones. */

import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { SignJWT } from 'jose';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { packStatuses, STATUS_LIST_TYPE, statusListEpoch, type TaskStatus } from '../../../domain/tasks/status-list.ts';
import type { Handler } from '../loopback.ts';
import type { SigningKey } from '../signing-key.ts';
import type { FakeControlPlane } from './control-plane.ts';

export const LIST_ID = 'kJ3vX0m2TzqLw8R5yHc1Bg';
export const ENTRIES = 1024;
/** Seconds between two lists. */
export const TTL = 5;

export type ListedStatuses = Readonly<Record<number, TaskStatus>>;

export interface ListChanges {
  /** Replace the usual members; `undefined` removes one. */
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Replaces the packed statuses before compression. */
  readonly bytes?: Uint8Array;
  readonly key?: SigningKey;
}

export function packed(statuses: ListedStatuses, entries = ENTRIES): Uint8Array {
  const pairs = Object.entries(statuses).map(([index, status]) => ({ index: Number(index), status }));
  return packStatuses(entries, pairs);
}

export function compressed(bytes: Uint8Array): string {
  return deflateSync(bytes).toString('base64url');
}

export function listUri(plane: FakeControlPlane, listId = LIST_ID): string {
  return `${plane.issuer}/status/${listId}`;
}

/** The `status` claim of a token. */
export function statusMember(plane: FakeControlPlane, idx: number, listId?: string): object {
  return { status_list: { idx, uri: listUri(plane, listId) } };
}

/** A signed list. @param iat seconds since 1970 */
export function signList(
  plane: FakeControlPlane,
  iat: number,
  statuses: ListedStatuses,
  { header, claims, key = plane.key, bytes = packed(statuses) }: ListChanges = {},
  listId?: string,
): Promise<string> {
  const usual = { sub: listUri(plane, listId), iat, exp: iat + 12 * TTL, ttl: TTL };
  return new SignJWT({ ...usual, status_list: { bits: 2, lst: compressed(bytes) }, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: STATUS_LIST_TYPE, kid: key.kid, ...header })
    .sign(key.privateKey);
}

export function etagOf(token: string): string {
  return `"${createHash('sha256').update(token).digest('base64url')}"`;
}

export function sendList(token: string, headers: Readonly<Record<string, string>> = {}, etag = etagOf(token)): Handler {
  return (request, response) => {
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end();
    else response.writeHead(200, { 'content-type': 'application/statuslist+jwt', etag, ...headers }).end(token);
  };
}

/**
 * Answers as a replica of the service does: it reads a list at most once per `TTL`, and its ETag lasts for an epoch.
 *
 * @param seconds the service's clock
 * @param statuses of a list
 */
export function listService(
  plane: FakeControlPlane,
  seconds: () => number,
  statuses: (listId: string) => ListedStatuses,
): Handler {
  const made = new Map<string, { readonly at: number; readonly answer: Promise<Handler> }>();
  return (request, response) => {
    const listId = request.path.slice('/status/'.length);
    const at = seconds();
    let latest = made.get(listId);
    if (latest === undefined || at - latest.at >= TTL) {
      const listed = statuses(listId);
      const etag = etagOf(JSON.stringify([listed, statusListEpoch(instantFromSeconds(Math.floor(at)), TTL)]));
      const token = signList(plane, Math.floor(at), listed, {}, listId);
      latest = { at, answer: token.then((text) => sendList(text, {}, etag)) };
      made.set(listId, latest);
    }
    void latest.answer.then((answer) => answer(request, response));
  };
}
