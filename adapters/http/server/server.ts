/**
 * Node's HTTP server with stricter limits and three more rules (supplement "How it runs"). A request that breaks the
 * protocol ends its connection. The requests of one connection are served one after another. A shutdown finishes
 * running requests. A proxy must limit the connections of each client (docs/deploying.md).
 *
 * connection.ts has the requests of one connection. protocol-errors.ts checks the head of each, and answers protocol errors.
 * Any other request goes to the listener. throttled-log.ts limits the log lines that clients can cause. The service and the
 * guard (`composition/guard`) listen with it. It imports nothing of the application, because the guard's package has it too.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { type Connection, fail, isHalfRead, type MarkedRequest, type Serving, take } from './connection.ts';
import { type ConnectionError, isCutOff, parserError } from './protocol-errors.ts';
import { type CountingLog, throttledLog } from './throttled-log.ts';

interface Address {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
}

/** Limits in milliseconds, and of sizes. */
export interface ServerLimits {
  /** Limits the wait for the first byte on a connection, and then for each complete head. */
  readonly headMs: number;
  /** Limits the time for a request's head and body together; 0 for no limit. */
  readonly requestMs: number;
  /** How long a socket may be idle during a request, because its client does not read the response. */
  readonly idleMs: number;
  /** How often Node checks `headMs` and `requestMs`. */
  readonly checkMs: number;
  /** How long running requests may take to finish during shutdown. */
  readonly drainMs: number;
  readonly headBytes: number;
  /** After this time without bytes, TCP probes whether the connection is still open (keep-alive); 0 for never. */
  readonly probeMs: number;
}

/** Those of the service. */
const LIMITS: ServerLimits = {
  // An accepted head fits into a few packets. One that arrives more slowly only occupies a socket.
  headMs: 10_000,
  // Even a slow network transfers 64 KiB within this time.
  requestMs: 30_000,
  // The same time for a client to read the response: a request keeps its permit until the response is sent.
  idleMs: 30_000,
  checkMs: 2_000,
  drainMs: 10_000,
  // Enough for an audit query or a credential, and the headers that proxies add.
  headBytes: 16 * 1024,
  // No response is silent for so long.
  probeMs: 0,
};

/** Longer than the minute for which load balancers keep idle connections, so that they close them first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Each connection takes a file descriptor and some kilobytes. Services may usually open far more descriptors. */
const MAX_CONNECTIONS = 10_000;
const POLL_MS = 25;

export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

export interface HttpServerOptions {
  readonly listener: RequestListener;
  readonly log: ServerLog;
  /** Of each request and response; by default Node's. */
  readonly classes?: MessageClasses;
  /** Those that differ from the service's. */
  readonly limits?: Partial<ServerLimits>;
  /**
   * Of a guard, whose requests are for another server: answers a request with a malformed head, in place of a fixed response.
   * The connection ends with that answer. The target is not checked.
   */
  readonly refuse?: RequestListener;
}

export interface ServerLog extends CountingLog {
  error(message: string, cause: unknown): void;
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

/** @throws the system's error if it cannot listen on the address */
export async function startHttpServer(at: Address, options: HttpServerOptions): Promise<HttpServer> {
  const { listener, classes, log, refuse } = options;
  const limits: ServerLimits = { ...LIMITS, ...options.limits };
  const serving: Serving = {
    listener,
    refuse,
    connections: new Map(),
    logError: throttledLog<{ reason: ConnectionError }>(log, 'a client broke the protocol'),
    drainMs: limits.drainMs,
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

function createLimitedServer(classes: MessageClasses | undefined, limits: ServerLimits): Server {
  const server = createServer({
    ...classes,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: limits.headBytes,
    keepAlive: limits.probeMs > 0,
    keepAliveInitialDelay: limits.probeMs,
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

  server.on('request', (request, response) => take(serving, request, response));
  // The reader of the body sends `100 Continue`. So a client without a credential is refused before it sends the body.
  server.on('checkContinue', (request: MarkedRequest, response) => {
    request.invite = () => response.writeContinue();
    take(serving, request, response);
  });
  // Replaces Node's own 417, after which the connection would serve its next request.
  server.on('checkExpectation', (request, response) => take(serving, request, response));
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    // Node has removed its own listeners from this socket.
    socket.on('timeout', () => endIdle(socket as Socket));
    // Node reads no more from it, and would not notice that the client leaves.
    socket.on('end', () => endLeft(socket)).resume();
    const connection = connections.get(socket);
    if (connection !== undefined) fail(serving, connection, 'tunnel');
  });
  server.on('clientError', (error, socket) => {
    const connection = connections.get(socket);
    const reason = parserError(error);
    if (connection === undefined || reason === undefined) socket.destroy();
    else fail(serving, connection, reason);
    if (isCutOff(error)) endLeft(socket);
  });
  // The event also marks the keep-alive timeout. A running request may take longer, but a client must read its response.
  const endIdle = (socket: Socket): void => {
    const connection = connections.get(socket);
    if (connection?.current === undefined || socket.writableLength > 0 || isHalfRead(connection)) socket.destroy();
  };
  server.on('timeout', endIdle);
}

/** A client that closes its side in the middle of a request has left, unless it gets the error. So an earlier response ends. */
function endLeft(socket: Duplex): void {
  if (!socket.writableEnded) socket.destroy();
}

async function stop(server: Server, serving: Serving, lingerMs: number): Promise<void> {
  const { connections, drainMs } = serving;
  serving.isStopping = true;
  // Some gateways open a connection for each request to a guard. That none is open does not mean that none will follow.
  await until(() => connections.size === 0 && serving.refuse === undefined, lingerMs);
  const deadline = performance.now() + drainMs;
  serving.refusesRequests = true;
  const isServing = ({ current }: Connection) => current !== undefined && current.request.isTooLate !== true;
  await until(() => ![...connections.values()].some(isServing), drainMs);
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

/** Resolves once `isDone` returns true, or after `limitMs`. */
async function until(isDone: () => boolean, limitMs: number): Promise<void> {
  const began = performance.now();
  while (!isDone() && performance.now() - began < limitMs) await pause(POLL_MS);
}
