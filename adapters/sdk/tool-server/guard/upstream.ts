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
import { isCoded } from '../../../../domain/content-coding.ts';
import type { AnswerReader } from '../core/answer-reader.ts';
import type { AnswerCopy } from '../core/listed-tools.ts';
import { headerValues } from '../core/raw-headers.ts';
import { faultCode } from './fault-code.ts';
import { followRequest } from './follow-request.ts';
import { responseHeaders } from './forwarded-headers.ts';
import { closeOwnAnswer } from './own-answer.ts';
import { type Patience, patience } from './patience.ts';
import { hasBody, inviteBody } from './request-body.ts';
import {
  answerFault,
  type Fault,
  faultOf,
  LATE,
  MAX_HEAD_BYTES,
  NO_ANSWER,
  STALLED,
  UpstreamFault,
} from './upstream-fault.ts';

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
  /** Whether a person approved this request, for one time. */
  readonly isApproved?: boolean | undefined;
  /** Called when the system has taken that body. */
  readonly release?: (() => void) | undefined;
  /** Reads the answer on its way to the client. @returns `undefined` if the answer cannot be read: it is a fault then */
  readonly reader?: ((received: IncomingMessage) => AnswerReader | undefined) | undefined;
  /** Gets the answer as it is, unless it is coded. */
  readonly copy?: AnswerCopy | undefined;
}

/** Many servers close idle connections after two seconds or later. A request on a closing connection would fail. */
const KEEP_ALIVE_MS = 1000;
/** A client that sends no part of its body for this long is cut off. */
const STALLED_CLIENT_MS = 60_000;

/** Of these a server expects no length of a body that is absent (RFC 9110 §8.6). */
const WITHOUT_BODY = /^(?:GET|HEAD|DELETE|OPTIONS|TRACE)$/;

/** A server may close a kept connection while a request is on its way. These it may get twice (RFC 9110 §9.2.2). */
const REPEATABLE = /^(?:GET|HEAD|OPTIONS)$/;

const NOTHING = Buffer.alloc(0);

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
    // Node's flags --insecure-http-parser and --max-http-header-size must not change these.
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEAD_BYTES,
  };

  const forward: Upstream['forward'] = (request, response, sending) => {
    const { headers, body, isApproved = false, release, reader, copy } = sending;
    // The client has left during the decision: nothing will end the upstream's answer.
    if (response.destroyed) return;
    const { method = '', url: path = '' } = request;
    const isWithBody = body !== undefined || hasBody(request);
    const framed = [...headers, ...framing(headers, { method, body, isWithBody })];
    const begin = (agent: typeof keeping): ClientRequest => {
      const begun = send({ ...to, method, path, headers: framed, agent });
      // Beyond a number of headers Node drops the rest. Their bytes are limited.
      begun.maxHeadersCount = 0;
      // Between two requests, `keeping` has the connection.
      begun.on('socket', (socket) => socket.off('data', closeAtBytes));
      begun.on('close', () => begun.socket?.on('data', closeAtBytes));
      return begun;
    };
    // A kept connection may be closing: the request would be lost with its yes, or sent twice.
    const isKept = !isWithBody && !isApproved;
    const sent = begin(isKept ? keeping : closing);
    if (copy !== undefined) sent.once('response', (received) => copyAnswer(received, copy));
    const waiting = passBack(sent, request, response, {
      timeoutMs,
      ...(reader && { reader }),
      ...(isKept && REPEATABLE.test(method) && { repeat: () => begin(closing).end() }),
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

function copyAnswer(received: IncomingMessage, copy: AnswerCopy): void {
  if (headerValues(received.rawHeaders, 'content-encoding').some(isCoded)) return;
  received.on('data', (chunk: Buffer) => copy.take(chunk)).on('end', () => copy.end());
}

/** Bytes that answer no request would be taken for the answer to the next one, which can be of another client. */
function closeAtBytes(this: Socket): void {
  this.destroy();
}

interface PassBackOptions extends Pick<Forwarded, 'reader'> {
  readonly timeoutMs: number;
  /** Sends the request again, on a new connection; absent if it must not be repeated. */
  readonly repeat?: () => ClientRequest;
  /** Gets the kind of the upstream's fault, before the client gets an answer. */
  readonly onFault: (why: string) => void;
}

/** Answers the client with the upstream's answer to `first`, or to its repetition, or for the fault. */
function passBack(
  first: ClientRequest,
  { socket, method }: IncomingMessage,
  response: ServerResponse,
  { timeoutMs, onFault, reader, repeat }: PassBackOptions,
): Patience {
  let answer: IncomingMessage | undefined;
  let isOver = false;
  const end = (fault?: Fault, why?: string): void => {
    if (isOver) return;
    isOver = true;
    waiting.end();
    response.off('close', leave).off('drain', resume);
    if (fault === undefined) return;
    asked.destroy();
    if (why !== undefined) onFault(why);
    answerFault(response, fault);
  };
  // The client has left, or its token has expired.
  const leave = (): void => {
    end();
    asked.destroy();
  };
  const resume = (): void => void answer?.resume();
  const fail = (code: string): void => {
    if (socket.destroyed) end();
    else end(faultOf(code), code);
  };
  const waiting = patience({
    upstream: { ms: timeoutMs, late: () => end(LATE, `no head within ${timeoutMs} ms`) },
    client: { ms: STALLED_CLIENT_MS, late: () => end(STALLED) },
  });
  response.on('close', leave).on('drain', resume);
  waiting.waitFor('upstream');
  // Node tells of interim answers (RFC 9110 §15.2) by another event: they are between the upstream and the guard.
  const receive = (received: IncomingMessage): void => {
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
    answerHead(response, status, responseHeaders(rawHeaders, status, reading));
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
    received.on('error', (error) => fail(faultCode(error)));
    // Some servers send a body all the same. It would be taken for the answer to the next request.
    if (method === 'HEAD' || status === 204 || status === 304) {
      finish();
      asked.destroy();
      return;
    }
    received.on('end', finish).on('data', (chunk: Buffer) => {
      const passed = reading === undefined ? chunk : reading.take(chunk);
      if (passed === undefined) {
        end(NO_ANSWER, 'EVENT_TOO_LONG');
        return;
      }
      if (passed.length > 0 && !response.write(passed)) received.pause();
      if (reading?.isOver?.() !== true) return;
      finish();
      asked.destroy();
    });
  };
  const asked = followRequest(first, {
    receive,
    fail,
    ...(repeat && { repeat: () => (isOver ? undefined : repeat()) }),
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
    // Node notices no client that leaves while it reads nothing. The answer can go on after the body.
    request.resume();
  }
  waiting.waitFor('upstream');
}

function answerHead(response: ServerResponse, status: number, headers: string[]): void {
  response.writeHead(status, closeOwnAnswer(response, headers));
  // A body without a length may begin late, as one of server-sent events.
  if (headerValues(headers, 'content-length').length === 0) response.flushHeaders();
}
