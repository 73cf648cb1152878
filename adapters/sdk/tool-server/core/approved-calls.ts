/**
 * The calls that a person approved and that run now. While one of a session runs, its server must not ask the client: what the
 * person read is what runs. In revisions before 2026-07-28 a server can send requests of its own on any stream of the session.
 * Each is answered with an error, and so is a response that the client sends.
 */

import type { TaskTokenClaims } from './claims.ts';
import { membersOf } from './mcp-message.ts';

export interface ApprovedCalls {
  /** @param session the server's own id; `undefined` in a request without a session */
  of(session: string | undefined, claims: TaskTokenClaims): CallsOfSession;
}

export interface CallsOfSession {
  isRunning(): boolean;
  /** A call goes to the server now. @param id of its message */
  begin(id: unknown): ApprovedCall;
}

export interface ApprovedCall {
  readonly id: unknown;
  /** The server has answered it. Only its own stream shows that: another message of the client can have the same id. */
  end(): void;
  /** Its answer will not be seen here, but the server may still run it, and go on with the stream on another connection. */
  lose(): void;
}

/** How long a call counts as running whose answer was not seen. Longer than tools run. A client begins another session earlier. */
const LOST_MS = 60 * 60 * 1000;

export function approvedCalls(): ApprovedCalls {
  const running = new Map<string, Set<ApprovedCall>>();
  return {
    of(session, { sub, act }) {
      const key = JSON.stringify([session ?? null, sub, act?.sub ?? null]);
      return {
        isRunning: () => running.has(key),
        begin(id) {
          const end = (): void => {
            const calls = running.get(key);
            calls?.delete(call);
            if (calls?.size === 0) running.delete(key);
          };
          const lose = (): void => {
            if (running.get(key)?.has(call)) setTimeout(end, LOST_MS).unref();
          };
          const call: ApprovedCall = { id, end, lose };
          running.set(key, (running.get(key) ?? new Set()).add(call));
          return call;
        },
      };
    },
  };
}

/** As a client answers that has no such method (JSON-RPC 2.0 §5.1). */
const NO_METHOD = -32601;

/** The answer to a request of the server, and the server's message in place of a client's response. */
export function refusedToServer(id: unknown): object {
  const message = 'A person approved a call as it is: the server must not ask its client while this call runs.';
  return { jsonrpc: '2.0', id, error: { code: NO_METHOD, message } };
}

/** @param message the client's response */
export function refusedResponse(message: unknown): object {
  return refusedToServer(membersOf(message)?.get('id'));
}
