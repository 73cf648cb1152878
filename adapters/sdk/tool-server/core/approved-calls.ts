/**
 * The approved calls that run now. While one runs, the server of its session must not ask the client: what the person read is
 * what runs. In revisions before 2026-07-28 a server can send requests to its client on any stream of the session. The guard
 * answers each with an error. The server also gets an error in place of each response of the client.
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
  /** The server has answered it. Only the stream of this call shows that: another message of the client can have the same id. */
  end(): void;
  /** The client has left before the answer. The server may still run the call, and continue its stream on another connection. */
  lose(): void;
}

/**
 * How long such a call counts as running: longer than tools run. A client can begin another session before that. Of a session
 * only the last one is kept: an agent that needs no yes for a call could leave any number.
 */
const LOST_MS = 60 * 60 * 1000;

export function approvedCalls(): ApprovedCalls {
  const running = new Map<string, Set<ApprovedCall>>();
  const lost = new Map<string, NodeJS.Timeout>();
  return {
    of(session, { iss, sub, act }) {
      const key = JSON.stringify([session ?? null, iss, sub, act?.sub ?? null]);
      return {
        isRunning: () => running.has(key) || lost.has(key),
        begin(id) {
          const end = (): void => {
            const calls = running.get(key);
            calls?.delete(call);
            if (calls?.size === 0) running.delete(key);
          };
          const lose = (): void => {
            if (running.get(key)?.has(call) !== true) return;
            end();
            clearTimeout(lost.get(key));
            lost.set(key, setTimeout(() => lost.delete(key), LOST_MS).unref());
          };
          const call: ApprovedCall = { id, end, lose };
          running.set(key, (running.get(key) ?? new Set()).add(call));
          return call;
        },
      };
    },
  };
}

/** "Method not found", the answer of a client without this method (JSON-RPC 2.0 §5.1). */
const NO_METHOD = -32601;

/** Answers a request of the server, and replaces a response of the client. */
export function refusedToServer(id: unknown): object {
  const message = 'A person approved a call as it is: the server must not ask its client while this call runs.';
  return { jsonrpc: '2.0', id, error: { code: NO_METHOD, message } };
}

/** @param message the client's response */
export function refusedResponse(message: unknown): object {
  return refusedToServer(membersOf(message)?.get('id'));
}
