// Registers an OpenTelemetry SDK that sends spans to a collector (OTLP over HTTP):
//
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 node --import ./traces.mjs program.js
//
// It registers no context manager and no instrumentation: Mandate finds each span's parent itself, and makes spans for its
// HTTP and database calls.

import { isMainThread } from 'node:worker_threads';
import { propagation, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

const { env } = process;
// The share of new traces that are recorded. A trace that a client began keeps its choice.
const share = Number(env.OTEL_TRACES_SAMPLER_ARG || '1');

// A worker thread, such as SQLite's, loads this file as well. It has no spans.
if (isMainThread) {
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': env.OTEL_SERVICE_NAME || 'mandate' })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter(),
        scheduledDelayMillis: Number(env.OTEL_BSP_SCHEDULE_DELAY || '5000'),
      }),
    ],
  });
  trace.setGlobalTracerProvider(provider);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  // After the service has stopped. Sends the last spans.
  process.once('beforeExit', () => provider.shutdown().catch(() => undefined));
}
