/**
 * Serves HTTP on connections that were accepted: who may have one, its time limits, what is no request, and a stop that
 * drops no request under way (decisions "How it runs").
 */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Log } from '../../application/ports/log.ts';
import { type ClosingReason, closingReason } from './closing-answer.ts';
import { connectionCounts, type SourceConnections } from './connection-counts.ts';
import { countedLines } from './counted-lines.ts';
import { earlyRefusals, type Refuser } from './early-refusals.ts';
import { expectsOnlyAnInvitation, inviteLater } from './invitations.ts';
import { welcome } from './newcomer.ts';
import { quietTurn } from './quiet-turn.ts';
import { MAX_HEADERS, shapeFault } from './request-shape.ts';
import { type ServedConnection, servedConnection } from './served-connection.ts';
import { endSlowTakers } from './slow-takers.ts';

export interface TimeLimits {
  /** For the first byte on a connection, and from its first byte for each head. Milliseconds, as all of them. */
  readonly headMs: number;
  /** For head and body together. */
  readonly requestMs: number;
  /** For a client to take what is ready for it. */
  readonly takingMs: number;
  /** Since anybody was turned away, until connections that are followed for that are closed: others cost less. */
  readonly calmMs: number;
  /** How often these are looked at. */
  readonly lookingMs: number;
}

export const TIME_LIMITS: TimeLimits = {
  // Every head we accept fits into one packet or two; one that trickles in holds a socket (design "Tokens and JSON").
  headMs: 10_000,
  // 64 KiB within this is slower than any line a client has.
  requestMs: 30_000,
  // As long as for sending. Until its answer is out a request keeps its turn, so whoever takes none keeps others from it.
  takingMs: 30_000,
  // Whoever is turned away is told to come back after a second, and mostly does so on the same connection.
  calmMs: 10_000,
  lookingMs: 2_000,
};

/** Longer than the minute that load balancers keep their side open, so that it is never we who close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** What is sent at the last moment of that is not to cross the end. Node adds as much to its own. */
const KEEP_ALIVE_SLACK_MS = 1_000;
/** The largest head that means anything has an audit question in it, or a credential, and what proxies add. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Sockets, each a file descriptor and some kilobytes: well under the usual limit of descriptors for a service. */
const MAX_CONNECTIONS = 10_000;
/** What is under way gets this long to finish once a stop was asked for. */
const DRAIN_MS = 10_000;
/** How often connections that have become idle are looked for meanwhile. */
const LOOKING_MS = 25;
/** How long, each time, for a moment at which nothing unread lies on any of them. */
const QUIET_LIMIT_MS = 500;

export interface HttpServerOptions {
  readonly log: Log;
  readonly limits?: TimeLimits;
  /** Where it is not said, nobody's are counted. */
  readonly sources?: SourceConnections | undefined;
  /** Where it is not said, node reads every request. */
  readonly refuser?: Refuser | undefined;
}

export interface HttpServer {
  /** Serves one more connection, or closes it where there are too many. */
  take(connection: Socket): void;
  /**
   * Waits for what is under way, closes. Resolves once every connection is closed.
   *
   * @param lingerMs how long a connection on which nothing is under way stays open all the same: what its client has
   * sent may be on its way, and is answered, together with the word that this answer is the last
   */
  stop(lingerMs: number): Promise<void>;
}

