import http, { type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect } from 'chai';
import { httpNetwork, reach } from '../../../adapters/platform/http-network.ts';
import { userAgent } from '../../../adapters/platform/package-version.ts';
import { proxyFromEnvironment } from '../../../adapters/platform/tunnel.ts';
import { type Network, NetworkFailure, type NetworkRequest } from '../../../application/ports/network.ts';
import { eventually } from '../../support/eventually.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { answering, loopbackForSuite, testTrust } from '../../support/loopback.ts';

interface ForwardProxy {
  readonly url: string;
  /** The target, the client and the credentials of each CONNECT. */
  readonly asked: {
    readonly target: string | undefined;
    readonly client: string | undefined;
    readonly credentials: string | undefined;
  }[];
  /** Answers the next CONNECT. */
  answer: (request: IncomingMessage, client: Duplex) => void;
  /** The number of open connections of clients. */
  open(): number;
  /** The highest number of connections open at once. */
  mostOpen(): number;
  close(): Promise<void>;
}

const tunnel: ForwardProxy['answer'] = ({ url = '' }, client) => {
  const [host = '', port = ''] = url.split(':');
  const server = connect(Number(port), host, () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    server.pipe(client).pipe(server);
  });
  for (const [one, other] of [
    [server, client],
    [client, server],
  ] as const) {
    one.on('error', () => undefined).on('close', () => other.destroy());
  }
};

const refusing =
  (status: number): ForwardProxy['answer'] =>
  (_, client) =>
    client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\n{}`);

async function startProxy(): Promise<ForwardProxy> {
  const server = http.createServer();
  const clients = new Set<Duplex>();
  let mostOpen = 0;
  const proxy: ForwardProxy = {
    url: `http://ada:l%20o@127.0.0.1:${await listen(server)}`,
    asked: [],
    answer: tunnel,
    open: () => clients.size,
    mostOpen: () => mostOpen,
    close() {
      for (const client of clients) client.destroy();
      return closeServer(server);
    },
  };
  server.on('connect', (request, client) => {
    clients.add(client);
    mostOpen = Math.max(mostOpen, clients.size);
    client.on('error', () => undefined).on('close', () => clients.delete(client));
    const { 'user-agent': name, 'proxy-authorization': credentials } = request.headers;
    proxy.asked.push({ target: request.url, client: name, credentials });
    proxy.answer(request, client);
  });
  return proxy;
}

