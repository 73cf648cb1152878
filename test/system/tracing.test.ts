/** W3C Trace Context: log lines and outgoing requests carry the trace of the incoming request. */

import { expect } from 'chai';
import { sqliteFile } from '../support/databases.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { startUserDirectory } from '../support/user-directory.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

describe('A request with a traceparent', () => {
  let admin: Loopback;
  let sink: Loopback;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  before(async () => {
    // The service logs the 403 of the user endpoint.
    const directory = await startUserDirectory(answering({}, 403));
    admin = directory.server;
    sink = await startLoopback(answering({}));
    const settings = { ...directory.settings, 'Service:Audit:Sink:Url': sink.url };
    mandate = await startMandate({ database: sqliteFile, settings });
    agent = await mandate.agent();
  });
  after(async () => {
    await mandate.stop();
    await Promise.all([admin.close(), sink.close()]);
  });

  /** The log lines of an exchange with these headers. Its own line comes last. */
  async function linesOf(headers: Readonly<Record<string, string>>): Promise<readonly Record<string, unknown>[]> {
    const from = mandate.log.lines.length;
    admin.received.length = 0;
    await mandate.post('/oauth2/token', agent.exchangeForm(), headers);
    const lines = () => mandate.log.lines.slice(from).map((line) => JSON.parse(line));
    while (!lines().some(({ message }) => message === 'request')) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return lines();
  }

  it('has its trace and a new span in every log line and in every request to the identity provider', async () => {
    const lines = await linesOf({ traceparent: TRACEPARENT, tracestate: 'vendor=opaque' });
    expect(lines.map(({ message }) => message)).to.deep.equal([
      'The identity provider did not say whether a person may be acted for.',
      'request',
    ]);
    const [span] = lines.map(({ span_id }) => span_id);
    expect(span)
      .to.match(/^[0-9a-f]{16}$/)
      .and.not.equal(PARENT);
    for (const line of lines) expect(line).to.include({ trace_id: TRACE, span_id: span });
    expect(JSON.stringify(lines)).not.to.include('opaque');
    expect(admin.received.map(({ path }) => path)).to.deep.equal(['/token', '/users/ada']);
    for (const { headers } of admin.received) {
      expect(headers.traceparent).to.equal(`00-${TRACE}-${span}-01`);
      expect(headers).not.to.have.property('tracestate');
    }
  });

  it('has a new span each, and no trace header in the response', async () => {
    const spans = new Set<unknown>();
    for (let sent = 0; sent < 3; sent += 1) {
      for (const { span_id } of await linesOf({ traceparent: TRACEPARENT })) spans.add(span_id);
    }
    expect(spans.size).to.equal(3);
    const answer = await mandate.get('/healthz', { traceparent: TRACEPARENT });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('trace'))).to.deep.equal([]);
  });

  it('does not share its trace with a concurrent request', async () => {
    const other = TRACE.replace('4', '5');
    const from = mandate.log.lines.length;
    admin.received.length = 0;
    await Promise.all(
      [TRACE, other, undefined].map((trace) =>
        mandate.post('/oauth2/token', agent.exchangeForm(), trace ? { traceparent: `00-${trace}-${PARENT}-00` } : {}),
      ),
    );
    const warned = mandate.log.lines
      .slice(from)
      .map((line) => JSON.parse(line))
      .flatMap(({ level, trace_id }) => (level === 'warn' ? [trace_id] : []));
    expect(warned).to.have.members([TRACE, other, undefined]);
    const asked = admin.received.map(({ headers }) => headers.traceparent?.slice(3, 35));
    expect(asked).to.have.members([TRACE, other, undefined]);
  });

  for (const [title, headers] of [
    ['traceparent is absent', {}],
    ['traceparent is malformed', { traceparent: `00-${TRACE.toUpperCase()}-${PARENT}-01` }],
    ['only tracestate was sent', { tracestate: 'vendor=opaque' }],
  ] as const) {
    it(`is served without a trace if ${title}`, async () => {
      for (const line of await linesOf(headers)) {
        expect(line).not.to.have.any.keys('trace_id', 'span_id');
      }
      for (const received of admin.received) expect(received.headers).not.to.have.property('traceparent');
    });
  }

  it('does not forward its trace to the sink', async () => {
    await mandate.post('/oauth2/token', agent.exchangeForm(), { traceparent: TRACEPARENT });
    await mandate.jobs.drain();
    expect(sink.received.length).to.be.greaterThan(0);
    for (const { headers } of sink.received) expect(headers).not.to.have.property('traceparent');
  });
});
