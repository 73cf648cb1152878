/**
 * Connections through a forward proxy, by CONNECT (RFC 9110 §9.3.6). TLS goes through to the server, so the proxy sees its
 * name and no request. Requests to http URLs, which are for development, never go through a proxy.
 */

import http, { type ClientRequestArgs } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { getProxyForUrl } from 'proxy-from-env';
import { NetworkFailure } from '../../application/ports/network.ts';

/** The proxy for a URL; `undefined` for a direct connection. @throws NetworkFailure if it is configured and unusable */
export type ProxyOf = (url: URL) => URL | undefined;

/** How long the proxy may take to connect, in milliseconds. */
const CONNECT_LIMIT_MS = 10_000;

/** By HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case. */
export const proxyFromEnvironment: ProxyOf = (url) => {
  if (url.protocol !== 'https:') return undefined;
  const address = getProxyForUrl(url.href);
  if (address === '') return undefined;
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  if (proxy?.protocol === 'http:') return proxy;
  throw new NetworkFailure('The proxy in HTTPS_PROXY or ALL_PROXY is not an http URL.');
};

type Connected = (error: Error | null, socket: Duplex) => void;

/** An agent whose connections go through the proxy. With `lookup`, it is asked first whether it allows the host. */
export class TunnelAgent extends https.Agent {
  readonly #proxy: URL;

  constructor(proxy: URL, options: https.AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: ClientRequestArgs & ConnectionOptions, connected?: Connected): undefined {
    const fail = (error: Error) => connected?.(error, undefined as unknown as Duplex);
    const host = options.host ?? '';
    const open = () =>
      connectThrough(this.#proxy, { host, port: Number(options.port) }).then((socket) => {
        connected?.(null, connectTls({ ...options, socket }));
      }, fail);
    const { lookup } = options;
    if (lookup === undefined) void open();
    else allowedBy(lookup, host).then(open, fail);
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
  readonly signal?: AbortSignal;
}

/** A connection to the host that the proxy opened. @throws NetworkFailure if it did not */
export function connectThrough(proxy: URL, { host, port, ...aborting }: Destination): Promise<Duplex> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const credentials = proxy.username === '' ? {} : { 'proxy-authorization': `Basic ${basic(proxy)}` };
  return new Promise((resolve, reject) => {
    const asked = http.request({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port === '' ? undefined : proxy.port,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...credentials },
      agent: false,
      timeout: CONNECT_LIMIT_MS,
      ...aborting,
    });
    asked.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        socket.setTimeout(0);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new NetworkFailure(`The proxy refused to connect (status ${statusCode}).`));
    });
    asked.once('timeout', () => asked.destroy(new NetworkFailure('The proxy did not connect in time.')));
    asked.once('error', (error) => reject(error instanceof NetworkFailure ? error : unreachable(error)));
    asked.end();
  });
}

function unreachable(error: Error): NetworkFailure {
  return new NetworkFailure(`The proxy cannot be reached (${'code' in error ? String(error.code) : 'unknown'}).`);
}

function basic({ username, password }: URL): string {
  return Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
}