describe('A forward proxy', () => {
  const server = loopbackForSuite(answering('{"a":1}'), { tls: true });
  let proxy: ForwardProxy;
  let network: Network;
  beforeEach(async () => {
    proxy = await startProxy();
    network = httpNetwork({ secureContext: testTrust, proxyOf: () => new URL(proxy.url) });
  });
  afterEach(() => proxy.close());

  const get = (changes: Partial<NetworkRequest> = {}): NetworkRequest => ({
    method: 'GET',
    url: `${server.url}/jwks`,
    timeoutMs: 2000,
    maxBytes: 1000,
    ...changes,
  });

  async function failureOf(request: NetworkRequest, through = network): Promise<string> {
    const failure: unknown = await through.send(request).catch((thrown: unknown) => thrown);
    if (!(failure instanceof NetworkFailure)) throw new Error(`not a NetworkFailure: ${JSON.stringify(failure)}`);
    // An answer of the proxy must not look like one of the server: a 404 of a provider can end a person's tasks.
    expect([failure.answered, failure.status]).to.deep.equal([false, undefined]);
    return failure.message;
  }

  it('gets one CONNECT with the credentials of its URL, and the server gets the request', async () => {
    expect(await network.send(get())).to.include({ status: 200, body: '{"a":1}' });
    expect(server.received.map(({ path }) => path)).to.deep.equal(['/jwks']);
    const credentials = `Basic ${Buffer.from('ada:l o').toString('base64')}`;
    expect(proxy.asked).to.deep.equal([{ target: new URL(server.url).host, client: userAgent(), credentials }]);
  });

  it('gets one CONNECT for consecutive requests', async () => {
    for (let time = 0; time < 3; time += 1) await network.send(get());
    expect([proxy.asked.length, server.received.length]).to.deep.equal([1, 3]);
  });

  it('does not make the network accept an untrusted certificate', async () => {
    const stranger = httpNetwork({ proxyOf: () => new URL(proxy.url) });
    expect(await failureOf(get(), stranger)).to.match(/^There was no answer \([A-Z_]+\)\.$/);
    expect(server.received).to.have.length(0);
  });

  for (const status of [302, 403, 404, 407, 502]) {
    it(`that answers ${status} fails the request`, async () => {
      proxy.answer = refusing(status);
      expect(await failureOf(get())).to.equal(`The proxy refused to connect (status ${status}).`);
      expect(server.received).to.have.length(0);
    });
  }

  it('that never answers fails the request within its time limit', async () => {
    proxy.answer = () => undefined;
    expect(await failureOf(get({ timeoutMs: 50 }))).to.equal('There was no complete answer within 50 ms.');
  });

  it('that never answers has at most 64 connections, and none after their requests have failed', async () => {
    proxy.answer = (_, client) => client.on('end', () => client.end()).resume();
    const failing = Array.from({ length: 100 }, () => failureOf(get({ timeoutMs: 2_000 })));
    await eventually(() => proxy.asked.length === 64);
    expect(new Set(await Promise.all(failing))).to.deep.equal(
      new Set(['There was no complete answer within 2000 ms.']),
    );
    await eventually(() => proxy.open() === 0);
    expect(proxy.mostOpen()).to.equal(64);
  });

  it('that exits fails the running requests, and those that wait for a connection', async () => {
    proxy.answer = () => undefined;
    const busy = Array.from({ length: 64 }, () => failureOf(get({ timeoutMs: 20_000 })));
    await eventually(() => proxy.asked.length === 64);
    const waiting = Array.from({ length: 5 }, () => failureOf(get({ timeoutMs: 20_000 })));
    await proxy.close();
    expect(new Set(await Promise.all(busy))).to.deep.equal(new Set(['The proxy cannot be reached (ECONNRESET).']));
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set(['The proxy cannot be reached (ECONNREFUSED).']));
  });

  it('that closes the connection fails the request', async () => {
    proxy.answer = (_, client) => client.destroy();
    expect(await failureOf(get())).to.equal('The proxy cannot be reached (ECONNRESET).');
  });

  it('that does not run fails the request', async () => {
    const away = httpNetwork({ proxyOf: () => new URL('http://127.0.0.1:1') });
    expect(await failureOf(get(), away)).to.equal('The proxy cannot be reached (ECONNREFUSED).');
  });

  it('does not change the limit on the size of an answer', async () => {
    const failure: unknown = await network.send(get({ maxBytes: 6 })).catch((thrown: unknown) => thrown);
    expect(failure).to.include({ message: 'The answer is longer than 6 bytes.', status: 200 });
  });

  it('does not make the network follow a redirect of the server', async () => {
    server.answer = (_, response) => response.writeHead(302, { location: 'https://elsewhere.example/' }).end();
    expect((await network.send(get())).status).to.equal(302);
    expect(proxy.asked).to.have.length(1);
    server.answer = answering('{"a":1}');
  });

  it('gets no CONNECT for a host with a private address, if only public addresses are allowed', async () => {
    const privateName = httpNetwork({
      secureContext: testTrust,
      proxyOf: () => new URL(proxy.url),
      resolve: async () => [{ address: '10.0.0.1', family: 4 }],
    });
    for (const url of [server.url, 'https://keys.example/']) {
      const message = await failureOf(get({ url, publicOnly: true }), privateName);
      expect(message).to.equal('The host has an address that is not public.');
    }
    expect(proxy.asked).to.have.length(0);
  });
});

