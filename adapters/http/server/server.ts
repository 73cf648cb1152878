/**
 * Node's HTTP server with stricter limits and three more rules (supplement "How it runs"). A request that breaks the
 * protocol ends its connection. The requests of one connection are served one after another. A shutdown finishes
 * running requests. A proxy must limit the connections of each client (docs/deploying.md).
 *
 * A request is created with the classes of message-classes.ts, which carry what later steps find out about it.
 * protocol-errors.ts checks its head, and answers protocol errors. Any other request goes to the listener of
 * `../app.ts`. throttled-log.ts limits the log lines that clients can cause.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { MessageClasses, ServedRequest } from './message-classes.ts';
import { type ConnectionError, connectionErrorResponse, parserError, shapeFault } from './protocol-errors.ts';
import { throttledLog } from './throttled-log.ts';

interface Address {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
}

/** Limits in milliseconds. */
export interface TimeLimits {
  /** Limits the wait for the first byte on a connection, and then for each complete head. */
  readonly headMs: number;
  /** Limits the time for a request's head and body together. */
  readonly requestMs: number;
  /** How long a socket may be idle during a request, because its client does not read the response. */
  readonly idleMs: number;
  /** How often Node checks `headMs` and `requestMs`. */
  readonly checkMs: number;
}

const TIME_LIMITS: TimeLimits = {
  // An accepted head fits into a few packets. One that arrives more slowly only occupies a socket.
  headMs: 10_000,
  // Even a slow network transfers 64 KiB within this time.
  requestMs: 30_000,
  // The same time for a client to read the response: a request keeps its permit until the response is sent.
  idleMs: 30_000,
  checkMs: 2_000,
};

/** Longer than the minute for which load balancers keep idle connections, so that they close them first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Enough for an audit query or a credential, and the headers that proxies add. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Each connection takes a file descriptor and some kilobytes. Services may usually open far more descriptors. */
const MAX_CONNECTIONS = 10_000;
/** How many requests may wait on one connection for an earlier response (RFC 9112 §9.3.2). Few clients pipeline. */
const MAX_PIPELINED = 100;
/** After the last response, read and discard for at most this long: closing at once would reset the connection. */
const LINGER_MS = 2_000;
/** How long running requests may take to finish during shutdown. */
const DRAIN_MS = 10_000;
const POLL_MS = 25;

export interface HttpServerOptions {
  readonly listener: RequestListener;
  readonly classes: MessageClasses;
  readonly log: Log;
  readonly limits?: TimeLimits;
}

export interface HttpServer {
  readonly address: Address;
  /**
   * Finishes running requests and closes every connection.
   *
   * @param lingerMs how long the server still serves requests, in milliseconds, because a load balancer notices a
   * shutdown late. Meanwhile it closes each connection after a response. Later requests are marked `isTooLate`
   */
  stop(lingerMs: number): Promise<void>;
}

interface Exchange {
  readonly request: ServedRequest;
  readonly response: ServerResponse;
}

/** One client connection, from the first byte to the last response. */
interface Connection {
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
interface Serving {
  readonly listener: RequestListener;
  readonly connections: Map<Duplex, Connection>;
  readonly logError: (fields: { readonly reason: ConnectionError }) => void;
  /** Each connection ends after its next response. */
  isStopping: boolean;
  /** Later requests are too late. */
  refusesRequests: boolean;
  /** How many connections were accepted so far. */
  accepted: number;
}

/** @throws the system's error if it cannot listen on the address */
export async function startHttpServer(at: Address, options: HttpServerOptions): Promise<HttpServer> {
  const { listener, classes, log, limits = TIME_LIMITS } = options;
  const serving: Serving = {
    listener,
    connections: new Map(),
    logError: throttledLog<{ reason: ConnectionError }>(log, 'a client broke the protocol'),
    isStopping: false,
    refusesRequests: false,
    accepted: 0,
  };
  const logDrop = throttledLog<{ reason: 'too_many' }>(log, 'connections were refused');

  const server = createLimitedServer(classes, limits);
  server.on('drop', () => logDrop({ reason: 'too_many' }));
  attach(server, serving);

  server.listen(at.port, at.host);
  await once(server, 'listening');
  // The system may fail to accept one connection (ENFILE). The server continues to listen.
  server.on('error', (error) => log.error('a connection could not be accepted', error));
  const { port } = server.address() as AddressInfo;

  return {
    address: { host: at.host, port },
    stop: (lingerMs) => stop(server, serving, lingerMs),
  };
}

function createLimitedServer(classes: MessageClasses, limits: TimeLimits): Server {
  const server = createServer({
    ...classes,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // Node's flag --insecure-http-parser must not change this.
    insecureHTTPParser: false,
    // protocol-errors.ts requires the header. Node's own refusal would leave the connection open for more requests.
    requireHostHeader: false,
  });
  server.maxConnections = MAX_CONNECTIONS;
  // protocol-errors.ts refuses too many. With a limit, Node drops the rest, or a newer Node calls the head too large.
  server.maxHeadersCount = 0;
  server.setTimeout(limits.idleMs);
  return server;
}

function attach(server: Server, serving: Serving): void {
  const { connections } = serving;
  server.on('connection', (socket: Socket) => {
    serving.accepted += 1;
    connections.set(socket, {
      socket,
      current: undefined,
      unread: undefined,
      pipelined: [],
      isLast: false,
      ignored: 0,
      error: undefined,
    });
    socket.once('close', () => connections.delete(socket));
  });

  server.on('request', (request, response) => take(serving, { request, response }));
  // The reader of the body sends `100 Continue`. So a client without a credential is refused before it sends the body.
  server.on('checkContinue', (request: ServedRequest, response) => {
    request.invite = () => response.writeContinue();
    take(serving, { request, response });
  });
  // Replaces Node's own 417, after which the connection would serve its next request.
  server.on('checkExpectation', (request, response) => take(serving, { request, response }));
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    // Node has removed its own listeners from this socket.
    socket.on('timeout', () => endIdle(socket as Socket));
    const connection = connections.get(socket);
    if (connection !== undefined) fail(serving, connection, 'tunnel');
  });
  server.on('clientError', (error, socket) => {
    const connection = connections.get(socket);
    const reason = parserError(error);
    if (connection === undefined || reason === undefined) socket.destroy();
    else fail(serving, connection, reason);
  });
  // The event also marks the keep-alive timeout. A running request may take longer, but a client must read its response.
  const endIdle = (socket: Socket): void => {
    if (connections.get(socket)?.current === undefined || socket.writableLength > 0) socket.destroy();
  };
  server.on('timeout', endIdle);
}

