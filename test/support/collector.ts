/** A collector of spans on loopback: reads what an OpenTelemetry SDK sends (OTLP, JSON over HTTP). */

import { eventually } from './eventually.ts';
import { answering, type Handler, type Loopback, startLoopback } from './loopback.ts';

export interface CollectedSpan {
  readonly service: unknown;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentSpanId: string;
  readonly traceState: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface Collector {
  readonly server: Loopback;
  /** The settings of a process that loads the SDK of docs/examples/observability. */
  environment(service: string): Readonly<Record<string, string>>;
  spans(): readonly CollectedSpan[];
  /** Waits for a span that fits. */
  span(fits: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
  /** The spans of a trace, once it has one with each of these names. */
  trace(traceId: string, names: readonly string[]): Promise<readonly CollectedSpan[]>;
}

/** Registers the SDK: a file for `node --import`. */
export const SDK = new URL('../../docs/examples/observability/traces.mjs', import.meta.url).href;

const KINDS = ['unspecified', 'internal', 'server', 'client'] as const;
const ERROR = 2;

type Sent = Readonly<Record<string, unknown>>;
type Attributes = readonly { readonly key: string; readonly value: Sent }[];
interface Message {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly { readonly spans: readonly (Sent & { readonly attributes: Attributes })[] }[];
  }[];
}

export async function startCollector(answer: Handler = answering({})): Promise<Collector> {
  const server = await startLoopback(answer);
  // Tests ask for the spans at short intervals, so each message is read once.
  const known = new WeakMap<object, readonly CollectedSpan[]>();
  const spansOf = (message: { readonly body: string }) => {
    const spans = known.get(message) ?? read(JSON.parse(message.body));
    known.set(message, spans);
    return spans;
  };
  const spans = () => server.received.flatMap(spansOf);
  const collector: Collector = {
    server,
    environment: (service) => ({
      NODE_OPTIONS: `--import ${SDK}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: server.url,
      OTEL_SERVICE_NAME: service,
      OTEL_BSP_SCHEDULE_DELAY: '20',
    }),
    spans,
    async span(fits) {
      await eventually(() => spans().some(fits));
      return spans().find(fits) as CollectedSpan;
    },
    async trace(traceId, names) {
      const found = () => spans().filter((span) => span.traceId === traceId);
      await eventually(() => names.every((name) => found().some((span) => span.name === name)));
      return found();
    },
  };
  return collector;
}

function read({ resourceSpans }: Message): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ attributes, name, kind, traceId, spanId, parentSpanId, traceState, status }) => ({
        service: valuesOf(resource.attributes)['service.name'],
        name: String(name),
        kind: KINDS[Number(kind)] as CollectedSpan['kind'],
        traceId: String(traceId),
        spanId: String(spanId),
        parentSpanId: String(parentSpanId ?? ''),
        traceState: traceState === undefined ? undefined : String(traceState),
        attributes: valuesOf(attributes),
        isError: (status as { readonly code?: number } | undefined)?.code === ERROR,
      })),
  );
}

function valuesOf(attributes: Attributes): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
