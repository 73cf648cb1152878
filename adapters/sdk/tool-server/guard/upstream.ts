/**
 * Sends an allowed request to the upstream, and its answer to the client. Bodies stream in both directions: each side is
 * read only as fast as the other one takes it. A client that leaves ends the upstream's answer.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { responseHeaders } from './forwarded-headers.ts';
import { type Patience, patience } from './patience.ts';
import { hasBody, inviteBody } from './request-body.ts';

export interface Upstream {
  /** Answers the request with the upstream's answer, or with 502, 504 or 408. Never rejects. */
  forward(request: IncomingMessage, response: ServerResponse, sent: Forwarded): Promise<void>;
  /** Lets requests under way end, and closes every connection. */
  close(): Promise<void>;
  /** Ends requests under way, and waits for no connection that is being opened. */
  destroy(): Promise<void>;
}

export interface Forwarded {
  /** The headers of the request for the upstream: alternating names and values. */
  readonly headers: string[];
  /** The whole body, if it has been read. Otherwise the client's body is streamed. */
  readonly body?: Buffer | undefined;
}

/** Many servers close idle connections after two seconds or later. A request on a closing connection would fail. */
const KEEP_ALIVE_MS = 1000;
/** A client that sends no part of its body for this long is cut off. */
const STALLED_CLIENT_MS = 60_000;

interface Fault {
  readonly status: 408 | 502 | 504;
  readonly error: string;
  readonly sentence: string;
}

const NO_ANSWER: Fault = {
  status: 502,
  error: 'bad_gateway',
  sentence: 'The server behind the guard did not answer.',
};
const LATE: Fault = {
  status: 504,
  error: 'gateway_timeout',
  sentence: 'The server behind the guard did not answer in time.',
};
const STALLED: Fault = {
  status: 408,
  error: 'request_timeout',
  sentence: 'The body of the request did not arrive in time.',
};

/** The message names the upstream and the kind of the fault, and quotes no part of a request or an answer. */
export class UpstreamFault extends Error {
  constructor(origin: string, hasBegun: boolean, why: string) {
    super(`The upstream ${origin} ${hasBegun ? 'ended its answer early' : 'did not answer'} (${why}).`);
  }
}

/** @param onError gets one error for each fault of the upstream */
export function upstreamAt(
  origin: string,
  { timeoutMs, onError }: { readonly timeoutMs: number; readonly onError: (error: UpstreamFault) => void },
): Upstream {
  const pool = new Pool(origin, {
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // A stream may be silent for any time. `patience` limits the time until the head.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: timeoutMs },
  });

  const forward: Upstream['forward'] = (request, response, { headers, body }) =>
    new Promise((resolve) => {
      const { socket } = request;
      // The client has left during the decision: nothing will end the upstream's answer.
      if (socket.destroyed || response.destroyed) {
        resolve();
        return;
      }
      let controller: Dispatcher.DispatchController | undefined;
      let isOver = false;
      const end = (fault?: Fault, why = ''): void => {
        if (isOver) return;
        isOver = true;
        waiting.end();
        response.off('close', leave).off('drain', resume);
        socket.off('close', leave);
        // undici tells of no fault after this.
        if (fault !== undefined) controller?.abort(new Error(fault.sentence));
        if (fault !== undefined && fault !== STALLED) onError(new UpstreamFault(origin, response.headersSent, why));
        if (fault !== undefined) answerFault(response, fault);
        resolve();
      };
      // The client has left, or its token has expired.
      const leave = (): void => {
        end();
        controller?.abort(new Error('The answer is not needed.'));
      };
      const resume = (): void => controller?.resume();
      const waiting = patience({
        upstream: { ms: timeoutMs, late: () => end(LATE, `no head within ${timeoutMs} ms`) },
        client: { ms: STALLED_CLIENT_MS, late: () => end(STALLED) },
      });
      response.on('close', leave).on('drain', resume);
      // A response that waits for an earlier one of its connection has no such event.
      socket.on('close', leave);
      waiting.waitFor('upstream');
      const options = {
        method: request.method as Dispatcher.HttpMethod,
        path: request.url ?? '',
        headers,
        // undici takes an asynchronous iterable too.
        body: (body ?? (hasBody(request) ? bodyOf(request, response, waiting) : null)) as Buffer | null,
      };
      pool.dispatch(options, {
        onRequestStart(started) {
          controller = started;
          if (isOver) started.abort(new Error('The answer is not needed.'));
        },
        onResponseStart({ rawHeaders }, status) {
          // An interim answer (RFC 9110 §15.2) is between the upstream and the guard.
          if (status < 200) return;
          waiting.end();
          answerHead(response, status, responseHeaders(textsOf(rawHeaders)));
        },
        onResponseData(_, chunk) {
          if (!response.write(chunk)) controller?.pause();
        },
        onResponseEnd() {
          response.end();
          end();
        },
        onResponseError(_, error) {
          if (socket.destroyed) end();
          else end(NO_ANSWER, nameOf(error));
        },
      });
    });

  return { forward, close: () => pool.close(), destroy: () => pool.destroy() };
}

/** The body as it arrives. */
async function* bodyOf(request: IncomingMessage, response: ServerResponse, waiting: Patience): AsyncGenerator<Buffer> {
  inviteBody(request, response);
  waiting.waitFor('client');
  // The connection stays open for the answer, which can come before the end of the body.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    waiting.waitFor('upstream');
    yield chunk;
    waiting.waitFor('client');
  }
  waiting.waitFor('upstream');
}

/** undici keeps the bytes of headers, each of which is one character for Node. */
function textsOf(rawHeaders: Dispatcher.DispatchController['rawHeaders']): readonly string[] {
  const list: readonly (string | Buffer)[] = Array.isArray(rawHeaders) ? rawHeaders : [];
  return list.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
}

function answerHead(response: ServerResponse, status: number, headers: string[]): void {
  response.writeHead(status, headers);
  // A body without a length may begin late, as one of server-sent events.
  if (!headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-length')) response.flushHeaders();
}

/** Nothing can be added to an answer that has begun: it is cut. */
function answerFault(response: ServerResponse, { status, error, sentence }: Fault): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // After a body that was cut off, the connection has no next request.
  if (status === 408) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify({ error, error_description: sentence }));
}

/** Messages of undici and of Node can quote an answer, so only the code of the error is repeated, or its name. */
function nameOf(error: Error): string {
  const { code, name } = error as Error & { readonly code?: unknown };
  // undici has no code for some faults of its parser, and writes one of `undefined`.
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) ? code : name;
}
