/** W3C Trace Context: log lines and outgoing requests carry the trace of the incoming request. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { userAgent } from '../../adapters/platform/package-version.ts';
import { sqliteFile } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
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
    mandate = await startMandate({
      database: sqliteFile,
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