describe('The proxy from the environment', () => {
  const NAMES = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'NO_PROXY', 'no_proxy', 'HTTP_PROXY'];
  const before = NAMES.map((name) => [name, process.env[name]] as const);
  beforeEach(() => {
    for (const name of NAMES) delete process.env[name];
  });
  after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const of = (url: string) => proxyFromEnvironment(new URL(url))?.href;

  it('is absent if no variable is set', () => {
    expect(of('https://provider.example/')).to.equal(undefined);
  });

  it('is the value of HTTPS_PROXY or else ALL_PROXY, for https only', () => {
    process.env.ALL_PROXY = 'http://all.example:3128';
    expect(of('https://provider.example/')).to.equal('http://all.example:3128/');
    process.env.HTTPS_PROXY = 'http://proxy.example:3128';
    process.env.HTTP_PROXY = 'http://other.example:3128';
    expect(of('https://provider.example/')).to.equal('http://proxy.example:3128/');
    expect(of('http://127.0.0.1:8080/')).to.equal(undefined);
  });

  it('is absent for a host that NO_PROXY lists', () => {
    process.env.HTTPS_PROXY = 'http://proxy.example:3128';
    process.env.NO_PROXY = 'inside.example,.corp.example';
    expect(of('https://inside.example/')).to.equal(undefined);
    expect(of('https://sink.corp.example/')).to.equal(undefined);
    expect(of('https://provider.example/')).to.equal('http://proxy.example:3128/');
  });

  it('is absent for an address in a range of NO_PROXY, and for no other host', () => {
    process.env.HTTPS_PROXY = 'http://proxy.example:3128';
    process.env.NO_PROXY = '10.0.0.0/8, 192.168.*,172.16.*.*,fd00::/8,::1 sink.example:8443';
    for (const host of [
      ...['10.0.0.1', '10.255.255.255', '192.168.7.9', '172.16.0.1', '[fd12::1]', '[::1]', '[0:0::1]'],
      'sink.example:8443',
    ]) {
      expect(of(`https://${host}/`), host).to.equal(undefined);
    }
    for (const host of ['11.0.0.1', '192.169.0.1', '172.17.0.1', '[fe80::1]', '[::2]', '10.example', 'sink.example']) {
      expect(of(`https://${host}/`), host).to.equal('http://proxy.example:3128/');
    }
    process.env.NO_PROXY = '*';
    expect(of('https://11.0.0.1/')).to.equal(undefined);
  });

  for (const entry of [
    ...['10.0.0.0/33', '10/8', '10.0.0.0/8:443', '10.0.0.0-10.0.0.9', '300.1.*', '10.*.3', 'host*.example'],
    ...['https://inside.example', 'inside.example/path', '<local>', 'bücher.example', 'fd00::/129'],
    ...['10.0.0.0/99', '[fd00::]/8', 'fe80::1%eth0', 'inside.example:99999', '[::1]:65536'],
  ]) {
    it(`is refused with the entry ${entry} in NO_PROXY, because no host could match it`, () => {
      process.env.NO_PROXY = `inside.example,${entry}`;
      expect(of('https://provider.example/'), 'without a proxy').to.equal(undefined);
      process.env.HTTPS_PROXY = 'http://proxy.example:3128';
      for (const host of ['provider.example', 'inside.example', '10.0.0.1']) {
        expect(() => of(`https://${host}/`)).to.throw(NetworkFailure, /^Entry 2 of NO_PROXY can match no host/);
      }
    });
  }

  it('is refused with a password that is not percent-encoded', () => {
    process.env.HTTPS_PROXY = 'http://svc:50%off@proxy.example:3128';
    expect(() => of('https://provider.example/')).to.throw(NetworkFailure, 'write % as %25');
  });

  for (const value of [
    'socks5://proxy.example:1080',
    'https://proxy.example',
    'proxy.example:3128',
    'http://',
    'http://proxy.example:port',
  ]) {
    it(`is refused as ${value}, so that no request goes past the proxy`, () => {
      process.env.HTTPS_PROXY = value;
      expect(() => of('https://provider.example/')).to.throw(NetworkFailure, 'not an http URL');
    });
  }

  describe('A proxy, when reach() tests a connection,', () => {
    const server = loopbackForSuite(answering('{}'), { tls: true });
    let proxy: ForwardProxy;
    beforeEach(async () => {
      proxy = await startProxy();
      process.env.HTTPS_PROXY = proxy.url;
    });
    afterEach(() => proxy.close());

    it('gets a CONNECT', async () => {
      // The proxy connects. Then TLS fails, because reach() does not trust the authority of the tests.
      expect(await reach(server.url, 2000)).to.match(/^The connection failed \([A-Z_]+\)\.$/);
      expect(proxy.asked.map(({ target }) => target)).to.deep.equal([new URL(server.url).host]);
    });

    it('that refuses the CONNECT fails the test of the connection', async () => {
      proxy.answer = refusing(407);
      expect(await reach(server.url, 2000)).to.equal('The proxy refused to connect (status 407).');
    });

    it('that does not answer within the time limit fails the test of the connection', async () => {
      proxy.answer = () => undefined;
      expect(await reach(server.url, 50)).to.equal('The connection failed within 50 ms.');
    });
  });
});
