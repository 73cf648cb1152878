/**
 * Binds an MCP session to the control plane, person and agent that started it. Protocol revisions before 2026-07-28 have
 * sessions, and servers accept any client that sends the session id. So clients get the id with an HMAC of id, control plane,
 * person and agent behind it. The key belongs to the process, so nothing is stored. After a restart clients begin new sessions.
 * The HMAC also says whether the client of the session opens URLs.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TaskTokenClaims } from './claims.ts';
import { replaceHeader } from './raw-headers.ts';

export interface SessionOwnership {
  /** The session, if this person and agent of this control plane started it. Token and task may differ. */
  find(presented: string, claims: TaskTokenClaims): OwnSession | undefined;
  /**
   * Appends the HMAC to the session id in the response headers, if there is one. An id that `passes` refuses is removed: only the
   * answer to `initialize` begins a session, but some clients adopt the session id of any answer.
   */
  mark(
    response: ServerResponse,
    claims: TaskTokenClaims,
    session: Pick<OwnSession, 'opensUrls'> & { readonly passes: (id: string) => boolean },
  ): void;
}

export interface OwnSession {
  /** The server's own id. */
  readonly id: string;
  /** Whether the client said at the beginning of the session that it opens URLs. */
  readonly opensUrls: boolean;
}

const HEADER = 'mcp-session-id';
const OPENS_URLS = 'elicitation.url';

export function sessionOwnership(): SessionOwnership {
  const key = randomBytes(32);
  const markOf = (id: string, { iss, sub, act }: TaskTokenClaims, opensUrls: boolean) =>
    createHmac('sha256', key)
      .update(JSON.stringify([id, iss, sub, act?.sub ?? null, ...(opensUrls ? [OPENS_URLS] : [])]))
      .digest('base64url');

  return {
    find(presented, claims) {
      const end = presented.lastIndexOf('.');
      const id = presented.slice(0, Math.max(end, 0));
      const given = Buffer.from(presented.slice(end + 1));
      const isMarked = (opensUrls: boolean) => {
        const expected = Buffer.from(markOf(id, claims, opensUrls));
        return given.length === expected.length && timingSafeEqual(given, expected);
      };
      const opensUrls = isMarked(true);
      return opensUrls || isMarked(false) ? { id, opensUrls } : undefined;
    },
    mark(response, claims, { passes, opensUrls }) {
      const marked = (id: string) => (passes(id) ? `${id}.${markOf(id, claims, opensUrls)}` : undefined);
      const writeHead = response.writeHead;
      // `writeHead` is the last point where all headers are known, whether set by `setHeader` or passed to it.
      response.writeHead = (status: number, ...rest: readonly unknown[]) => {
        const id = response.getHeader(HEADER);
        if (typeof id === 'string') {
          const own = marked(id);
          if (own === undefined) response.removeHeader(HEADER);
          else response.setHeader(HEADER, own);
        }
        return Reflect.apply(writeHead, response, [status, ...rest.map((part) => withMark(part, marked))]);
      };
    },
  };
}

/** @param part an argument of `writeHead`. Headers are an object, or a list of alternating names and values */
function withMark(part: unknown, marked: (id: string) => string | undefined): unknown {
  const kept = (name: unknown, value: unknown): readonly unknown[] => {
    const own = isHeader(name) ? marked(String(value)) : value;
    return own === undefined && isHeader(name) ? [] : [name, own];
  };
  if (Array.isArray(part)) return part.flatMap((name, at) => (at % 2 === 0 ? kept(name, part[at + 1]) : []));
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => kept(name, value));
  return Object.fromEntries(entries.filter(({ length }) => length > 0) as [string, unknown][]);
}

/** The session id of a request. Node joins two headers to a value that matches no session. */
export function presentedSession(request: IncomingMessage): string | undefined {
  const header = request.headers[HEADER];
  return header === undefined ? undefined : String(header);
}

/** Replaces the session id in both forms of the headers that the server may read. */
export function replaceSession(request: IncomingMessage, id: string): void {
  replaceHeader(request, HEADER, id);
}

function isHeader(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === HEADER;
}
