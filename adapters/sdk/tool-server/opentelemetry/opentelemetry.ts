/**
 * The export of `@mandate/tool-server/opentelemetry`: requests to the control plane as client spans, by OpenTelemetry's
 * API. The tool server's own SDK samples and exports them. Without an SDK there are no spans and no headers.
 */

import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { anyObject, checkArguments, must, optional, optionsOf, text } from '../../arguments.ts';
import type { StartSpan } from '../core/span.ts';

const REQUEST = optionsOf({
  request: optionsOf({ method: text, url: must('be the text of a URL', (value) => URL.canParse(String(value))) }),
  cause: optional(anyObject),
});
const END = optionsOf({ status: optional(must('be a status code', Number.isInteger)) });

/**
 * For the option `startSpan` of `createToolServer`.
 *
 * @example
 * ```ts
 * import { createToolServer } from '@mandate/tool-server';
 * import { openTelemetrySpans } from '@mandate/tool-server/opentelemetry';
 *
 * const toolServer = createToolServer({ issuer, audience: resource, startSpan: openTelemetrySpans() });
 * ```
 */
export function openTelemetrySpans(): StartSpan {
  const tracer = trace.getTracer('@mandate/tool-server');
  return (request, cause = {}) => {
    checkArguments('startSpan', { request, cause }, REQUEST);
    const { method, url: address } = request;
    const url = new URL(address);
    // The parent is the active span of an instrumentation, else the received one. Baggage is not passed on: an agent could
    // make it so long that the control plane refuses the request. One fetch of the keys serves all waiting requests.
    const { traceparent, tracestate } = cause;
    const active = trace.getSpan(context.active());
    const parent =
      active === undefined
        ? propagation.extract(ROOT_CONTEXT, { traceparent, tracestate })
        : trace.setSpan(ROOT_CONTEXT, active);
    const attributes = {
      'http.request.method': method,
      'url.full': url.href,
      'server.address': url.hostname,
      'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    };
    const span = tracer.startSpan(`${method} ${url.pathname}`, { kind: SpanKind.CLIENT, attributes }, parent);
    const headers: Record<string, string> = {};
    propagation.inject(trace.setSpan(ROOT_CONTEXT, span), headers);
    return {
      headers,
      end(status) {
        checkArguments('span.end', { status }, END);
        if (status !== undefined) span.setAttribute('http.response.status_code', status);
        if (status === undefined || status >= 500) {
          span.setAttribute('error.type', String(status ?? 'no_answer'));
          span.setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  };
}
