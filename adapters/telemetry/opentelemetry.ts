/**
 * Spans by OpenTelemetry's API. The operator loads an SDK with `node --import`: it samples and exports the spans. This file
 * is loaded only with `Service:Traces:Enabled`: its AsyncLocalStorage makes every request slower (docs/performance.md).
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
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
import type { Log, SpanStart, Tracing } from '../../application/ports/telemetry.ts';
import type { Trace } from '../../domain/trace-context.ts';

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/**
 * `undefined` without a registered SDK: the API then makes spans without ids (its specification, "No-op"). A sampler or
 * span processor that throws costs its span, and no request. Its first error is logged.
 */
export function openTelemetryTracing(version: string, log: Log): Tracing | undefined {
  let hasFailed = false;
  const safely: Safely = (work) => {
    try {
      return work();
    } catch (error) {
      if (!hasFailed) log.error('the OpenTelemetry SDK failed: spans are lost', error);
      hasFailed = true;
      return undefined;
    }
  };
  const tracer = traces.getTracer('mandate', version);
  const first = safely(() => {
    const span = tracer.startSpan('start', {}, ROOT_CONTEXT);
    safely(() => span.end());
    return span;
  });
  const isRegistered = first === undefined || isSpanContextValid(first.spanContext());
  if (!isRegistered) return undefined;
  const within = new AsyncLocalStorage<Trace>();
  return {
    start: (span) => started(tracer, safely, span),
    within: (trace, work) => within.run(trace, work),
    current: () => within.getStore(),
  };
}

/** Runs code of the operator's SDK. `undefined` if it throws. */
type Safely = <Result>(work: () => Result) => Result | undefined;

function started(
  tracer: Tracer,
  safely: Safely,
  { name, kind, parent, attributes = {} }: SpanStart,
): ReturnType<Tracing['start']> {
  const context =
    parent === undefined ? ROOT_CONTEXT : traces.setSpanContext(ROOT_CONTEXT, contextOf(parent, kind === 'server'));
  const own = safely(() => {
    const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: present(attributes) }, context);
    return { span, trace: traceOf(span.spanContext()) };
  });
  return {
    trace: own?.trace ?? { ...(parent ?? { traceId: randomHex(16) }), spanId: randomHex(8), isSampled: false },
    end({ name: finalName, attributes: more = {}, failed = false } = {}) {
      safely(() => {
        if (finalName !== undefined) own?.span.updateName(finalName);
        own?.span.setAttributes(present(more));
        if (failed) own?.span.setStatus({ code: SpanStatusCode.ERROR });
        own?.span.end();
      });
    },
  };
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
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
