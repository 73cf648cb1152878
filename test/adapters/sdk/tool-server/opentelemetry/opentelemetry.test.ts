/** The spans of a tool server's requests to the control plane, with the real OpenTelemetry SDK in this process. */

import { type Context, context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  StackContextManager,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { expect } from 'chai';
import type { StartSpan, ToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { openTelemetrySpans } from '../../../../../adapters/sdk/tool-server/opentelemetry/opentelemetry.ts';
import { answering } from '../../../../support/loopback.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { frameworks } from '../../../../support/tool-server/guarded-apps.ts';
import { startGuardedMcp } from '../../../../support/tool-server/guarded-mcp.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const HEADERS = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=opaque', baggage: 'person=ada' };
const ERROR = 2;

describe('A request of a tool server to the control plane', () => {
  const setup = planeForEachTest();
  const highRisk = (toolServer: ToolServer) => toolServer.policy({ scope: ['jira:read'], highRisk: true });
  const call = (toolServer: ToolServer, headers?: typeof HEADERS) =>
    toolServer.authorize({
      token: setup.plane.token(),
      route: 'GET /issues',
      policy: highRisk(toolServer),
      ...(headers && { headers }),
    });
  const sent = () => setup.plane.server.received.map(({ headers }) => headers);

  it('has no trace header unless the tool server has the option startSpan', async () => {
    expect((await call(setup.toolServer(), HEADERS)).kind).to.equal('allowed');
    expect(sent()).to.have.lengthOf(2);
    for (const headers of sent()) expect(headers).not.to.have.any.keys('traceparent', 'tracestate', 'baggage');
  });

  it('has no trace header if no OpenTelemetry SDK is registered', async () => {
    expect((await call(setup.toolServer({ startSpan: openTelemetrySpans() }), HEADERS)).kind).to.equal('allowed');
    for (const headers of sent()) expect(headers).not.to.have.any.keys('traceparent', 'tracestate', 'baggage');
  });

  describe('with an OpenTelemetry SDK', () => {
    const exporter = new InMemorySpanExporter();
    before(() => {
      trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
      const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
      propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
      context.setGlobalContextManager(new StackContextManager().enable());
    });
    after(() => {
      for (const api of [trace, propagation, context]) api.disable();
    });
    beforeEach(() => exporter.reset());
    const traced = () => setup.toolServer({ startSpan: openTelemetrySpans() });

    it('has a span whose parent is the received span, and sends its own span as parent, without baggage', async () => {
      expect((await call(traced(), HEADERS)).kind).to.equal('allowed');
      const spans = exporter.getFinishedSpans();
      expect(spans.map(({ name }) => name)).to.deep.equal(['GET /.well-known/jwks.json', 'POST /oauth2/introspect']);
      for (const [nth, { attributes, status, parentSpanContext, spanContext: of }] of spans.entries()) {
        const { traceId, spanId } = spans[nth]?.spanContext() ?? of();
        expect([traceId, parentSpanContext?.spanId]).to.deep.equal([TRACE, PARENT]);
        expect(sent()[nth]).to.include({ traceparent: `00-${TRACE}-${spanId}-01`, tracestate: 'vendor=opaque' });
        expect(sent()[nth]).not.to.have.property('baggage');
        expect(status.code).not.to.equal(ERROR);
        const { pathname, port } = new URL(String(attributes['url.full']));
        expect(attributes).to.deep.equal({
          'http.request.method': nth === 0 ? 'GET' : 'POST',
          'url.full': `${setup.plane.issuer}${pathname}`,
          'server.address': '127.0.0.1',
          'server.port': Number(port),
          'http.response.status_code': 200,
        });
      }
    });

    it('has a span whose parent is the active span of an instrumentation', async () => {
      const outer = trace.getTracer('test').startSpan('GET /issues', {}, ROOT_CONTEXT);
      const active: Context = trace.setSpan(ROOT_CONTEXT, outer);
      const start = openTelemetrySpans();
      const request = { method: 'POST', url: `${setup.plane.issuer}/oauth2/introspect` } as const;
      context.with(active, () => start(request, HEADERS)).end(200);
      const [span] = exporter.getFinishedSpans();
      expect(span?.parentSpanContext?.spanId).to.equal(outer.spanContext().spanId);
    });

    it('has a span with an error if there is no answer, or an answer with 5xx', async () => {
      setup.plane.answerIntrospection = answering({}, 503);
      expect(await call(traced(), HEADERS)).to.include({ kind: 'refused', reason: 'introspection_unavailable' });
      setup.plane.answerIntrospection = (_request, response) => void response.destroy();
      expect(await call(traced(), HEADERS)).to.include({ kind: 'refused', reason: 'introspection_unavailable' });
      const asked = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('POST'));
      expect(asked.map(({ status, attributes }) => [status.code, attributes['error.type']])).to.deep.equal([
        [ERROR, '503'],
        [ERROR, 'no_answer'],
      ]);
    });
  });

  it('is sent although its span throws, at its start or its end, and the error is reported', async () => {
    const error = new Error('of the sampler');
    const fail = () => {
      throw error;
    };
    for (const startSpan of [fail, () => ({ headers: {}, end: fail })]) {
      const reported: unknown[] = [];
      const toolServer = setup.toolServer({ startSpan, onError: (cause) => reported.push(cause) });
      expect((await call(toolServer, HEADERS)).kind).to.equal('allowed');
      expect(reported).to.deep.equal([error, error]);
    }
  });

  const guarded = [
    ...frameworks.map(({ name, start }) => [name, start, (url: string) => `${url}/issues/PROJ-1`] as const),
    ['MCP', startGuardedMcp, (url: string) => `${url}/mcp`] as const,
  ];
  for (const [name, start, target] of guarded) {
    it(`starts its span with the trace headers of the request that caused it, on ${name}`, async () => {
      const causes: unknown[] = [];
      const startSpan: StartSpan = ({ url }, cause) => {
        causes.push([new URL(url).pathname, cause?.traceparent]);
        return { headers: {}, end: () => undefined };
      };
      const app = await start(setup.toolServer({ startSpan }));
      const response = await fetch(target(app.url), {
        method: name === 'MCP' ? 'POST' : 'DELETE',
        headers: { ...HEADERS, authorization: `Bearer ${setup.plane.token()}`, 'content-type': 'application/json' },
        ...(name === 'MCP' ? { body: CALL } : {}),
      });
      await response.text();
      await app.stop();
      expect(causes).to.deep.equal([
        ['/.well-known/jwks.json', HEADERS.traceparent],
        ['/oauth2/introspect', HEADERS.traceparent],
      ]);
    });
  }
});

const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'delete_issue', arguments: {} },
});
