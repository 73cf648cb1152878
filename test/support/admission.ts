/** Admission control over real HTTP, in front of an application that holds its requests until a test answers them. */

import { IncomingMessage, ServerResponse } from 'node:http';
import { type AdmissionControl, admission } from '../../adapters/http/admission/admission.ts';
import { type WorkLimiters, workLimiters } from '../../adapters/http/admission/concurrency.ts';
import type { BucketRules, RateLimitRules } from '../../adapters/http/admission/rate-limit.ts';
import { consoleRouteOf } from '../../adapters/http/console/routes.ts';
import { ME_ROW, type RouteOf, routed, routeTable, type Work } from '../../adapters/http/routes.ts';
import { type HttpServer, startHttpServer } from '../../adapters/http/server/server.ts';
import type { AnonymousDenials } from '../../application/ledger/anonymous-denials.ts';
import type { AnonymousDenial } from '../../domain/ledger/aggregation.ts';
import { type CapturedLog, capturedLog } from './captured-log.ts';
import { eventually } from './eventually.ts';
import { type MovedClock, movedClock } from './moved-clock.ts';
import { type RawConnection, rawConnection } from './raw-http.ts';

/** One path for each concurrency limit. */
export const PATHS: Readonly<Record<Work, string>> = {
  token: '/oauth2/token',
  introspection: '/oauth2/introspect',
  revoking: '/oauth2/revoke',
  proof: '/audit/records/1/proof',
  sign_in: '/me/sign-in',
  console_sign_in: '/sign-in',
  other: '/.well-known/jwks.json',
};

const LAVISH: BucketRules = { permitsPerMinute: 60_000, burst: 10_000 };

export interface Fixture {
  readonly url: string;
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  readonly records: AnonymousDenial[];
  readonly limiters: WorkLimiters;
  /** The admitted requests, in order. The test answers them. */
  readonly held: { readonly path: string; readonly request: IncomingMessage; readonly response: ServerResponse }[];
  /** Resolves when the application has this number of requests. */
  admitted(count: number): Promise<void>;
  /** Sends the bytes on a new connection. */
  send(bytes: string): Promise<RawConnection>;
  /** Sends a request on a new connection, and resolves when the application has it. */
  occupy(path?: string): Promise<RawConnection>;
  readonly server: HttpServer;
  stop(): Promise<void>;
}

export type Given = Partial<Pick<AnonymousDenials, 'record'>> & {
  /** Whether denials are only counted and not written. */
  readonly isCounted?: boolean;
  readonly permits?: { readonly concurrency: number; readonly queue: number; readonly waitMs?: number };
  readonly rates?: Partial<RateLimitRules>;
};

export const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: mandate.test\r\n\r\n`;

export async function open({ permits: limits, rates, record, isCounted = false }: Given): Promise<Fixture> {
  const [clock, log, records] = [movedClock(), capturedLog(), [] as AnonymousDenial[]];
  // The rate limit adds permits only when a test advances the clock.
  clock.standStill();
  const limiters = workLimiters({ waitMs: 30_000, ...(limits ?? { concurrency: 1, queue: 0 }) });
  const held: Fixture['held'][number][] = [];
  const connections: RawConnection[] = [];
  const control: AdmissionControl = {
    rates: rates && { main: LAVISH, introspection: LAVISH, signals: LAVISH, trustedProxies: [], ...rates },
    limiters: limits && limiters,
    denials: {
      record(denial) {
        records.push(denial);
        return isCounted ? undefined : (record?.(denial) ?? Promise.resolve());
      },
    },
    clock,
    log,
  };
  const admitting = admission(control, (request, response) => {
    held.push({ path: request.url ?? '', request, response });
  });
  // The console has its own listener.
  const ofService = routeTable([ME_ROW]);
  const routes: RouteOf = (target) => (target === PATHS.console_sign_in ? consoleRouteOf(target) : ofService(target));
  const listener = routed(routes, admitting);
  const server = await startHttpServer(
    { host: '127.0.0.1', port: 0 },
    { listener, classes: { IncomingMessage, ServerResponse }, log: capturedLog() },
  );
  const url = `http://127.0.0.1:${server.address.port}`;
  const admitted = (count: number) => eventually(() => held.length >= count);
  async function send(bytes: string) {
    const connection = await rawConnection(url);
    connections.push(connection);
    connection.send(bytes);
    return connection;
  }
  return {
    url,
    clock,
    log,
    records,
    limiters,
    held,
    server,
    admitted,
    send,
    async occupy(path = '/a') {
      const before = held.length;
      const connection = await send(get(path));
      await admitted(before + 1);
      return connection;
    },
    async stop() {
      for (const connection of connections) connection.leave();
      await server.stop(0);
    },
  };
}

export const ANSWERED = 'HTTP/1.1 200';
export const REFUSED = 'HTTP/1.1 503';
