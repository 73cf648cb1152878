/**
 * Logs one line per request: id, route, method, status, duration and reason. The route is the matched pattern, never the
 * path or the query, which may contain secrets. If the request is part of a trace (W3C Trace Context), the line names its
 * span. With tracing each request also is a span.
 */

import type { IncomingMessage, RequestListener } from 'node:http';
import type { Request } from 'express';
import type { Randomness } from '../../application/ports/runtime.ts';
import {
  type Log,
  type Measurements,
  type RequestOutcome,
  type Tracing,
  traceFields,
} from '../../application/ports/telemetry.ts';
import { parseTraceparent, type Trace } from '../../domain/trace-context.ts';
import { singleHeader } from './message/head.ts';
import type { RoutedListener } from './routes.ts';
import type { ServedRequest, ServedResponse } from './server/message-classes.ts';

/** The methods that are logged by name. Any other word comes from the client, and is logged as `other`. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const SPAN_ID_BYTES = 8;

/** Also gives the request its trace, unless it has a span. */
export function loggedRequests(log: Log, randomness: Randomness, next: RequestListener): RequestListener {
  return (request: ServedRequest, response: ServedResponse) => {
    const started = performance.now();
    const requestId = randomness.ulid();
    const trace = request.trace ?? traceOf(request, randomness);
    request.trace = trace;
    response.once('close', () => {
      log.info('request', {
        ...traceFields(trace),
        request_id: requestId,
        method: METHODS.has(request.method ?? '') ? request.method : 'other',
        route: matchedRoute(request) ?? 'none',
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - started) * 100) / 100,
        reason: response.reason,
        // The client disconnected before the response was sent.
        ...(isComplete(response) ? {} : { aborted: true }),
      });
    });
    next(request, response);
  };
}

/** The pattern of the route, with the names of its parameters. */
function matchedRoute(request: ServedRequest): string | undefined {
  if (request.endpoint !== undefined) return request.endpoint;
  const { route, baseUrl } = request as Request;
  return route === undefined ? undefined : `${baseUrl}${String(route.path)}`.replace(/(?<=.)\/$/, '');
}

/** A repeated header is malformed and, like any malformed one, ignored (§3.3). */
function receivedTrace(request: IncomingMessage): Trace | undefined {
  if (request.headers.traceparent === undefined) return undefined;
  const header = singleHeader(request, 'traceparent');
  return header.kind === 'present' ? parseTraceparent(header.value) : undefined;
}

function traceOf(request: IncomingMessage, randomness: Randomness): Trace | undefined {
  const parent = receivedTrace(request);
  if (parent === undefined) return undefined;
  const spanId = Buffer.from(randomness.secret(SPAN_ID_BYTES), 'base64url').toString('hex');
  return { ...parent, spanId };
}

/**
 * Each request is a span, from reading its head to the end of the response, by the semantic conventions for HTTP. In front
 * of admission: the span includes the wait for a permit, and refused requests have one. `url.path` is the pattern of the
 * route, because a path may name a person.
 */
export function tracedRequests(tracing: Tracing, next: RoutedListener): RoutedListener {
  return (request, response, route) => {
    const { method = '' } = request;
    const known = METHODS.has(method) ? method : undefined;
    const parent = receivedTrace(request);
    const { tracestate } = request.headers;
    const span = tracing.start({
      name: known ?? 'HTTP',
      kind: 'server',
      parent: parent && { ...parent, state: typeof tracestate === 'string' ? tracestate : undefined },
      attributes: {
        'http.request.method': known ?? '_OTHER',
        'url.scheme': 'http',
        'mandate.surface': route.metric,
      },
    });
    request.trace = span.trace;
    response.once('close', () => {
      const { statusCode, headersSent, reason, refusal } = response;
      const pattern = matchedRoute(request);
      const failed = headersSent && statusCode >= 500;
      span.end({
        name: [known ?? 'HTTP', pattern].join(' ').trim(),
        attributes: {
          'http.route': pattern,
          'url.path': pattern,
          'http.response.status_code': headersSent ? statusCode : undefined,
          'error.type': failed ? String(statusCode) : undefined,
          'mandate.outcome': outcomeOf(response),
          'mandate.reason': refusal ?? reason,
        },
        failed,
      });
    });
    tracing.within(span.trace, () => next(request, response, route));
  };
}

/** Counts and times every request, in front of admission: refused requests count as well. */
export function measuredRequests({ answered }: Pick<Measurements, 'answered'>, next: RoutedListener): RoutedListener {
  return (request, response, route) => {
    const began = performance.now();
    response.once('close', () => {
      const answeredAt = response.streamsSince ?? performance.now();
      answered(route.metric, outcomeOf(response), (answeredAt - began) / 1000);
    });
    next(request, response, route);
  };
}

/** The status for a full SCIM directory. It counts as a refusal, not as a fault of the service. */
const FULL = 507;

/** A client ends a stream by leaving. */
function isComplete({ writableFinished, streamsSince }: ServedResponse): boolean {
  return writableFinished || streamsSince !== undefined;
}

function outcomeOf(response: ServedResponse): RequestOutcome {
  if (!isComplete(response)) return 'aborted';
  const { statusCode } = response;
  if (statusCode < 400) return 'ok';
  return (
    response.refusal ??
    (statusCode === 503 ? 'unavailable' : statusCode < 500 || statusCode === FULL ? 'refused' : 'failed')
  );
}
