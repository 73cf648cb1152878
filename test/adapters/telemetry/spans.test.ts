/** The spans of requests and calls of the service, with the real OpenTelemetry SDK in this process. */

import type { RequestListener } from 'node:http';
import { trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { expect } from 'chai';
import { tracedRequests } from '../../../adapters/http/observed-requests.ts';
import { routed, routeTable } from '../../../adapters/http/routes.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { queryPorts } from '../../../adapters/storage/queries/ports.ts';
import { openTelemetryTracing } from '../../../adapters/telemetry/opentelemetry.ts';
import { inSpan, tracedNetwork, tracedStorage } from '../../../adapters/telemetry/spans.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Tracing } from '../../../application/ports/telemetry.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { eventually } from '../../support/eventually.ts';
import { serverWith } from '../../support/http-server.ts';
import { answering, loopbackForSuite } from '../../support/loopback.ts';
import { optionalRows } from '../../support/optional-paths.ts';

const ERROR = 2;
const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };

const limits = { timeoutMs: 10_000, maxBytes: 100 } as const;

describe('A span', () => {
  const server = loopbackForSuite();
  const exporter = new InMemorySpanExporter();
  /** The sampling decision for traces that no client began. */
  let decision = SamplingDecision.RECORD_AND_SAMPLED;
  let tracing: Tracing;
  before(() => {
    const root: Sampler = { shouldSample: () => ({ decision }), toString: () => 'of the test' };
    const sampler = new ParentBasedSampler({ root });
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    trace.setGlobalTracerProvider(new TracerProvider({ sampler, spanProcessors }));
    const opened = openTelemetryTracing('1.2.3', capturedLog());
    if (opened === undefined) throw new Error('no SDK is registered');
    tracing = opened;
  });
  after(() => trace.disable());
  beforeEach(() => {
    decision = SamplingDecision.RECORD_AND_SAMPLED;
    exporter.reset();
  });

  const spans = () =>
    exporter
      .getFinishedSpans()
      .map(({ name, attributes, status }) => ({ name, attributes, isError: status.code === ERROR }));
  for (const [what, status, isError] of [
    ['an error after a 5xx', 503, true],
    ['no error after a 4xx', 404, false],
  ] as const) {
    it(`of an outgoing request is ${what}`, async () => {
      server.answer = answering({}, status);
      await tracedNetwork(httpNetwork(), tracing).send({ method: 'GET', url: server.url, purpose: 'keys', ...limits });
      const [span] = spans();
      expect(span).to.include({ name: 'GET keys', isError });
      expect(span?.attributes).to.include({ 'http.response.status_code': status });
      expect(span?.attributes['error.type']).to.equal(isError ? String(status) : undefined);
    });
  }

  it('of an outgoing request without an answer is an error', async () => {
    const sending = tracedNetwork(httpNetwork(), tracing).send({
      method: 'GET',
      url: 'https://127.0.0.1:1/',
      ...limits,
    });
    expect(await sending.catch((error: Error) => error.name)).to.equal('NetworkFailure');
    const [span] = spans();
    expect(span).to.include({ name: 'GET', isError: true });
    expect(span?.attributes).to.include({ 'error.type': 'NetworkFailure', 'server.port': 1 });
  });

  it('of a failed call has the class of the error without its message, because a message may contain data', async () => {
    const failing = inSpan(tracing, { name: 'open_task', kind: 'client', parent: PARENT }, () =>
      Promise.reject(new StorageUnavailable('secret')),
    );
    expect(await failing.catch((error: Error) => error.message)).to.equal('secret');
    const [span] = exporter.getFinishedSpans();
    expect(span?.attributes).to.deep.equal({ 'error.type': 'StorageUnavailable' });
    expect(span?.status).to.deep.equal({ code: ERROR });
    expect(span?.events).to.deep.equal([]);
    expect(span?.spanContext().traceId).to.equal(PARENT.traceId);
    expect(span?.parentSpanContext).to.deep.include({ spanId: PARENT.spanId, isRemote: false });
  });

  it('that the SDK does not sample has the flag 00 in the traceparent that the receiver gets', async () => {
    decision = SamplingDecision.NOT_RECORD;
    server.answer = answering({});
    await tracedNetwork(httpNetwork(), tracing).send({ method: 'GET', url: server.url, ...limits });
    expect(server.received[0]?.headers.traceparent).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(spans()).to.deep.equal([]);
  });

  for (const [what, status, isError, surface, hasStatusLists] of [
    ['an error after a 5xx', 500, true, 'other', false],
    ['no error after a refusal', 429, false, 'other', false],
    ['of the surface status_lists if they are published', 429, false, 'status_lists', true],
  ] as const) {
    it(`of a received request is ${what}, and contains no text of the client`, async () => {
      const answer: RequestListener = (_request, response) => {
        response.statusCode = status;
        response.end();
      };
      const service = await serverWith(
        routed(routeTable(hasStatusLists ? [optionalRows.statusLists] : []), tracedRequests(tracing, answer)),
      );
      await fetch(`http://127.0.0.1:${service.address.port}/status/ada?q=secret`, { method: 'PURGE' });
      await eventually(() => spans().length > 0);
      await service.stop(0);
      const [span] = spans();
      expect(span).to.include({ name: 'HTTP', isError });
      expect(span?.attributes).to.deep.equal({
        'http.request.method': '_OTHER',
        'url.scheme': 'http',
        'mandate.surface': surface,
        'http.response.status_code': status,
        ...(isError ? { 'error.type': '500' } : {}),
        'mandate.outcome': isError ? 'failed' : 'refused',
      });
    });
  }
});

