/** An HTTP client for several replicas. It sends each request once, to the next replica. */

import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { HttpRequest } from '../../requests.ts';
import { wallClock } from '../operations.ts';

export interface Reply {
  /** 0 if there is no complete response. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  /** Why there is no complete response. */
  readonly lost?: string;
  readonly began: number;
  readonly ended: number;
}

export interface Session {
  send(request: HttpRequest): Promise<Reply>;
  close(): void;
}

/** Longer than the longest request: a kill switch may take most of a minute. */
const TIMEOUT_MS = 60_000;
/** The value of `lost` after that time. No fault that a run causes explains it. */
export const TIMED_OUT = 'no answer';

export function openSession(urls: readonly string[], { keepAlive = true } = {}): Session {
  const agent = new Agent({ keepAlive });
  let sent = 0;
  return {
    async send({ method, path, headers = {}, body = '' }) {
      sent += 1;
      const began = wallClock();
      const length = String(Buffer.byteLength(body));
      try {
        const options = { agent, method, headers: { ...headers, 'content-length': length }, timeout: TIMEOUT_MS };
        const outgoing = request(`${urls[sent % urls.length]}${path}`, options).end(body);
        outgoing.on('timeout', () => outgoing.destroy(new Error(TIMED_OUT)));
        // An error after the head of the response is also reported when the body is read.
        outgoing.on('error', () => undefined);
        const [incoming]: IncomingMessage[] = await once(outgoing, 'response');
        if (incoming === undefined) throw new Error('a response event without a response');
        const content = await text(incoming);
        const isJson = /json/.test(incoming.headers['content-type'] ?? '');
        return {
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          began,
          ended: wallClock(),
          body: isJson ? JSON.parse(content) : {},
        };
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        return { status: 0, headers: {}, body: {}, began, ended: wallClock(), lost: code ?? message };
      }
    },
    close: () => agent.destroy(),
  };
}
