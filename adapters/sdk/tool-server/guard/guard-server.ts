/** The HTTP server of the guard, for both modes: its limits, and its stop. What Node's parser refuses has no event. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { answerRefusal, refusal } from '../core/refusal.ts';
import type { GuardMode } from './guard-mode.ts';
import type { ListenAddress } from './read-configuration.ts';

export interface GuardServerOptions extends Pick<GuardMode, 'answer' | 'isAmbiguous' | 'requestTimeoutMs'> {
  /** Gets what `answer` rejects with. */
  readonly onError: (error: unknown) => void;
  /** The times of a stop; those of the service when absent. */
  readonly stopping?: StopTimes;
}

export interface StopTimes {
  /** How long requests are still accepted, in milliseconds: a load balancer notices a stop late. */
  readonly lingerMs: number;
  /** How long running requests may then take to finish. */
  readonly drainMs: number;
}

export interface GuardServer {
  readonly address: ListenAddress;
  /** Finishes running requests, and closes every connection. What is running at the end, such as a stream, is cut. */
  stop(): Promise<void>;
}

const STOP_TIMES: StopTimes = { lingerMs: 1000, drainMs: 10_000 };
const HEAD_TIMEOUT_MS = 10_000;
/** Node compares its timeouts only this often, by default every 30 seconds. */
const CHECKING_INTERVAL_MS = 2000;
/** Longer than the minute for which gateways keep idle connections, so that they close them first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A token of 16 KiB, and the other headers that a gateway passes on. */
const MAX_HEAD_BYTES = 32 * 1024;
/** After this time without bytes the system asks the client's whether the connection is still open. */
const PROBE_AFTER_MS = 60_000;
/** As of the service: each takes a file descriptor and some kilobytes. Beyond it a new one is closed. */
const MAX_CONNECTIONS = 10_000;
/** How many requests may wait on one connection for an earlier response (RFC 9112 §9.3.2). Few clients pipeline. */
const MAX_PIPELINED = 100;
const POLL_MS = 25;

/** @throws the system's error if it cannot listen on the address */
export async function startGuardServer(
  { host, port }: ListenAddress,
  { answer, isAmbiguous, onError, requestTimeoutMs, stopping = STOP_TIMES }: GuardServerOptions,
): Promise<GuardServer> {
  let isStopping = false;
  const ending = new WeakSet<Socket>();
  const isTooMany = pipelineLimit();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (ending.has(socket)) return;
    if (isTooMany(socket, response)) {
      ending.add(socket);
      socket.destroy();
      return;
    }
    const isLast = isAmbiguous(request);
    if (isLast) ending.add(socket);
    if (isLast || isStopping) response.setHeader('Connection', 'close');
    answer(request, response).catch((error: unknown) => {
      onError(error);
      answerFault(response, socket);
    });
  };
  // The mode invites the body, if it reads it. Node closes the connection after an answer without that: the client may or
  // may not send the body. Node's own 417 would leave the connection open.
  const meet = (request: IncomingMessage, response: ServerResponse): void => {
    if (/^100-continue$/i.test(request.headers.expect ?? '')) serve(request, response);
    else if (!ending.has(request.socket)) {
      ending.add(request.socket);
      response.writeHead(417, { Connection: 'close' }).end();
    }
  };
  const server = limitedServer(requestTimeoutMs);
  server.on('request', serve).on('checkContinue', meet).on('checkExpectation', meet);
  const connections = connectionsOf(server);
  server.listen(port, host);
  await once(server, 'listening');
  // The system may fail to accept one connection (ENFILE). The server continues to listen.
  server.on('error', onError);
  return {
    address: { host, port: (server.address() as AddressInfo).port },
    async stop() {
      isStopping = true;
      await pause(stopping.lingerMs);
      await closeServer(server, connections, stopping.drainMs);
    },
  };
}

function limitedServer(requestTimeoutMs: number): Server {
  const server = createServer({
    headersTimeout: HEAD_TIMEOUT_MS,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECKING_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // A silent stream has no time limit. Its client may vanish without closing it, as a machine that loses its power.
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    // Node's flag --insecure-http-parser must not change this.
    insecureHTTPParser: false,
  });
  // Beyond a number of headers Node drops the rest, and with them a second Authorization. Their bytes are limited above.
  server.maxHeadersCount = 0;
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/**
 * Counts the requests of each connection whose responses are not closed. Node parses every request that it has received,
 * also behind one whose answer takes long.
 *
 * @returns whether a new request exceeds the limit of its connection
 */
function pipelineLimit(): (socket: Socket, response: ServerResponse) => boolean {
  const unanswered = new WeakMap<Socket, number>();
  const add = (socket: Socket, more: 1 | -1): number => {
    const count = (unanswered.get(socket) ?? 0) + more;
    unanswered.set(socket, count);
    return count;
  };
  return (socket, response) => {
    response.on('close', () => add(socket, -1));
    return add(socket, 1) > 1 + MAX_PIPELINED;
  };
}

/** @returns the open connections, from now on */
function connectionsOf(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    // Each of many pipelined requests waits for the end of its connection. Node would warn of a leak.
    socket.setMaxListeners(0);
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return connections;
}

async function closeServer(server: Server, connections: ReadonlySet<Socket>, drainMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // A response that began before the stop keeps its connection open.
  const polling = setInterval(() => {
    server.closeIdleConnections();
    // Node does not count a connection as idle that has received no bytes.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  }, POLL_MS);
  const cutting = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(polling);
  clearTimeout(cutting);
}

/** Nothing can be added to an answer that has begun: its connection is cut, also if the answer waits for an earlier one. */
function answerFault(response: ServerResponse, socket: Socket): void {
  if (response.headersSent) socket.destroy();
  else answerRefusal(response, refusal('internal_error', ''));
}
