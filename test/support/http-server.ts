/** The HTTP server of the service, with a handler of the test instead of the application. */

import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '../../adapters/http/server/server.ts';
import { capturedLog } from './captured-log.ts';

export function serverWith(
  listener: RequestListener,
  options: Partial<Omit<HttpServerOptions, 'listener'>> = {},
): Promise<HttpServer> {
  const classes = { IncomingMessage, ServerResponse };
  return startHttpServer({ host: '127.0.0.1', port: 0 }, { listener, classes, log: capturedLog(), ...options });
}
