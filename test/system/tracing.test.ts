/** A request that is part of a trace (W3C Trace Context): its log lines say so, and so do the requests that it causes. */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

describe('a trace that a request is part of', () => {
  let admin: Loopback;
  let sink: Loopback;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  before(async () => {
    admin = await startLoopback((request, response) => {
      const token = { access_token: 'service-token', token_type: 'Bearer', expires_in: 60 };
      // Nobody may look at people here, which is logged.
      if (request.path === '/token') answering(token)(request, response);
      else answering({}, 403)(request, response);
    });
    sink = await startLoopback(answering({}));
    const [sqlite] = databases;
    if (sqlite === undefined) throw new Error('there is no database');
    mandate = await startMandate({
      database: sqlite,
      settings: {
        'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
        'Service:UpstreamIdp:SponsorCheck:UsersUrl': `${admin.url}/users`,
        'Service:UpstreamIdp:SponsorCheck:TokenUrl': `${admin.url}/token`,
        'Service:UpstreamIdp:SponsorCheck:ClientId': 'mandate',
        'Service:Audit:Sink:Url': sink.url,
      },
    });
    agent = await mandate.agent();
  });
  after(async () => {
    await mandate.stop();
    await Promise.all([admin.close(), sink.close()]);
  });

  /** The lines that an exchange with these headers writes, once its own is there. */
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

  it('is on every line of its log, with a span of ours, and in what is asked because of it', async () => {
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

  it('is another span for each request, and no header of an answer', async () => {
    const spans = new Set<unknown>();
    for (let sent = 0; sent < 3; sent += 1) {
      for (const { span_id } of await linesOf({ traceparent: TRACEPARENT })) spans.add(span_id);
    }
    expect(spans.size).to.equal(3);
    const answer = await mandate.get('/healthz', { traceparent: TRACEPARENT });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('trace'))).to.deep.equal([]);
  });

  it('is kept apart from that of a request at the same time', async () => {
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
    ['none was sent', {}],
    ['it is malformed', { traceparent: `00-${TRACE.toUpperCase()}-${PARENT}-01` }],
    ['tracestate came alone', { tracestate: 'vendor=opaque' }],
  ] as const) {
    it(`is none where ${title}, and the request is served as ever`, async () => {
      for (const line of await linesOf(headers)) {
        expect(line).not.to.have.any.keys('trace_id', 'span_id');
      }
      for (const received of admin.received) expect(received.headers).not.to.have.property('traceparent');
    });
  }

  it('never reaches the sink', async () => {
    await mandate.post('/oauth2/token', agent.exchangeForm(), { traceparent: TRACEPARENT });
    await mandate.jobs.drain();
    expect(sink.received.length).to.be.greaterThan(0);
    for (const { headers } of sink.received) expect(headers).not.to.have.property('traceparent');
  });
});
