/**
 * Spans by OpenTelemetry's API. The operator loads an SDK with `node --import`: it samples and exports the spans. Each
 * span's parent is passed to it, so no AsyncLocalStorage is needed.
 */

import {
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace as traces,
} from '@opentelemetry/api';
import type { SpanStart, Tracing } from '../../application/ports/telemetry.ts';
import type { Trace } from '../../domain/trace-context.ts';

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** `undefined` without a registered SDK: the API then makes spans without ids (its specification, "No-op"). */
export function openTelemetryTracing(version: string): Tracing | undefined {
  const tracer = traces.getTracer('mandate', version);
  const first = tracer.startSpan('start', {}, ROOT_CONTEXT);
  first.end();
  return isSpanContextValid(first.spanContext()) ? { start: (span) => started(tracer, span) } : undefined;
}

function started(tracer: Tracer, { name, kind, parent, attributes = {} }: SpanStart): ReturnType<Tracing['start']> {
  const context =
    parent === undefined ? ROOT_CONTEXT : traces.setSpanContext(ROOT_CONTEXT, contextOf(parent, kind === 'server'));
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: present(attributes) }, context);
  return {
    trace: traceOf(span.spanContext()),
    end({ name: finalName, attributes: more = {}, failed = false } = {}) {
      if (finalName !== undefined) span.updateName(finalName);
      span.setAttributes(present(more));
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function contextOf({ traceId, spanId, isSampled, state }: Trace, isRemote: boolean): SpanContext {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, isRemote, ...(state && { traceState: createTraceState(state) }) };
}

function traceOf({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  return { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0, state: traceState?.serialize() };
}

function present(attributes: NonNullable<SpanStart['attributes']>) {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) => (value == null ? [] : [[key, value]])),
  );
}
