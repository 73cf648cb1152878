/**
 * Node's HTTP server with Node's own limits. What is added: a request that breaks the protocol ends its connection, the
 * requests of one connection are served one after the other, and a stop finishes the requests under way (decisions "How
 * it runs"). Limits on connections for each client are the proxy's (docs/deploying.md).
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { MessageClasses, ServedRequest } from './message-classes.ts';
import {
  type ConnectionError,
  connectionErrorResponse,
  MAX_HEADERS,
  parserError,
  shapeFault,
} from './protocol-errors.ts';
import { throttledLog } from './throttled-log.ts';

interface Address {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
}

/** Milliseconds. */
export interface TimeLimits {
  /** For the first byte on a connection, and from its first byte for each head. */
  readonly headMs: number;
  /** For head and body together. */
  readonly requestMs: number;
  /** How long a socket may be idle while a request is under way: a client that takes nothing of its response. */
  readonly idleMs: number;
  /** How often Node checks the first two. */
  readonly checkMs: number;
}

const TIME_LIMITS: TimeLimits = {
  // Every head we accept fits into one packet or two; one that trickles in holds a socket.
  headMs: 10_000,
  // 64 KiB within this time is slower than any network that clients have.
  requestMs: 30_000,
  // As long as for sending. A request keeps its permit until its response is out.
  idleMs: 30_000,
  checkMs: 2_000,
};

/** Longer than the minute for which load balancers keep idle connections, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** The largest meaningful head has an audit query or a credential in it, and what proxies add. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Each is a file descriptor and some kilobytes: well under the usual limit of descriptors for a service. */
const MAX_CONNECTIONS = 10_000;
/** Requests that wait on one connection for the response before theirs (RFC 9112 §9.3.2). Few clients pipeline at all. */
const MAX_PIPELINED = 100;
/** After the last response, read and discard for at most this long: closing at once would reset the connection. */
const LINGER_MS = 2_000;
/** Requests under way get this long to finish after a stop was asked for. */
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
   * Finishes the requests under way and closes every connection.
   *
   * @param lingerMs how long the server goes on accepting, with each response the last on its connection: a load balancer
   * takes a moment to notice, and a request may be on its way. Milliseconds
   */
  stop(lingerMs: number): Promise<void>;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One client connection, from the first byte to the last response. */
interface Connection {
  readonly socket: Socket;
  /** The request that is being served, with its response. */
  current: Exchange | undefined;
  /** A request that was answered before all of it had come. */
  unread: IncomingMessage | undefined;
  /** Requests behind it. */
  readonly pipelined: Exchange[];
  /** No later request on this connection is served (RFC 9112 §9.6). */
  isLast: boolean;
  /** Requests that came behind the last one. */
  ignored: number;
  /** How the client broke the protocol; sent after the responses that are still owed. */
  error: ConnectionError | undefined;
}

