/**
 * The requests of one connection, which are served one after another. A request that breaks the protocol is refused, or
 * ends the connection.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionError, connectionErrorResponse, shapeFault } from './protocol-errors.ts';

/** How many requests may wait on one connection for an earlier response (RFC 9112 §9.3.2). Few clients pipeline. */
const MAX_PIPELINED = 100;
/** After the last response, read and discard for at most this long: closing at once would reset the connection. */
const LINGER_MS = 2_000;

/** What the server adds to a request. */
export interface RequestMarks {
  /** Sends `100 Continue` if the client waits for it before it sends the body (RFC 9110 §10.1.1). */
  invite?: (() => void) | undefined;
  /** It arrived when the server only finished running requests before its end. */
  isTooLate?: boolean;
}

export type MarkedRequest = IncomingMessage & RequestMarks;

interface Exchange {
  readonly request: MarkedRequest;
  readonly response: ServerResponse;
  /** Whether `refuse` answers it. */
  readonly isMalformed: boolean;
}

/** One client connection, from the first byte to the last response. */
export interface Connection {
  readonly socket: Socket;
  /** The request that is being served, with its response. */
  current: Exchange | undefined;
  /** A request that was answered before all of it was received. */
  unread: IncomingMessage | undefined;
  /** Requests that wait for `current`. */
  readonly pipelined: Exchange[];
  /** Whether no later request on this connection is served (RFC 9112 §9.6). */
  isLast: boolean;
  /** The number of requests that arrived after the last one that is served. */
  ignored: number;
  /** How the client broke the protocol. The error is sent after the responses to earlier requests. */
  error: ConnectionError | undefined;
}

/** What all connections of one server share. */
export interface Serving {
  readonly listener: RequestListener;
  readonly refuse: RequestListener | undefined;
  readonly connections: Map<Duplex, Connection>;
  readonly logError: (fields: { readonly reason: ConnectionError }) => void;
  /** How long running requests may take to finish during shutdown, in milliseconds. */
  readonly drainMs: number;
  /** Each connection ends after its next response. */
  isStopping: boolean;
  /** Later requests are too late. */
  refusesRequests: boolean;
  /** How many connections were accepted so far. */
  accepted: number;
}

/** While a pipelined body fills its buffer, Node reads no more, and would not notice that the client leaves. */
export function isHalfRead({ pipelined }: Connection): boolean {
  return pipelined.at(-1)?.request.complete === false;
}

/** Serves a request now or after the responses to earlier ones, or ends its connection. */
export function take(serving: Serving, request: MarkedRequest, response: ServerResponse): void {
  const connection = serving.connections.get(request.socket);
  if (connection === undefined) return;
  if (connection.isLast) {
    connection.ignored += 1;
    // Node keeps each ignored request in memory until the connection ends.
    if (connection.ignored > MAX_PIPELINED) request.socket.destroy();
    request.resume();
    return;
  }
  const isGuard = serving.refuse !== undefined;
  const shape = shapeFault(request, !isGuard);
  const isMalformed = isGuard && shape !== undefined;
  const fault = isMalformed ? undefined : (shape ?? expectationFault(request));
  if (fault !== undefined) {
    fail(serving, connection, fault);
    request.resume();
    return;
  }
  // Another server could find the end of the request elsewhere.
  if (isMalformed) connection.isLast = true;
  const exchange = { request, response, isMalformed };
  if (connection.current === undefined) serve(serving, connection, exchange);
  else if (connection.pipelined.length < MAX_PIPELINED) connection.pipelined.push(exchange);
  else request.socket.destroy();
}

function serve(serving: Serving, connection: Connection, exchange: Exchange): void {
  const { request, response, isMalformed } = exchange;
  const { socket } = request;
  connection.current = exchange;
  response.once('close', () => {
    connection.current = undefined;
    connection.unread = request.complete ? undefined : request;
    const next = connection.pipelined.shift();
    if (!socket.writable) connection.isLast = true;
    else if (next !== undefined) serve(serving, connection, next);
    else if (connection.error !== undefined) sendError(connection, connection.error);
  });
  if (serving.isStopping) {
    connection.isLast = true;
    connection.pipelined.length = 0;
    request.isTooLate = serving.refusesRequests;
  }
  if (serving.isStopping || isMalformed) response.setHeader('Connection', 'close');
  const answer = isMalformed ? serving.refuse : serving.listener;
  answer?.(request, response);
}

/** The client broke the protocol. Nothing later on its connection is served. */
export function fail({ logError }: Serving, connection: Connection, error: ConnectionError): void {
  if (connection.isLast) return;
  connection.isLast = true;
  const { current, pipelined, unread } = connection;
  // A client that got its response early ends the connection in place of the rest of its body (RFC 9112 §9.5).
  if (unread?.complete !== false) logError({ reason: error });
  // The rest of this pipelined request will not arrive, so the error is its response.
  if (isHalfRead(connection)) pipelined.pop()?.request.resume();
  // The rest of the current request will not arrive, so its handler would wait until the connection ends.
  const isIncomplete = current !== undefined && !current.request.complete && !current.response.headersSent;
  if (current === undefined || isIncomplete) sendError(connection, error);
  else connection.error = error;
}

function sendError({ socket, unread }: Connection, error: ConnectionError): void {
  // The client is still sending a request that was answered. It would take this response for that of its next.
  if (unread?.complete === false || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(connectionErrorResponse(error));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** RFC 9110 §10.1.1: anything but `100-continue` cannot be met. */
function expectationFault({ headers: { expect } }: IncomingMessage): ConnectionError | undefined {
  return expect === undefined || expect.toLowerCase() === '100-continue' ? undefined : 'expectation';
}