/** Serves a request now or after the responses to earlier ones, or ends its connection. */
function take(serving: Serving, exchange: Exchange): void {
  const { request } = exchange;
  const connection = serving.connections.get(request.socket);
  if (connection === undefined) return;
  if (connection.isLast) {
    connection.ignored += 1;
    // Node keeps each ignored request in memory until the connection ends.
    if (connection.ignored > MAX_PIPELINED) request.socket.destroy();
    request.resume();
    return;
  }
  const fault = requestFault(request);
  if (fault !== undefined) {
    fail(serving, connection, fault);
    request.resume();
  } else if (connection.current === undefined) serve(serving, connection, exchange);
  else if (connection.pipelined.length < MAX_PIPELINED) connection.pipelined.push(exchange);
  else request.socket.destroy();
}

function serve(serving: Serving, connection: Connection, exchange: Exchange): void {
  const { request, response } = exchange;
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
    response.setHeader('Connection', 'close');
    request.isTooLate = serving.refusesRequests;
  }
  serving.listener(request, response);
}

/** The client broke the protocol. Nothing later on its connection is served. */
function fail({ logError }: Serving, connection: Connection, error: ConnectionError): void {
  if (connection.isLast) return;
  connection.isLast = true;
  logError({ reason: error });
  const { current, pipelined } = connection;
  // The rest of this pipelined request will not arrive, so the error is its response.
  if (pipelined.at(-1)?.request.complete === false) pipelined.pop()?.request.resume();
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

async function stop(server: Server, serving: Serving, lingerMs: number): Promise<void> {
  const { connections } = serving;
  serving.isStopping = true;
  await until(() => connections.size === 0, lingerMs);
  const deadline = performance.now() + DRAIN_MS;
  serving.refusesRequests = true;
  const isServing = ({ current }: Connection) => current !== undefined && current.request.isTooLate !== true;
  await until(() => ![...connections.values()].some(isServing), DRAIN_MS);
  // Node accepts one connection per event loop turn. Closing now would reset those that still wait to be accepted.
  for (let before = -1; before !== serving.accepted && performance.now() < deadline; ) {
    before = serving.accepted;
    await nextTurn();
    await nextTurn();
  }
  const closed = once(server, 'close');
  server.close();
  await until(() => {
    server.closeIdleConnections();
    // Node does not count a connection as idle that has received no bytes.
    for (const { socket } of connections.values()) if (socket.bytesRead === 0) socket.destroy();
    return connections.size === 0;
  }, deadline - performance.now());
  for (const socket of connections.keys()) socket.destroy();
  await closed;
}

/**
 * Why the head of the request is refused; `undefined` if it is not. An `Expect` other than `100-continue` is a reason, too
 * (RFC 9110 §10.1.1).
 */
function requestFault(request: IncomingMessage): ConnectionError | undefined {
  const { expect } = request.headers;
  const fault = shapeFault(request);
  if (fault !== undefined || expect === undefined) return fault;
  return expect.toLowerCase() === '100-continue' ? undefined : 'expectation';
}

/** Resolves once `isDone` returns true, or after `limitMs`. */
async function until(isDone: () => boolean, limitMs: number): Promise<void> {
  const began = performance.now();
  while (!isDone() && performance.now() - began < limitMs) await pause(POLL_MS);
}
