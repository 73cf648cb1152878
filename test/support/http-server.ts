/** The HTTP server of the service, with a handler of the test instead of the application. */

import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import {
  type HttpServer,
  type HttpServerOptions,
  type ServerLimits,
  startHttpServer,
} from '../../adapters/http/server/server.ts';
import { guardServer } from '../../composition/guard/guard-server.ts';
import { capturedLog } from './captured-log.ts';

const AT = { host: '127.0.0.1', port: 0 };

export function serverWith(
  listener: RequestListener,
  options: Partial<Omit<HttpServerOptions, 'listener'>> = {},
): Promise<HttpServer> {
  const classes = { IncomingMessage, ServerResponse };
  return startHttpServer(AT, { listener, classes, log: capturedLog(), ...options });
}

interface ListeningServer extends Pick<HttpServer, 'address'> {
  stop(): Promise<void>;
}

export interface StartOptions {
  /** How long a stop still accepts requests; 0 by default. */
  readonly lingerMs?: number;
  readonly limits?: Partial<ServerLimits>;
}

export interface ListeningProgram {
  readonly name: string;
  start(listener: RequestListener, options?: StartOptions): Promise<ListeningServer>;
  /** The status for a malformed head, and for over 100 headers. In the guard the handler answers both. */
  readonly refusals: { readonly malformed: number; readonly tooManyHeaders: number };
}

/** The programs that listen with this server, each with its arguments. */
export const PROGRAMS: readonly ListeningProgram[] = [
  {
    name: 'the service',
    async start(listener, { lingerMs = 0, limits = {} } = {}) {
      const server = await serverWith(listener, { limits });
      return { address: server.address, stop: () => server.stop(lingerMs) };
    },
    refusals: { malformed: 400, tooManyHeaders: 431 },
  },
  {
    name: 'the guard',
    start: (listener, { lingerMs = 0, limits = {} } = {}) =>
      guardServer(capturedLog(), { lingerMs, limits })(AT, {
        requestMs: 0,
        answer(request, response, isMalformed) {
          if (isMalformed) response.writeHead(403, { 'Content-Length': 0 }).end();
          else listener(request, response);
        },
      }),
    refusals: { malformed: 403, tooManyHeaders: 403 },
  },
];