export function httpServer(handler: RequestListener, options: HttpServerOptions): HttpServer {
  const { log, limits = TIME_LIMITS, sources, refuser } = options;
  const server = createServer({
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.lookingMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // Not to be loosened by a flag of the process, either.
    insecureHTTPParser: false,
    // Asked for in request-shape.ts: node's own refusal goes on to serve what follows on the connection.
    requireHostHeader: false,
  });
  // One more than are accepted shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // It listens nowhere by itself, and begins to look at its time limits when it is told that it does.
  server.emit('listening');
  const open = new Map<Duplex, ServedConnection>();
  /** Those of them that node does not have yet. */
  const newcomers = new Set<Socket>();
  const countRefused = countedLines<{ reason: ClosingReason }>(log, 'what came was no request');
  const countClosed = countedLines<{ reason: 'too_many' | 'too_many_of_one_source' }>(
    log,
    'connections were not taken',
  );
  const counts = sources && connectionCounts(sources);
  const patience = { silenceMs: limits.headMs, keepAliveMs: KEEP_ALIVE_TIMEOUT_MS + KEEP_ALIVE_SLACK_MS };
  let isStopping = false;
  const early =
    refuser &&
    earlyRefusals({
      refuser,
      isIdle: (connection) => !isStopping && open.get(connection)?.isIdle === true,
      keepAliveSeconds: KEEP_ALIVE_TIMEOUT_MS / 1000,
      calmMs: limits.calmMs,
    });

  const refuse = (socket: Duplex, reason: ClosingReason, forHead?: boolean): void => {
    const connection = open.get(socket);
    if (connection === undefined) socket.destroy();
    else if (connection.refuse(reason, forHead)) countRefused({ reason });
  };
  const serve = (request: IncomingMessage, response: ServerResponse, fault: ClosingReason | undefined): void => {
    const connection = open.get(request.socket);
    if (connection === undefined) return;
    // Node has ended it where the last answer is out: what came behind that would be done, and never answered.
    if (connection.isOver || !request.socket.writable) {
      connection.ignores();
      // Thrown away, so that the end of the connection is not behind it.
      request.resume();
      return;
    }
    if (fault !== undefined) {
      refuse(request.socket, fault, request.method === 'HEAD');
      // Thrown away, so that the end of the connection is not behind it.
      request.resume();
      return;
    }
    if (!connection.owes(response)) return;
    // One that is followed costs more; and only another one is read by the parser itself again.
    const isLast = isStopping || early?.isCalm(request.socket) === true;
    if (isLast) connection.endsWith(response);
    handler(request, response);
  };
  const serveExpected = (request: IncomingMessage, response: ServerResponse): void => {
    inviteLater(request, response);
    serve(request, response, shapeFault(request) ?? (expectsOnlyAnInvitation(request) ? undefined : 'expectation'));
  };
  server.on('request', (request, response) => {
    early?.hasRead(request);
    serve(request, response, shapeFault(request));
  });
  server.on('checkContinue', serveExpected);
  server.on('checkExpectation', serveExpected);
  server.on('connect', (_request, socket) => {
    refuse(socket, 'tunnel');
    socket.resume();
  });
  server.on('clientError', (error, socket) => {
    const reason = closingReason(error);
    if (reason === undefined) socket.destroy();
    else refuse(socket, reason);
  });
  const serveNewcomer = (connection: Socket, bytes: Buffer): void => {
    newcomers.delete(connection);
    server.emit('connection', connection);
    early?.handedOver(connection);
    // As it is where the stream brings them itself: otherwise it would read on where node stops it over these bytes.
    connection.read(0);
    connection.emit('data', bytes);
  };
  const stopLooking = endSlowTakers(() => open.keys(), limits);

  return {
    take(connection) {
      const isOneTooMany = open.size >= MAX_CONNECTIONS;
      const uncount = isOneTooMany || counts === undefined ? undefined : counts.add(connection);
      if (isOneTooMany || (counts !== undefined && uncount === undefined)) {
        countClosed({ reason: isOneTooMany ? 'too_many' : 'too_many_of_one_source' });
        connection.destroy();
        return;
      }
      open.set(
        connection,
        servedConnection(connection, (response) => early?.answered(connection, response)),
      );
      newcomers.add(connection);
      // Node stops listening after a CONNECT; and what breaks then would end the process. It ends the connection anyway.
      connection.on('error', () => undefined);
      connection.once('close', () => {
        open.delete(connection);
        newcomers.delete(connection);
        uncount?.();
      });
      welcome(connection, patience, {
        turnAway: (request) => early?.turnAway(connection, request) === true,
        serve: (bytes) => serveNewcomer(connection, bytes),
        tooSlow: () => refuse(connection, 'too_slow'),
      });
      connection.resume();
    },
    async stop(lingerMs) {
      isStopping = true;
      const gone = Promise.all(
        [...open.keys()].map((connection) => new Promise((closed) => connection.once('close', closed))),
      );
      await within(lingerMs, gone);
      // An answer that had begun before can't say any more that it is the last: its connection becomes idle later.
      for (const until = performance.now() + DRAIN_MS; open.size > 0 && performance.now() < until; ) {
        // One whose next request has come, and has not been read, is not idle.
        await quietTurn(QUIET_LIMIT_MS);
        server.closeIdleConnections();
        for (const connection of newcomers) if (!connection.writableEnded) connection.destroySoon();
        await within(LOOKING_MS, gone);
      }
      // Also ends the looking at time limits.
      server.close(() => undefined);
      stopLooking();
      // Node counts those that sent a CONNECT no longer.
      for (const connection of open.keys()) connection.destroy();
      await gone;
    },
  };
}

/** Resolves when `done` does, and after so many milliseconds at the latest. */
async function within(limitMs: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([done, passed]);
  clearTimeout(timer);
}
