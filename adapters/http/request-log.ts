/**
 * One line per request: id, route, method, status, duration and reason. The route is the pattern that matched, never
 * the path or the query, which may hold anything.
 */

import type { RequestHandler } from 'express';
import type { Log } from '../../application/ports/log.ts';
import type { Randomness } from '../../application/ports/randomness.ts';

/** Methods that we know; any other word is the sender's, and is not repeated. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function requestLog(log: Log, randomness: Randomness): RequestHandler {
  return (request, response, next) => {
    const started = performance.now();
    const requestId = randomness.ulid();
    response.locals.requestId = requestId;
    response.once('close', () => {
      log.info('request', {
        request_id: requestId,
        method: METHODS.has(request.method) ? request.method : 'other',
        route:
          request.route === undefined
            ? 'none'
            : `${request.baseUrl}${String(request.route.path)}`.replace(/(?<=.)\/$/, ''),
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - started) * 100) / 100,
        reason: typeof response.locals.reason === 'string' ? response.locals.reason : undefined,
        // The client left before its answer was out.
        ...(response.writableFinished ? {} : { aborted: true }),
      });
    });
    next();
  };
}