/** @throws the system's error when the address cannot be listened on */
export async function startHttpServer(at: Address, options: HttpServerOptions): Promise<HttpServer> {
  const { listener, classes, log, limits = TIME_LIMITS } = options;
  const connections = new Map<Duplex, Connection>();
  const logError = throttledLog<{ reason: ConnectionError }>(log, 'a client broke the protocol');
  const logDrop = throttledLog<{ reason: 'too_many' }>(log, 'connections were refused');
  let isStopping = false;
  let accepted = 0;

  const server = createServer({
    ...classes,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // A flag of the process must not loosen it.
    insecureHTTPParser: false,
    // protocol-errors.ts asks for it: after Node's own refusal the next request on the connection would be served.
    requireHostHeader: false,
  });
  server.maxConnections = MAX_CONNECTIONS;
  // One more than are accepted shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.setTimeout(limits.idleMs);

  const sendError = ({ socket, unread }: Connection, error: ConnectionError): void => {
    // A client that is still sending an answered request would take a second response for that of its next one.
    if (unread?.complete === false || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(connectionErrorResponse(error));
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };

  const fail = (connection: Connection, error: ConnectionError): void => {
    if (connection.isLast) return;
    connection.isLast = true;
    logError({ reason: error });
    const { current, pipelined } = connection;
    // The rest of this pipelined request will never come either, and the error is its response.
    if (pipelined.at(-1)?.request.complete === false) pipelined.pop()?.request.resume();
    // The rest of this request will never come, so its handler would wait for it until the connection ends.
    const isIncomplete = current !== undefined && !current.request.complete && !current.response.headersSent;
    if (current === undefined || isIncomplete) sendError(connection, error);
    else connection.error = error;
  };

  const serve = (connection: Connection, exchange: Exchange): void => {
    const { request, response } = exchange;
    const { socket } = request;
    connection.current = exchange;
    response.once('close', () => {
      connection.current = undefined;
      connection.unread = request.complete ? undefined : request;
      const next = connection.pipelined.shift();
      if (!socket.writable) connection.isLast = true;
      else if (next !== undefined) serve(connection, next);
      else if (connection.error !== undefined) sendError(connection, connection.error);
    });
    if (isStopping) {
      connection.isLast = true;
      connection.pipelined.length = 0;
      response.setHeader('Connection', 'close');
    }
    listener(request, response);
  };

  server.on('connection', (socket: Socket) => {
    accepted += 1;
    connections.set(socket, {
      ...{ socket, current: undefined, unread: undefined, pipelined: [], isLast: false },
      ...{ ignored: 0, error: undefined },
    });
    socket.once('close', () => connections.delete(socket));
  });
  server.on('drop', () => logDrop({ reason: 'too_many' }));

  const take: RequestListener = (request, response) => {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    if (connection.isLast) {
      connection.ignored += 1;
      // Node keeps each until the connection ends.
      if (connection.ignored > MAX_PIPELINED) request.socket.destroy();
      request.resume();
      return;
    }
    const fault = requestFault(request);
    if (fault !== undefined) {
      fail(connection, fault);
      request.resume();
    } else if (connection.current === undefined) serve(connection, { request, response });
    else if (connection.pipelined.length < MAX_PIPELINED) connection.pipelined.push({ request, response });
    else request.socket.destroy();
  };
  server.on('request', take);
  // The reader of the body asks for it, so that a client without a credential is refused first.
  server.on('checkContinue', (request: ServedRequest, response) => {
    request.invite = () => response.writeContinue();
    take(request, response);
  });
  // Node's own 417 would go on to serve what follows on the connection.
  server.on('checkExpectation', take);
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    // Node has taken its own listeners off.
    socket.on('timeout', () => endIdle(socket as Socket));
    const connection = connections.get(socket);
    if (connection !== undefined) fail(connection, 'tunnel');
  });
  server.on('clientError', (error, socket) => {
    const connection = connections.get(socket);
    const reason = parserError(error);
    if (connection === undefined || reason === undefined) socket.destroy();
    else fail(connection, reason);
  });
  // Node reports the end of keep-alive here as well. A request may take longer; a client must take its response.
  const endIdle = (socket: Socket): void => {
    if (connections.get(socket)?.current === undefined || socket.writableLength > 0) socket.destroy();
  };
  server.on('timeout', endIdle);

  server.listen(at.port, at.host);
  await once(server, 'listening');
  // The system may fail to accept one connection (ENFILE): the server goes on listening for the next.
  server.on('error', (error) => log.error('a connection could not be accepted', error));
  const { port } = server.address() as AddressInfo;

  return {
    address: { host: at.host, port },
    async stop(lingerMs) {
      isStopping = true;
      await until(() => connections.size === 0, lingerMs);
      const deadline = performance.now() + DRAIN_MS;
      // Node accepts one connection in a turn of the event loop, and closing resets those that wait.
      for (let before = -1; before !== accepted && performance.now() < deadline; ) {
        before = accepted;
        await nextTurn();
        await nextTurn();
      }
      const closed = once(server, 'close');
      server.close();
      await until(() => {
        server.closeIdleConnections();
        // Node counts a connection on which nothing has come as one with a request under way.
        for (const { socket } of connections.values()) if (socket.bytesRead === 0) socket.destroy();
        return connections.size === 0;
      }, deadline - performance.now());
      for (const socket of connections.keys()) socket.destroy();
      await closed;
    },
  };
}

/** Also an expectation other than `100-continue` (RFC 9110 §10.1.1). */
function requestFault(request: IncomingMessage): ConnectionError | undefined {
  const { expect } = request.headers;
  const fault = shapeFault(request);
  if (fault !== undefined || expect === undefined) return fault;
  return expect.toLowerCase() === '100-continue' ? undefined : 'expectation';
}

/** Resolves once `isDone`, or after `limitMs`. */
async function until(isDone: () => boolean, limitMs: number): Promise<void> {
  const began = performance.now();
  while (!isDone() && performance.now() - began < limitMs) await pause(POLL_MS);
}