describe('The spans of a database', () => {
  it('are of every call of a port within a trace, and of no check of readiness', async () => {
    const spans: string[] = [];
    let current: typeof PARENT | undefined = PARENT;
    const tracing: Tracing = {
      start({ name, parent, attributes }) {
        expect(parent).to.equal(PARENT);
        expect(attributes).to.deep.equal({ 'db.system.name': 'sqlite', 'db.operation.name': name });
        spans.push(name);
        return { trace: PARENT, end: () => undefined };
      },
      within: (_, work) => work(),
      current: () => current,
    };
    const answer = async () => undefined as never;
    const ports = { ...queryPorts(answer, answer), outbox: { setQueueing: answer, drain: answer } };
    const others = { readiness: { name: 'database', check: answer }, backlog: answer, databaseTime: undefined };
    const traced = tracedStorage({ ...ports, ...others, decide: answer }, tracing, 'sqlite');
    const methodsOf = traced as unknown as Record<string, Record<string, (...given: unknown[]) => Promise<unknown>>>;
    const callAll = async () => {
      const called = Object.entries<object>({ ...ports, readiness: { check: answer } }).flatMap(([port, methods]) =>
        Object.keys(methods).map((method) => [port, method] as const),
      );
      for (const [port, method] of called) await methodsOf[port]?.[method]?.([], 1).catch(() => undefined);
      await traced.backlog();
      return called.map(([port, method]) => `${port}.${method}`).filter((name) => name !== 'readiness.check');
    };
    const all = await callAll();
    expect(all).to.include.members(['agents.find', 'statusLists.find', 'transparencyLog.tiles', 'outbox.drain']);
    expect(spans).to.deep.equal(all);
    current = undefined;
    await callAll();
    expect(spans).to.have.lengthOf(all.length);
  });
});

describe('An SDK that throws', () => {
  const server = loopbackForSuite();
  afterEach(() => trace.disable());

  const fail = () => {
    throw new Error('secret');
  };
  const quiet = { onStart: () => undefined, onEnd: () => undefined };
  const cases: readonly (readonly [string, Partial<Pick<Sampler, 'shouldSample'>>, Partial<SpanProcessor>])[] = [
    ['in its sampler', { shouldSample: fail }, {}],
    ['when a span starts', {}, { onStart: fail }],
    ['when a span ends', {}, { onEnd: fail }],
  ];
  for (const [when, sampler, processor] of cases) {
    it(`${when} costs spans and no request, and is logged once, without the message`, async () => {
      const record = { shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }), toString: () => 'all' };
      const ending = { forceFlush: async () => undefined, shutdown: async () => undefined };
      trace.setGlobalTracerProvider(
        new TracerProvider({
          sampler: { ...record, ...sampler },
          spanProcessors: [{ ...quiet, ...ending, ...processor }],
        }),
      );
      const log = capturedLog();
      const tracing = openTelemetryTracing('1.2.3', log);
      if (tracing === undefined) throw new Error('no SDK is registered');
      server.answer = answering({});
      const service = await serverWith(
        routed(
          routeTable(),
          tracedRequests(tracing, async (request, response) => {
            const parent = request.trace;
            await tracedNetwork(httpNetwork(), tracing).send({
              method: 'GET',
              url: server.url,
              trace: parent,
              ...limits,
            });
            response.end(await inSpan(tracing, { name: 'open_task', kind: 'client', parent }, async () => 'committed'));
          }),
        ),
      );
      const headers = { traceparent: `00-${PARENT.traceId}-${PARENT.spanId}-01` };
      const answer = await fetch(`http://127.0.0.1:${service.address.port}/`, { headers });
      expect(await answer.text()).to.equal('committed');
      await service.stop(0);
      expect(server.received[0]?.headers.traceparent).to.match(new RegExp(`^00-${PARENT.traceId}-[0-9a-f]{16}-0[01]$`));
      expect(log.lines).to.deep.equal([
        '{"level":"error","message":"the OpenTelemetry SDK failed: spans are lost","cause":"Error"}',
      ]);
    });
  }
});
