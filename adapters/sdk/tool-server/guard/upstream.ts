/**
 * Sends an allowed request to the upstream, and its answer to the client. Bodies stream in both directions: each side is
 * read only as fast as the other one takes it. A client that leaves ends the upstream's answer.
 */

import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { headerValues } from '../core/raw-headers.ts';
import { faultCode } from './fault-code.ts';
import { responseHeaders } from './forwarded-headers.ts';
import { type Patience, patience } from './patience.ts';
import { hasBody, inviteBody } from './request-body.ts';
import type { AnswerReader } from './session-answers.ts';

export interface Upstream {
  /** Answers the request with the upstream's answer, or with 502, 504 or 408. */
  forward(request: IncomingMessage, response: ServerResponse, sent: Forwarded): void;
  /** Sends a message that no client waits for, and drops the answer. */
  tell(path: string, headers: readonly string[], body: Buffer): void;
  /** Closes every connection. */
  close(): void;
}

export interface Forwarded {
  /** The headers of the request for the upstream: alternating names and values. */
  readonly headers: string[];
  /** The whole body, if it has been read. Otherwise the client's body is streamed. */
  readonly body?: Buffer | undefined;
  /** Called when the system has taken that body. */
  readonly release?: (() => void) | undefined;
  /** Reads the answer on its way to the client. @returns `undefined` if the answer cannot be read: it is a fault then */
  readonly reader?: ((received: IncomingMessage) => AnswerReader | undefined) | undefined;
}

/** Many servers close idle connections after two seconds or later. A request on a closing connection would fail. */
const KEEP_ALIVE_MS = 1000;
/** A client that sends no part of its body for this long is cut off. */
const STALLED_CLIENT_MS = 60_000;

/** Of these a server expects no length of a body that is absent (RFC 9110 §8.6). */
const WITHOUT_BODY = /^(?:GET|HEAD|DELETE|OPTIONS|TRACE)$/;

const NOTHING = Buffer.alloc(0);

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
  const { protocol, hostname, port } = new URL(origin);
  const [send, OfProtocol] = protocol === 'https:' ? [requestHttps, SecureAgent] : [requestHttp, Agent];
  const keeping = new OfProtocol({ keepAlive: true, timeout: KEEP_ALIVE_MS });
  // Some servers leave a body unread that they do not need, and would take it for the next request of the connection: one
  // that the guard has not decided about. With `Connection: close` none follows.
  const closing = new OfProtocol({ keepAlive: false });
  const to = {
    // As the system names an address: without the brackets of a URL.
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    setHost: false,
    // Node's flag --insecure-http-parser must not change this.
    insecureHTTPParser: false,
  };

  const forward: Upstream['forward'] = (request, response, { headers, body, release, reader }) => {
    // The client has left during the decision: nothing will end the upstream's answer.
    if (request.socket.destroyed || response.destroyed) return;
    const { method = '', url: path = '' } = request;
    const isWithBody = body !== undefined || hasBody(request);
    const sent = send({
      ...to,
      method,
      path,
      headers: [...headers, ...framing(headers, { method, body, isWithBody })],
      agent: isWithBody ? closing : keeping,
    });
    // Beyond a number of headers Node drops the rest. Their bytes are limited.
    sent.maxHeadersCount = 0;
    // Between two requests, `keeping` has the connection.
    sent.on('socket', (socket) => socket.off('data', closeAtBytes));
    sent.on('close', () => sent.socket?.on('data', closeAtBytes));
    const waiting = passBack(sent, request, response, {
      timeoutMs,
      ...(reader && { reader }),
      onFault: (why) => onError(new UpstreamFault(origin, response.headersSent, why)),
    });
    // A fault of the connection is an event of the request too. An answer can come before the end of the body.
    if (body === undefined && isWithBody) pipeline(bodyOf(request, response, waiting), sent, () => undefined);
    else sent.end(body, release);
  };

  return {
    forward,
    tell(path, headers, body) {
      const sent = send({ ...to, method: 'POST', path, headers: [...headers], agent: closing });
      const timer = setTimeout(() => sent.destroy(), timeoutMs);
      sent.on('close', () => clearTimeout(timer));
      sent.on('error', (error) => onError(new UpstreamFault(origin, false, faultCode(error))));
      sent.on('response', (received) => received.on('error', () => undefined).resume());
      sent.end(body);
    },
    close() {
      keeping.destroy();
      closing.destroy();
    },
  };
}

/** Bytes that answer no request would be taken for the answer to the next one, which can be of another client. */
function closeAtBytes(this: Socket): void {
  this.destroy();
}

interface PassBackOptions extends Pick<Forwarded, 'reader'> {
  readonly timeoutMs: number;
  /** Gets the kind of the upstream's fault, before the client gets an answer. */
  readonly onFault: (why: string) => void;
}

