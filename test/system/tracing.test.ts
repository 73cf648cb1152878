/** W3C Trace Context: log lines and outgoing requests carry the trace of the incoming request. */

import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { userAgent } from '../../adapters/platform/package-version.ts';
import { freePort } from '../../scripts/free-port.ts';
import { type CommandProcess, startCommand } from '../support/command-process.ts';
import { connectOutside, type FreshDatabase, sqliteFile } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type Mandate, type RegisteredAgent, startMandate, withService } from '../support/mandate.ts';
import { rawConnection } from '../support/raw-http.ts';
import { SCIM_TOKEN } from '../support/scim-client.ts';
import { PUSH_CREDENTIAL, PUSH_HEADERS, STREAM_AUDIENCE } from '../support/transmitter.ts';
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
    // The endpoint of users answers 403, which the service logs.
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

  /** The log lines of an exchange with these headers. The line of the exchange itself is the last. */
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
      'The identity provider did not say whether agents may act for a person.',
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

  it('has a new span in each outgoing request, and no trace header in its response', async () => {
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

type Headers = Readonly<Record<string, string>>;

describe('The trace of a request', function () {
  this.timeout(60_000);
  /** The identity provider, its endpoint of users, and the transmitter. */
  let others: Loopback;
  /** Here agents publish their keys. */
  let agentHost: Loopback;
  let database: FreshDatabase;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  /** For these paths, `others` answers 500. */
  const failing = new Set<string>();

  before(async () => {
    agentHost = await startLoopback((request, response) => answering({ keys: [] })(request, response), { tls: true });
    others = await startLoopback((request, response) => {
      const keys = { keys: [mandate.provider.signingKey().publicJwk] };
      const documents: Readonly<Record<string, unknown>> = {
        '/.well-known/openid-configuration': { issuer: others.url, jwks_uri: `${others.url}/keys` },
        '/keys': keys,
        '/.well-known/ssf-configuration/stream': {
          issuer: `${others.url}/stream`,
          jwks_uri: `${others.url}/stream/keys`,
        },
        '/stream/keys': keys,
        '/token': { access_token: 'service-token', token_type: 'Bearer', expires_in: 60 },
        '/users/ada': { id: 'ada', enabled: true },
      };
      answering(documents[request.path] ?? {}, failing.has(request.path) ? 500 : 200)(request, response);
    });
    const fresh = await sqliteFile.fresh();
    database = fresh;
    mandate = await startMandate({
      database: { ...sqliteFile, fresh: async () => fresh },
      settings: {
        'Service:UpstreamIdp:Issuer': others.url,
        'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
        'Service:UpstreamIdp:SponsorCheck:UsersUrl': `${others.url}/users`,
        'Service:UpstreamIdp:SponsorCheck:TokenUrl': `${others.url}/token`,
        'Service:UpstreamIdp:SponsorCheck:ClientId': 'mandate',
        'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
        'Service:Ssf:Issuer': `${others.url}/stream`,
        'Service:Ssf:Audience': STREAM_AUDIENCE,
        'Service:Ssf:BearerToken': PUSH_CREDENTIAL,
        'Service:Scim:BearerToken': SCIM_TOKEN,
        'Service:Audit:Aggregation:Enabled': 'false',
      },
    });
    agent = await mandate.agent();
    // The service fetches both key sets at start, in the background.
    await eventually(() => ['/keys', '/stream/keys'].every((path) => paths().includes(path)));
  });
  after(async () => {
    await mandate.stop();
    await Promise.all([others.close(), agentHost.close()]);
  });

  const received = () => [...others.received, ...agentHost.received];
  const paths = () => received().map(({ path }) => path);
  const linesFrom = (from: number): readonly Record<string, unknown>[] =>
    mandate.log.lines.slice(from).map((line) => JSON.parse(line));
  /** The identity provider signs this token with a `kid` that is not in its key set. */
  const unknownKey = { kid: 'unknown' };
  const subjectToken = (header = {}) =>
    mandate.provider.mintAccessToken({ iss: others.url, exp: mandate.clock.seconds() + 3600 }, header);
  const eventToken = (claims: object, header = {}) => {
    const key = mandate.provider.signingKey();
    const iat = mandate.clock.seconds();
    return key.sign(
      { alg: key.alg, typ: 'secevent+jwt', kid: key.kid, ...header },
      { iss: `${others.url}/stream`, aud: STREAM_AUDIENCE, iat, jti: randomUUID(), ...claims },
    );
  };
  const pushTo = (to: Mandate, body: string, headers: Headers) =>
    to.send('/events', { method: 'POST', body, headers: { ...PUSH_HEADERS, ...headers } });
  const exchangeForm = () => agent.exchangeForm({ subject_token: subjectToken() });
  const agentWithPublishedKeys = async (path: string): Promise<RegisteredAgent> => {
    const registered = await mandate.agent();
    const jwks_uri = `${agentHost.url}${path}`;
    expect((await mandate.admin('PATCH', `/admin/agents/${registered.id}`, { jwks_uri })).status).to.equal(200);
    return registered;
  };

  const causes: readonly {
    readonly title: string;
    readonly fails?: string;
    send(headers: Headers): Promise<unknown>;
    /** The paths of the outgoing requests, then the log lines except that of the request itself. */
    readonly causes: readonly string[];
  }[] = [
    {
      title: 'an exchange that looks for the metadata of the identity provider',
      fails: '/.well-known/openid-configuration',
      send: (headers) =>
        mandate.post('/oauth2/token', agent.exchangeForm({ subject_token: subjectToken(unknownKey) }), headers),
      // The service still looks for the keys at the address in the last metadata it read.
      causes: ['/.well-known/openid-configuration', '/keys', "The identity provider's metadata could not be read."],
    },
    {
      title: 'a logout that looks for the keys of the identity provider',
      fails: '/keys',
      send: (headers) =>
        mandate.post(
          '/backchannel-logout',
          { logout_token: mandate.provider.signLogoutToken({ iss: others.url }, unknownKey) },
          headers,
        ),
      causes: ['/.well-known/openid-configuration', '/keys', 'There are no new keys.'],
    },
    {
      title: 'an event that looks for the keys of the transmitter',
      fails: '/stream/keys',
      send: (headers) => pushTo(mandate, eventToken({}, unknownKey), headers),
      causes: ['/.well-known/ssf-configuration/stream', '/stream/keys', 'There are no new keys.'],
    },
    {
      title: 'an event that is older than a block',
      async send(headers) {
        const about = (event: string, iat: number) => {
          const events = { [`https://schemas.openid.net/secevent/risc/event-type/account-${event}`]: {} };
          return eventToken({ iat, sub_id: { format: 'opaque', id: 'grace' }, events });
        };
        const now = mandate.clock.seconds();
        await pushTo(mandate, about('disabled', now), {});
        await eventually(() => linesFrom(from).some(({ message }) => message === 'request'));
        forget();
        return pushTo(mandate, about('enabled', now - 1), headers);
      },
      causes: ['an account-enabled event is older than the block that it would lift, and was passed over'],
    },
    {
      title: 'an exchange that asks about a person',
      send: (headers) => mandate.post('/oauth2/token', exchangeForm(), headers),
      causes: ['/token', '/users/ada'],
    },
    {
      title: 'a refresh that asks about a person',
      fails: '/users/ada',
      async send(headers) {
        failing.clear();
        const issued = await mandate.post('/oauth2/token', exchangeForm());
        await eventually(() => linesFrom(from).some(({ message }) => message === 'request'));
        failing.add('/users/ada');
        forget();
        return mandate.post('/oauth2/token', agent.refreshForm(String(issued.body.refresh_token)), headers);
      },
      causes: ['/users/ada', 'The identity provider did not say whether agents may act for a person.'],
    },
    ...(
      [
        ['an exchange', '/exchange', (one: RegisteredAgent) => ['/oauth2/token', one.exchangeForm()]],
        ['a refresh', '/refresh', (one: RegisteredAgent) => ['/oauth2/token', one.refreshForm('grant')]],
        ['a revocation', '/revocation', (one: RegisteredAgent) => ['/oauth2/revoke', one.revokeForm('token')]],
      ] as const
    ).map(([what, path, request]) => ({
      title: `${what} that fetches the keys of its agent`,
      async send(headers: Headers) {
        const [target, form] = request(await agentWithPublishedKeys(path));
        forget();
        return mandate.post(target as string, form as Record<string, string>, headers);
      },
      causes: [path, 'There are no new keys.'],
    })),
  ];

  let from: number;
  function forget(): void {
    from = mandate.log.lines.length;
    for (const { received: requests } of [others, agentHost]) requests.length = 0;
  }

  /** Fetches both key sets. After a fetch that failed, the service would otherwise repeat it in the next request. */
  async function fetchKeys(): Promise<void> {
    mandate.clock.advance(31);
    forget();
    await mandate.post('/oauth2/token', agent.exchangeForm({ subject_token: subjectToken(unknownKey) }));
    await pushTo(mandate, eventToken({}, unknownKey), {});
    await eventually(() => linesFrom(from).filter(({ message }) => message === 'request').length === 2);
    expect(paths()).to.include.members(['/keys', '/stream/keys']);
  }

  for (const { title, fails, send, causes: caused } of causes) {
    it(`is the trace of all requests and log lines that the request causes: ${title}`, async () => {
      await fetchKeys();
      if (fails !== undefined) failing.add(fails);
      // At most one fetch in 30 seconds is caused by an unknown key.
      mandate.clock.advance(31);
      forget();
      await send({ traceparent: TRACEPARENT });
      failing.clear();
      await eventually(() => linesFrom(from).some(({ message }) => message === 'request'));
      const lines = linesFrom(from);
      expect([...paths(), ...lines.map(({ message }) => message)]).to.deep.equal([...caused, 'request']);
      const span = lines.at(-1)?.span_id;
      for (const line of lines) expect(line).to.include({ trace_id: TRACE, span_id: span });
      for (const { headers } of received()) {
        expect(headers).to.include({ traceparent: `00-${TRACE}-${span}-01`, 'user-agent': userAgent() });
      }
    });
  }

  it('is in its log lines while the database is locked, and in no line of a concurrent request', async () => {
    const malformed = (path: string) => (headers: Headers) => mandate.post(path, { token: '' }, headers);
    const get = (path: string) => (headers: Headers) => mandate.get(path, headers);
    const BUSY = 'the database could not answer: another process holds the write lock of the SQLite file (SQLITE_BUSY)';
    const NOT_RECORDED = 'an anonymous denial could not be recorded';
    const requests: readonly (readonly [message: string, send: (headers: Headers) => Promise<unknown>])[] = [
      [BUSY, (headers) => mandate.post('/oauth2/token', exchangeForm(), headers)],
      [NOT_RECORDED, malformed('/oauth2/token')],
      [NOT_RECORDED, malformed('/oauth2/introspect')],
      [NOT_RECORDED, malformed('/oauth2/revoke')],
      [NOT_RECORDED, malformed('/backchannel-logout')],
      [NOT_RECORDED, get('/oauth2/token')],
      [NOT_RECORDED, get('/backchannel-logout')],
      [NOT_RECORDED, get('/admin/agents')],
      [NOT_RECORDED, get('/audit')],
      [NOT_RECORDED, get('/scim/v2/Users')],
      [NOT_RECORDED, get('/events')],
      [NOT_RECORDED, (headers) => mandate.get('/events', { ...PUSH_HEADERS, ...headers })],
      [NOT_RECORDED, (headers) => mandate.send('/oauth2/token', { method: 'POST', body: 'no form', headers })],
      [NOT_RECORDED, (headers) => pushTo(mandate, 'no token', headers)],
    ];
    const other = await connectOutside(database);
    await other.sql('begin immediate');
    from = mandate.log.lines.length;
    const traces = requests.map(() => randomBytes(16).toString('hex'));
    await Promise.all(requests.map(([, send], nth) => send({ traceparent: `00-${traces[nth]}-${PARENT}-01` })));
    await other.sql('rollback');
    await other.close();
    await eventually(() => linesFrom(from).filter(({ message }) => message === 'request').length === requests.length);
    const lines = linesFrom(from);
    for (const [nth, [message]] of requests.entries()) {
      const own = lines.filter(({ trace_id }) => trace_id === traces[nth]);
      expect(own.map((line) => line.message)).to.deep.equal([message, 'request']);
      expect(new Set(own.map(({ span_id }) => span_id)).size).to.equal(1);
    }
    expect(lines).to.have.length(requests.length * 2);
  });

  it("is sent with the metadata request that finds the issuer of an event's subject", async () => {
    failing.add('/metadata');
    const settings = { 'Service:UpstreamIdp:Issuer': '', 'Service:UpstreamIdp:MetadataUrl': `${others.url}/metadata` };
    await withService(mandate.another(settings), async (unplaced) => {
      forget();
      const events = { 'https://schemas.openid.net/secevent/caep/event-type/session-revoked': {} };
      // This instance has its own clock.
      const iat = unplaced.clock.seconds();
      const token = eventToken({ iat, sub_id: { format: 'iss_sub', iss: others.url, sub: 'ada' }, events });
      await eventually(async () => (await pushTo(unplaced, token, { traceparent: TRACEPARENT })).status === 503);
    });
    const traced = others.received.filter(({ headers }) => headers.traceparent !== undefined);
    expect(traced.map(({ path }) => path)).to.include('/metadata');
  });

  it('does not continue in the next request on the same connection', async () => {
    from = mandate.log.lines.length;
    const connection = await rawConnection(mandate.url);
    const head = 'POST /oauth2/token HTTP/1.1\r\nHost: mandate.test\r\nContent-Length: 0\r\n';
    connection.send(`${head}traceparent: ${TRACEPARENT}\r\n\r\n${head}Connection: close\r\n\r\n`);
    await connection.until('nothing that is ever sent');
    await eventually(() => linesFrom(from).length === 2);
    expect(linesFrom(from).map(({ trace_id }) => trace_id)).to.deep.equal([TRACE, undefined]);
  });
});

describe('A process that served a request with a traceparent', () => {
  let database: FreshDatabase;
  let service: CommandProcess;
  after(async () => {
    service.child.kill('SIGKILL');
    await service.ended;
    await database.drop();
  });

  it('does not track promises, which would slow down every later request', async () => {
    // Node before version 24 marks each promise while an AsyncLocalStorage or another async hook is in use.
    const look = `process.on('SIGUSR2', () => {
      const marks = Object.getOwnPropertySymbols(Promise.resolve()).map(String);
      process.stdout.write('marks: [' + marks + ']' + String.fromCharCode(10));
    })`;
    database = await sqliteFile.fresh();
    const port = await freePort();
    service = startCommand(['serve'], {
      ...database.settings,
      'Service:Issuer': 'https://mandate.test',
      'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
      'Service:UpstreamIdp:Audience': 'https://mandate.test',
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      NODE_ENV: 'development',
      HOST: '127.0.0.1',
      PORT: String(port),
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(look)}`,
    });
    await service.said('listening');
    await fetch(`http://127.0.0.1:${port}/oauth2/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token: 'x' }),
      headers: { traceparent: TRACEPARENT },
    });
    expect(await service.said(TRACE)).to.include('span_id');
    service.child.kill('SIGUSR2');
    expect(await service.said('marks:')).to.include('marks: []');
  });
});
