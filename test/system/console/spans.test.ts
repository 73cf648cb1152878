/** Spans of the console (`Service:Traces:Enabled`): the service as a process, with a real SDK, collector and provider. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { type CollectedSpan, type Collector, startCollector } from '../../support/collector.ts';
import { type CommandProcess, startCommand } from '../../support/command-process.ts';
import { operators } from '../../support/console/operators-browser.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import { type Browser, makeBrowser } from '../../support/identity-provider/browser.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { CONSOLE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { passThePages } from '../../support/identity-provider/sign-in.ts';
import { ADMIN_KEY, encodeForm, sendTo } from '../../support/mandate.ts';
import { OPERATORS } from '../../support/operators.ts';

const PARENT = '00f067aa0ba902b7';
const REASON = 'The agent of edsger loops, incident 4711';
const PERSON = 'edsger';

const newTrace = () => randomBytes(16).toString('hex');
const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).to.have.lengthOf(1);
  return found[0] as CollectedSpan;
};

for (const database of databasesByLength) {
  describe(`Spans of the console on ${database.name}`, function () {
    this.timeout(60_000);
    let fresh: FreshDatabase;
    let provider: IdentityProvider;
    let collector: Collector;
    let service: CommandProcess;
    let origin: string;
    let metricsPort: number;
    let browser: Browser;
    /** The address to which the provider sent the browser, with the code and the state. */
    let back: URL;
    let signInTrace: string;
    const secrets: string[] = [];

    before(async () => {
      const [port, consolePort] = [await freePort(), await freePort()];
      metricsPort = await freePort();
      const issuer = `http://127.0.0.1:${port}`;
      origin = `http://127.0.0.1:${consolePort}`;
      [fresh, provider, collector] = await Promise.all([
        database.fresh(),
        startIdentityProvider({ people: [operators.both], console: { issuer, origin } }),
        startCollector(),
      ]);
      service = startCommand(['serve'], {
        ...fresh.settings,
        ...collector.environment('mandate'),
        ...OPERATORS,
        'Service:Traces:Enabled': 'true',
        'Service:Issuer': issuer,
        'Service:UpstreamIdp:Issuer': provider.issuer,
        'Service:UpstreamIdp:Audience': provider.audience,
        'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
        'Service:Admin:ApiKey': ADMIN_KEY,
        'Service:RateLimit:Enabled': 'false',
        'Service:Operators:ClientId': CONSOLE_CLIENT_ID,
        'Service:Console:Port': String(consolePort),
        'Service:Console:Origin': origin,
        'Service:Metrics:Port': String(metricsPort),
        NODE_ENV: 'development',
        HOST: '127.0.0.1',
        PORT: String(port),
      });
      await service.said('listening');
      browser = makeBrowser();
      back = await passThePages(browser, new URL(`${origin}/sign-in`), operators.both, `${origin}/callback`);
      keepSecrets();
      signInTrace = newTrace();
      const signedIn = await get(`${back.pathname}${back.search}`, signInTrace);
      expect(signedIn.status, signedIn.text).to.equal(302);
      browser.keep(signedIn.headers);
      keepSecrets();
    });
    after(async () => {
      service.child.kill('SIGKILL');
      await service.ended;
      await Promise.all([collector.server.close(), provider.stop()]);
      await fresh.drop();
    });

    const cookies = () => browser.cookies(`${origin}/`);
    const keepSecrets = () =>
      secrets.push(...[...cookies().matchAll(/__Host-mandate-console[^=]*=([^;]+)/g)].map(([, value = '']) => value));
    const headers = (traceId: string) => ({
      accept: 'text/html',
      cookie: cookies(),
      origin,
      traceparent: `00-${traceId}-${PARENT}-01`,
    });
    const get = (path: string, traceId: string) => sendTo(`${origin}${path}`, { headers: headers(traceId) });

    // This service is a process with all three.
    it('come from a service that logs where it, its console and its metrics listen', async () => {
      const out = await service.said('metrics are listening');
      const lines = out.split('\n').flatMap((line) => (line.includes('listening') ? [JSON.parse(line)] : []));
      const [host, consolePort] = ['127.0.0.1', Number(new URL(origin).port)];
      expect(lines.map(({ message, host, port, origin }) => ({ message, host, port, origin }))).to.deep.equal([
        { message: 'listening', host, port: Number(lines[0].port), origin: undefined },
        { message: 'the console is listening', host, port: consolePort, origin },
        { message: 'metrics are listening', host, port: metricsPort, origin: undefined },
      ]);
    });

    it('show a page as a server span with its route, and the reads of the database below it', async () => {
      const traceId = newTrace();
      expect((await get(`/people?sponsor=${PERSON}`, traceId)).status).to.equal(200);
      const spans = await collector.trace(traceId, ['GET /people', 'sessions.find', 'sponsors.findBlocks']);
      const root = named(spans, 'GET /people');
      expect(root).to.deep.include({ kind: 'server', parentSpanId: PARENT, isError: false });
      expect(root.attributes).to.deep.equal({
        'http.request.method': 'GET',
        'url.scheme': 'http',
        'mandate.surface': 'console',
        'http.route': '/people',
        'url.path': '/people',
        'http.response.status_code': 200,
        'mandate.outcome': 'ok',
      });
      for (const name of ['sessions.find', 'sponsors.findBlocks']) {
        expect(named(spans, name), name).to.deep.include({ kind: 'client', parentSpanId: root.spanId });
      }
    });

    it('show a form with its decision, and a refused one with the reason', async () => {
      const page = (await get('/', newTrace())).text;
      const form_token = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? '';
      secrets.push(form_token);
      const block = (traceId: string, fields: Readonly<Record<string, string>>) =>
        sendTo(`${origin}/people/block`, {
          method: 'POST',
          headers: { ...headers(traceId), 'content-type': 'application/x-www-form-urlencoded' },
          body: encodeForm({ form_token, sponsor_key: PERSON, typed: PERSON, reason: REASON, ...fields }),
        });
      const [done, refused] = [newTrace(), newTrace()];
      expect((await block(done, {})).status).to.equal(303);
      const spans = await collector.trace(done, ['POST /people/block', 'place_block']);
      expect(named(spans, 'place_block').parentSpanId).to.equal(named(spans, 'POST /people/block').spanId);

      expect((await block(refused, { form_token: 'guessed' })).status).to.equal(403);
      const denial = await collector.trace(refused, ['POST /people/block', 'append']);
      const { attributes, isError, spanId } = named(denial, 'POST /people/block');
      expect(isError).to.equal(false);
      expect(named(denial, 'append').parentSpanId).to.equal(spanId);
      expect(attributes).to.include({
        'http.response.status_code': 403,
        'mandate.outcome': 'refused',
        'mandate.reason': 'invalid_form_token',
      });
    });

    it('show the sign-in: the callback, the request to the provider below it, and the new session', async () => {
      const spans = await collector.trace(signInTrace, ['GET /callback', 'POST sign_in', 'open_session']);
      const root = named(spans, 'GET /callback');
      expect(root).to.deep.include({ kind: 'server', parentSpanId: PARENT, isError: false });
      expect(root.attributes).to.include({ 'http.response.status_code': 302, 'url.path': '/callback' });
      for (const name of ['POST sign_in', 'open_session']) {
        expect(named(spans, name), name).to.deep.include({ kind: 'client', parentSpanId: root.spanId });
      }
    });

    it('name the pattern of a route, and not the agent or the task in its path', async () => {
      const traceId = newTrace();
      expect((await get('/agents/no-such-agent', traceId)).status).to.equal(404);
      const root = named(await collector.trace(traceId, ['GET /agents/:agentId']), 'GET /agents/:agentId');
      expect(root.attributes).to.include({ 'http.route': '/agents/:agentId', 'url.path': '/agents/:agentId' });
    });

    it('hold no cookie, form token, code, state, query, reason, operator or person', async () => {
      const traceId = newTrace();
      await get(`/people?sponsor=${PERSON}`, traceId);
      await collector.trace(traceId, ['GET /people']);
      const sent = collector.server.received.map(({ body }) => body).join('\n');
      const { username, password, name } = operators.both;
      const parameters = [...back.searchParams].filter(([key]) => key !== 'iss').map(([, value]) => value);
      expect(parameters.length, 'the code and the state').to.be.at.least(2);
      expect(secrets.length, 'the cookies of the sign-in and of the session, and the form token').to.be.at.least(3);
      const all = [...secrets, ...parameters, REASON, PERSON, `"${username}"`, String(name), password, 'no-such-agent'];
      for (const secret of [...all, 'sponsor=', 'code=', 'state=']) {
        expect(sent).not.to.include(secret);
        expect(sent).not.to.include(encodeURIComponent(secret));
      }
    });
  });
}