/** Answers the client with the upstream's answer to `sent`, or for its fault. */
function passBack(
  sent: ClientRequest,
  { socket, method }: IncomingMessage,
  response: ServerResponse,
  { timeoutMs, onFault, reader }: PassBackOptions,
): Patience {
  let answer: IncomingMessage | undefined;
  let isOver = false;
  const end = (fault?: Fault, why?: string): void => {
    if (isOver) return;
    isOver = true;
    waiting.end();
    response.off('close', leave).off('drain', resume);
    socket.off('close', leave);
    if (fault === undefined) return;
    sent.destroy();
    if (why !== undefined) onFault(why);
    answerFault(response, socket, fault);
  };
  // The client has left, or its token has expired.
  const leave = (): void => {
    end();
    sent.destroy();
  };
  const resume = (): void => void answer?.resume();
  const fail = (error: Error): void => {
    if (socket.destroyed) end();
    else end(NO_ANSWER, faultCode(error));
  };
  const waiting = patience({
    upstream: { ms: timeoutMs, late: () => end(LATE, `no head within ${timeoutMs} ms`) },
    client: { ms: STALLED_CLIENT_MS, late: () => end(STALLED) },
  });
  response.on('close', leave).on('drain', resume);
  // A response that waits for an earlier one of its connection has no such event.
  socket.on('close', leave);
  waiting.waitFor('upstream');
  sent.on('error', fail).on('close', () => {
    // Node tells of a switch of the protocol by no other event.
    if (answer === undefined) end(NO_ANSWER, 'ECONNRESET');
  });
  // Node tells of interim answers (RFC 9110 §15.2) by another event: they are between the upstream and the guard.
  sent.on('response', (received) => {
    if (isOver) return;
    answer = received;
    const { statusCode: status = 0, rawHeaders } = received;
    // With `Upgrade` alone Node takes a 101 for an answer. The guard has asked for no other protocol.
    if (status < 200) {
      end(NO_ANSWER, 'UPGRADE');
      return;
    }
    const reading = reader?.(received);
    if (reader !== undefined && reading === undefined) {
      end(NO_ANSWER, 'CODING');
      return;
    }
    waiting.end();
    answerHead(response, status, responseHeaders(rawHeaders, status, reading?.mayShorten === true));
    const finish = (): void => {
      // Node also ends an answer without a length after a reset.
      if (isOver) return;
      const rest = reading === undefined ? NOTHING : reading.end();
      if (rest === undefined) {
        end(NO_ANSWER, 'REQUEST');
        return;
      }
      response.end(rest);
      end();
    };
    received.on('error', fail);
    // Some servers send a body all the same. It would be taken for the answer to the next request.
    if (method === 'HEAD' || status === 204 || status === 304) {
      finish();
      sent.destroy();
      return;
    }
    received.on('end', finish).on('data', (chunk: Buffer) => {
      const passed = reading === undefined ? chunk : reading.take(chunk);
      if (passed === undefined) end(NO_ANSWER, 'EVENT_TOO_LONG');
      else if (passed.length > 0 && !response.write(passed)) received.pause();
    });
  });
  return waiting;
}

interface Framed extends Pick<Forwarded, 'body'> {
  readonly method: string;
  readonly isWithBody: boolean;
}

/** The header that says where the body ends (RFC 9112 §6), unless there is one. Node would add another one, or none. */
function framing(headers: readonly string[], { method, body, isWithBody }: Framed): string[] {
  if (headerValues(headers, 'content-length').length > 0) return [];
  if (body === undefined && isWithBody) return ['Transfer-Encoding', 'chunked'];
  return body === undefined && WITHOUT_BODY.test(method) ? [] : ['Content-Length', String(body?.length ?? 0)];
}

/** The body as it arrives. */
async function* bodyOf(request: IncomingMessage, response: ServerResponse, waiting: Patience): AsyncGenerator<Buffer> {
  inviteBody(request, response);
  waiting.waitFor('client');
  try {
    // The connection stays open for the answer, which can come before the end of the body.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      waiting.waitFor('upstream');
      yield chunk;
      waiting.waitFor('client');
    }
  } finally {
    // Node notices no client that leaves while it reads nothing. Behind an earlier answer, this one can end late.
    request.resume();
  }
  waiting.waitFor('upstream');
}

function answerHead(response: ServerResponse, status: number, headers: string[]): void {
  response.writeHead(status, headers);
  // A body without a length may begin late, as one of server-sent events.
  if (headerValues(headers, 'content-length').length === 0) response.flushHeaders();
}

/**
 * Nothing can be added to an answer that has begun: its connection is cut. From Node 24 on, `response.destroy` would not cut
 * it for an answer that waits for an earlier one.
 */
function answerFault(response: ServerResponse, socket: Socket, { status, error, sentence }: Fault): void {
  if (response.headersSent) {
    // To a client of HTTP/1.0 the end of the connection is that of the answer. Only a reset says that it is not whole.
    if (response.req.httpVersion === '1.0') socket.resetAndDestroy();
    else socket.destroy();
    return;
  }
  // After a body that was cut off, the connection has no next request.
  if (status === 408) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify({ error, error_description: sentence }));
}
