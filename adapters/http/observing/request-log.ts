/**
 * One line per request: id, route, method, status, duration and reason. The route is the pattern that matched, never
 * the path or the query, which may hold anything. A request that is part of a trace (W3C Trace Context) is worked on as
 * a span of it, which the line names.
 */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Randomness } from '../../../application/ports/runtime.ts';
import type { Log, Tracing } from '../../../application/ports/telemetry.ts';
import { parseTraceparent, type Trace } from '../../../domain/traces/trace-context.ts';
import { singleHeader } from '../message/headers.ts';

/** Methods that we know; any other word is the sender's, and is not repeated. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const SPAN_ID_BYTES = 8;

export function requestLog(log: Log, randomness: Randomness, tracing: Tracing): RequestHandler {
  return (request, response, next) => {
    const started = performance.now();
    const requestId = randomness.ulid();
    response.locals.requestId = requestId;
    const trace = traceOf(request, randomness);
    response.once('close', () => {
      log.info('request', {
        ...(trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId }),
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
    if (trace === undefined) next();
    else tracing.within(trace, () => next());
  };
}

/** A header that stands there twice is malformed, and like any malformed one ignored (§3.3). */
function traceOf(request: IncomingMessage, randomness: Randomness): Trace | undefined {
  if (request.headers.traceparent === undefined) return undefined;
  const header = singleHeader(request, 'traceparent');
  const parent = header.kind === 'present' ? parseTraceparent(header.value) : undefined;
  if (parent === undefined) return undefined;
  const spanId = Buffer.from(randomness.secret(SPAN_ID_BYTES), 'base64url').toString('hex');
  return { ...parent, spanId };
}
