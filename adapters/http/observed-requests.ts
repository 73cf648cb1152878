/**
 * Logs one line per request: id, route, method, status, duration and reason. The route is the matched pattern: the path
 * and the query may contain secrets. In a trace (W3C Trace Context), the line names the request's span.
 */

import type { IncomingMessage, RequestListener } from 'node:http';
import type { Request } from 'express';
import type { Randomness } from '../../application/ports/runtime.ts';
import { type Log, type Measurements, type RequestOutcome, traceFields } from '../../application/ports/telemetry.ts';
import { parseTraceparent, type Trace } from '../../domain/trace-context.ts';
import { singleHeader } from './message/head.ts';
import { routeOf } from './routes.ts';
import type { ServedRequest, ServedResponse } from './server/message-classes.ts';

/** The methods that are logged by name. Any other word comes from the client, and is logged as `other`. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const SPAN_ID_BYTES = 8;

/** Logs each request, and sets its trace. */
export function loggedRequests(log: Log, randomness: Randomness, next: RequestListener): RequestListener {
  return (request: ServedRequest, response: ServedResponse) => {
    const started = performance.now();
    const requestId = randomness.ulid();
    const trace = traceOf(request, randomness);
    request.trace = trace;
    response.once('close', () => {
      log.info('request', {
        ...traceFields(trace),
        request_id: requestId,
        method: METHODS.has(request.method ?? '') ? request.method : 'other',
        route: request.endpoint ?? expressRoute(request as Request),
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - started) * 100) / 100,
        reason: response.reason,
        // The client disconnected before the response was sent.
        ...(response.writableFinished ? {} : { aborted: true }),
      });
    });
    next(request, response);
  };
}

/** The pattern of the route that Express matched. */
function expressRoute({ route, baseUrl }: Request): string {
  return route === undefined ? 'none' : `${baseUrl}${String(route.path)}`.replace(/(?<=.)\/$/, '');
}

/** Reads `traceparent` (W3C Trace Context §3.3). A malformed or repeated header is ignored. */
function traceOf(request: IncomingMessage, randomness: Randomness): Trace | undefined {
  if (request.headers.traceparent === undefined) return undefined;
  const header = singleHeader(request, 'traceparent');
  const parent = header.kind === 'present' ? parseTraceparent(header.value) : undefined;
  if (parent === undefined) return undefined;
  const spanId = Buffer.from(randomness.secret(SPAN_ID_BYTES), 'base64url').toString('hex');
  return { ...parent, spanId };
}

/** Counts and times every request. It runs before admission, so refused requests count too. */
export function measuredRequests({ answered }: Pick<Measurements, 'answered'>, next: RequestListener): RequestListener {
  return (request, response) => {
    const began = performance.now();
    const { metric } = routeOf(request.url ?? '');
    response.once('close', () => answered(metric, outcomeOf(response), (performance.now() - began) / 1000));
    next(request, response);
  };
}

/** The status for a full SCIM directory. It counts as a refusal, not as a fault of the service. */
const FULL = 507;

function outcomeOf(response: ServedResponse): RequestOutcome {
  if (!response.writableFinished) return 'aborted';
  const { statusCode } = response;
  if (statusCode < 400) return 'ok';
  return (
    response.refusal ??
    (statusCode === 503 ? 'unavailable' : statusCode < 500 || statusCode === FULL ? 'refused' : 'failed')
  );
}
