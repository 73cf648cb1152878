/**
 * To whom a session of the protocol belongs. Revisions before 2026-07-28 have sessions, known by an id in a header that
 * the SDK answers to whoever sends it. Here the id that a client gets carries a mark of the person and the agent it was
 * given to, made with a key of this process, where the SDK keeps the sessions too: nothing has to be remembered.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TaskTokenClaims } from '../core/claims.ts';

export interface SessionOwnership {
  /** The SDK's id, if the session was started by this person through this agent; by whatever token, of whatever task. */
  idOf(presented: string, claims: TaskTokenClaims): string | undefined;
  /** Marks the session that an answer names, if it names one. */
  mark(response: ServerResponse, claims: TaskTokenClaims): void;
}

const HEADER = 'mcp-session-id';

export function sessionOwnership(): SessionOwnership {
  const key = randomBytes(32);
  const markOf = (id: string, { sub, act }: TaskTokenClaims) =>
    createHmac('sha256', key)
      .update(JSON.stringify([id, sub, act?.sub ?? null]))
      .digest('base64url');

  return {
    idOf(presented, claims) {
      const end = presented.lastIndexOf('.');
      const id = presented.slice(0, Math.max(end, 0));
      const [given, expected] = [presented.slice(end + 1), markOf(id, claims)].map((text) => Buffer.from(text));
      const isOwn = given?.length === expected?.length && given && expected && timingSafeEqual(given, expected);
      return isOwn ? id : undefined;
    },
    mark(response, claims) {
      const marked = (id: string) => `${id}.${markOf(id, claims)}`;
      const writeHead = response.writeHead;
      // The last moment at which every header is known, whoever set it and however.
      response.writeHead = (status: number, ...rest: readonly unknown[]) => {
        const id = response.getHeader(HEADER);
        if (typeof id === 'string') response.setHeader(HEADER, marked(id));
        return Reflect.apply(writeHead, response, [status, ...rest.map((part) => withMark(part, marked))]);
      };
    },
  };
}

/** @param part of what `writeHead` is given: the headers, as an object or as a list of names and values in turn */
function withMark(part: unknown, marked: (id: string) => string): unknown {
  if (Array.isArray(part)) {
    return part.map((value, at) => (at % 2 === 1 && isHeader(part[at - 1]) ? marked(String(value)) : value));
  }
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, isHeader(name) ? marked(String(value)) : value]),
  );
}

/** The session that a request presents. Two of them are none that there is. */
export function presentedSession(request: IncomingMessage): string | undefined {
  const header = request.headers[HEADER];
  return header === undefined ? undefined : String(header);
}

/** Has the request present another one, wherever the SDK looks for it. */
export function replaceSession({ headers, rawHeaders }: IncomingMessage, id: string): void {
  headers[HEADER] = id;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHeader(rawHeaders[at])) rawHeaders[at + 1] = id;
}

function isHeader(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === HEADER;
}
