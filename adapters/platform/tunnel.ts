/**
 * Connects through a forward proxy, by CONNECT (RFC 9110 §9.3.6). TLS ends at the server, so the proxy sees the server's
 * name, but no request. Requests to http URLs, which are for development, never use a proxy.
 */

import http, { type ClientRequestArgs } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { getProxyForUrl } from 'proxy-from-env';
import { NetworkFailure } from '../../application/ports/network.ts';
import { isInNoProxyRange } from './no-proxy.ts';
import { userAgent } from './package-version.ts';

/**
 * The proxy for a URL, or `undefined` for a direct connection. @throws NetworkFailure if the configured proxy is unusable
 */
export type ProxyOf = (url: URL) => URL | undefined;

/** How long the proxy may take to connect, in milliseconds, no matter what it sends meanwhile. */
const CONNECT_LIMIT_MS = 10_000;

/** Reads HTTPS_PROXY, ALL_PROXY and NO_PROXY, in upper or lower case. */
export const proxyFromEnvironment: ProxyOf = (url) => {
  if (url.protocol !== 'https:') return undefined;
  const isSet = variable('https_proxy') !== '' || variable('all_proxy') !== '';
  if (!isSet || isInNoProxyRange(url, variable('no_proxy'))) return undefined;
  const address = getProxyForUrl(url.href);
  if (address === '') return undefined;
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  if (proxy?.protocol !== 'http:') {
    throw new NetworkFailure('The proxy in HTTPS_PROXY or ALL_PROXY is not an http URL.');
  }
  if (!isDecodable(proxy.username + proxy.password)) {
    throw new NetworkFailure(
      'The name or password in HTTPS_PROXY or ALL_PROXY is not percent-encoded: write % as %25.',
    );
  }
  return proxy;
};

/** The lower-case name comes first, as in `proxy-from-env`. */
function variable(name: string): string {
  return process.env[name] || process.env[name.toUpperCase()] || '';
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Connects through the proxy. If the options have a `lookup`, it must first allow the host. */
export class TunnelAgent extends https.Agent {
  readonly #proxy: URL;

  constructor(proxy: URL, options: https.AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  /** Returns a socket while the proxy still connects, so that the agent counts it among its sockets. */
  override createConnection(options: ClientRequestArgs & ConnectionOptions): Duplex {
    const { host = '', port, lookup } = options;
    const tunnel = new Tunnel(async (signal) => {
      if (lookup !== undefined) await allowedBy(lookup, host);
      return connectThrough(this.#proxy, { host, port: Number(port), signal });
    });
    const socket = connectTls({ ...options, socket: tunnel });
    tunnel.on('error', (error) => socket.destroy(error));
    return socket;
  }
}

/** A stream over a connection that is still being opened. Destroying the stream abandons the connection. */
class Tunnel extends Duplex {
  readonly #abandoned = new AbortController();
  readonly #opened: Promise<Duplex>;

  constructor(open: (signal: AbortSignal) => Promise<Duplex>) {
    super();
    this.#opened = open(this.#abandoned.signal);
    this.#opened.then(
      (socket) => this.#join(socket),
      (error: Error) => this.destroy(error),
    );
  }

  #join(socket: Duplex): void {
    if (this.destroyed) return;
    socket.on('data', (chunk) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  #whenOpened(use: (socket: Duplex) => void): void {
    // If the connection was not opened, the constructor has destroyed this stream.
    this.#opened.then(use, () => undefined);
  }

  override _read(): void {
    this.#whenOpened((socket) => socket.resume());
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#whenOpened((socket) => socket.write(chunk, done));
  }

  override _final(done: () => void): void {
    this.#whenOpened((socket) => socket.end(done));
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#abandoned.abort();
    this.#whenOpened((socket) => socket.destroy());
    done(error);
  }
}

function allowedBy(lookup: LookupFunction, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error) => (error === null ? resolve() : reject(error)));
  });
}

interface Destination {
  readonly host: string;
  readonly port: number;
  readonly signal: AbortSignal;
}

/** Resolves with the proxy's connection to the host. @throws NetworkFailure if the proxy does not connect */
export function connectThrough(proxy: URL, { host, port, signal }: Destination): Promise<Duplex> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const deadline = AbortSignal.timeout(CONNECT_LIMIT_MS);
  return new Promise((resolve, reject) => {
    const asked = http.request({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port === '' ? undefined : proxy.port,
      method: 'CONNECT',
      path: target,
      headers: { host: target, 'user-agent': userAgent(), ...credentialsOf(proxy) },
      agent: false,
      signal: AbortSignal.any([signal, deadline]),
    });
    asked.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new NetworkFailure(`The proxy refused to connect (status ${statusCode}).`));
    });
    asked.once('error', (error) => {
      const code = 'code' in error ? String(error.code) : 'unknown';
      reject(
        new NetworkFailure(
          deadline.aborted ? 'The proxy did not connect in time.' : `The proxy cannot be reached (${code}).`,
        ),
      );
    });
    asked.end();
  });
}

function credentialsOf({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` };
}
