/** Spans and the process: its end, a collector that is silent, and a process without an SDK or without the setting. */

import { expect } from 'chai';
import { type Collector, SDK, startCollector } from '../../support/collector.ts';
import { databasesByLength } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { sendTo } from '../../support/mandate.ts';
import { agentOf, endAll, newTrace, type Surroundings, startService, surroundingsOn, traceparent } from './service.ts';

describe('Spans of one process', function () {
  this.timeout(60_000);
  let surroundings: Surroundings;
  let collector: Collector;
  before(async () => {
    const [database] = databasesByLength;
    if (database === undefined) throw new Error('no database');
    surroundings = await surroundingsOn(database);
    collector = await startCollector();
  });
  after(async () => {
    await collector.server.close();
    await endAll(surroundings);
  });

  const served = async (settings: Readonly<Record<string, string>>) => {
    const service = await startService(surroundings, settings);
    await sendTo(`${service.url}/healthz`, {});
    await eventually(async () => (await service.lines()).some(({ message }) => message === 'request'));
    const lines = await service.lines();
    expect((await service.stop()).code).to.equal(0);
    return lines;
  };

  beforeEach(() => {
    collector.server.received.length = 0;
  });

  it('are sent to the last one when the service stops', async () => {
    const traceId = newTrace();
    const stopping = await startService(surroundings, {
      ...collector.environment('stopping'),
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      'Service:Traces:Enabled': 'true',
    });
    await sendTo(`${stopping.url}/healthz`, { headers: traceparent(traceId) });
    expect((await stopping.stop()).code).to.equal(0);
    const spans = collector.spans().filter((span) => span.service === 'stopping');
    expect(spans.map(({ name }) => name)).to.include.members(['start', 'GET /healthz']);
  });

  it('harm no request, and no stop, if the collector never answers', async () => {
    const broken = await startCollector(() => undefined);
    const served = await startService(surroundings, {
      ...broken.environment('mandate'),
      OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
      'Service:Traces:Enabled': 'true',
    });
    const agent = await agentOf(served, surroundings);
    for (let sent = 0; sent < 5; sent += 1) {
      const issued = await served.post('/oauth2/token', agent.exchangeForm());
      expect(issued.status, issued.text).to.equal(200);
    }
    await eventually(() => broken.server.received.length > 0);
    expect((await served.stop()).code).to.equal(0);
    await broken.server.close();
  });

  it('need an SDK: without one the log says so, and nothing else changes', async () => {
    const lines = await served({ 'Service:Traces:Enabled': 'true' });
    const [first] = lines;
    expect(first).to.include({
      level: 'warn',
      message:
        'Service:Traces:Enabled is true, but no OpenTelemetry SDK is registered: there are no spans. Load one with node --import.',
    });
    for (const line of lines) expect(line).not.to.have.any.keys('trace_id', 'span_id');
  });

  it('are off by default: an SDK alone changes nothing, and does not make the process track promises', async () => {
    // Before version 24 Node marks each promise while an AsyncLocalStorage or another async hook is in use: this would slow
    // down every request. With spans on, they use one.
    const look = `process.on('SIGUSR2', () => {
      const marks = Object.getOwnPropertySymbols(Promise.resolve()).map(String);
      process.stdout.write('marks: [' + marks + ']' + String.fromCharCode(10));
    })`;
    const service = await startService(surroundings, {
      ...collector.environment('mandate'),
      NODE_OPTIONS: `--import ${SDK} --import data:text/javascript,${encodeURIComponent(look)}`,
    });
    const requests = async () => (await service.lines()).filter(({ message }) => message === 'request').length;
    await sendTo(`${service.url}/healthz`, {});
    await eventually(async () => (await requests()) === 1);
    for (const line of await service.lines()) expect(line).not.to.have.any.keys('trace_id', 'span_id');
    await sendTo(`${service.url}/healthz`, { headers: traceparent(newTrace()) });
    await eventually(async () => (await requests()) === 2);
    service.process.child.kill('SIGUSR2');
    expect(await service.process.said('marks:')).to.include('marks: []');
    expect((await service.stop()).code).to.equal(0);
    expect(collector.server.received).to.deep.equal([]);
  });
});
