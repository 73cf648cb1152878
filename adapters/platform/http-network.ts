/**
 * Sends HTTP requests with node:http and node:https: no redirects, no cookies, no compression, and limits on time and
 * size. `fetch` cannot do this: it accepts no TLS context, and always decompresses bodies.
 *
 * This folder implements ports with Node alone. The network is here, with tunnel.ts and no-proxy.ts for proxies,
 * public-address.ts for addresses that agents name, and limited-network.ts for one time limit. Time is in
 * system-clock.ts, randomness and hashes in system-crypto.ts. Files: key-file.ts, setting-files.ts, export-folder.ts.
 */

import { promises as dns } from 'node:dns';
import { once, setMaxListeners } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import {
  type Network,
  type NetworkAnswer,
  NetworkFailure,
  type NetworkRequest,
  type Reach,
} from '../../application/ports/network.ts';
import { type Instant, instantFromMillis } from '../../domain/instant.ts';
import { readMarkedUtf8 } from '../../domain/tokens/strict-utf8.ts';
import { formatTraceparent } from '../../domain/trace-context.ts';
import { trimOws } from '../../domain/trim-ows.ts';
import { freshnessOf } from './freshness.ts';
import { userAgent } from './package-version.ts';
import { isPublicAddress, NOT_PUBLIC, publicLookup, type Resolve } from './public-address.ts';
import { connectThrough, type ProxyOf, proxyFromEnvironment, TunnelAgent } from './tunnel.ts';

/** For each host. With more connections, requests would wait at the server instead of here. */
const MAX_SOCKETS = 64;
/** Idle connections are closed before many servers close them (after five seconds), so that no request races a close. */
const IDLE_MS = 4000;
/** The error codes of a read or write on a connection that the server has closed. */
const CUT_CODES = ['ECONNRESET', 'EPIPE'];

type Send = (request: NetworkRequest) => { readonly sent: ClientRequest; readonly answer: Promise<NetworkAnswer> };
/** Returns the number of bytes of the answer that have arrived. */
type Arrived = () => number;

export interface NetworkOptions {
  /** The TLS context of all connections. The default trusts Node's certificate authorities. */
  readonly secureContext?: SecureContext;
  /** Resolves the hosts of `publicOnly` requests. The default is the operating system. */
  readonly resolve?: Resolve;
  /** Tells which addresses a `publicOnly` request may connect to. */
  readonly isPublic?: (address: string) => boolean;
  /** Tells which requests go through a proxy. By default the environment decides. */
  readonly proxyOf?: ProxyOf;
  /** Once it is aborted, requests under way fail, and all later ones. */
  readonly signal?: AbortSignal;
}

export function httpNetwork(options: NetworkOptions = {}): Network {
  const send = sender(options);
  return {
    async send(request) {
      const startedAt = performance.now();
      const { sent, answer } = attempt(send, request);
      try {
        return await answer;
      } catch (cause) {
        // The server closed an idle connection, and did not see the request. Only a GET is always safe to repeat.
        const unseen = cause instanceof NetworkFailure && cause.cut && sent.reusedSocket && request.method === 'GET';
        const timeoutMs = Math.floor(request.timeoutMs - (performance.now() - startedAt));
        if (!unseen || timeoutMs <= 0) throw cause;
        // Other idle connections to a restarted server are dead as well.
        return await repeated(send, { ...request, timeoutMs });
      }
    },
  };
}

async function repeated(send: Send, request: NetworkRequest): Promise<NetworkAnswer> {
  try {
    return await attempt(send, { ...request, newConnection: true }).answer;
  } catch (cause) {
    if (!(cause instanceof NetworkFailure) || !cause.cut) throw cause;
    throw new NetworkFailure(cause.message, { cause });
  }
}

/** node:http throws at once for a URL or header that it refuses, with an error of another class. */
function attempt(send: Send, request: NetworkRequest): ReturnType<Send> {
  try {
    return send(request);
  } catch (cause) {
    if (cause instanceof NetworkFailure) throw cause;
    throw new NetworkFailure('The request could not be sent.', { cause });
  }
}

function sender({
  secureContext,
  resolve = dns.lookup,
  isPublic = isPublicAddress,
  proxyOf = proxyFromEnvironment,
  signal,
}: NetworkOptions): Send {
  // Each request under way adds a listener. Node would warn of more than ten.
  if (signal !== undefined) setMaxListeners(0, signal);
  const kept = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_MS };
  const trust = secureContext === undefined ? {} : { secureContext };
  const agents = (options: http.AgentOptions) => {
    const plain = new http.Agent({ ...kept, ...options });
    const secure = new https.Agent({ ...kept, ...trust, ...options });
    const tunnels = new Map<string, https.Agent>();
    return (target: URL): http.Agent => {
      if (target.protocol !== 'https:') return plain;
      const proxy = proxyOf(target);
      if (proxy === undefined) return secure;
      const tunnel = tunnels.get(proxy.href) ?? new TunnelAgent(proxy, { ...kept, ...trust, ...options });
      tunnels.set(proxy.href, tunnel);
      return tunnel;
    };
  };
  const anywhere = agents({});
  const unshared = agents({ keepAlive: false });
  // Keeps no connection open, so that each request resolves its host again, and the result is checked.
  const publicHosts = agents({ keepAlive: false, lookup: publicLookup(resolve, isPublic) });
  return ({ method, url, headers, body, timeoutMs, maxBytes, publicOnly = false, newConnection = false, trace }) => {
    const target = new URL(url);
    if (publicOnly && isAddress(target) && !isPublic(hostOf(target))) throw new NetworkFailure(NOT_PUBLIC);
    const agent = (publicOnly ? publicHosts : newConnection ? unshared : anywhere)(target);
    // W3C Trace Context §3.2. `tracestate` is not passed on, because it may contain any data of other vendors.
    const traced = trace === undefined ? {} : { traceparent: formatTraceparent(trace) };
    const own = { 'user-agent': userAgent(), 'accept-encoding': 'identity' };
    const lines = { ...headers, ...traced, ...own, ...lengthOf(body) };
    const { request } = target.protocol === 'https:' ? https : http;
    const sent = request(target, { method, headers: lines, agent, signal });
    const answer = bounded(sent, { timeoutMs, maxBytes, arrived: arrivedBytes(sent) });
    sent.end(body);
    return { sent, answer };
  };
}

/** Sockets do not call `lookup` for an IP address. A URL holds it in canonical form, IPv6 in brackets. */
function isAddress(target: URL): boolean {
  return isIP(hostOf(target)) !== 0;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function lengthOf(body: string | undefined): Readonly<Record<string, string>> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}

/** A kept connection has carried other answers before. */
function arrivedBytes(sent: ClientRequest): Arrived {
  let earlier = 0;
  sent.once('socket', ({ bytesRead }) => {
    earlier = bytesRead;
  });
  return () => (sent.socket?.bytesRead ?? 0) - earlier;
}

interface Bounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly arrived: Arrived;
}

async function bounded(sent: ClientRequest, { timeoutMs, maxBytes, arrived }: Bounds): Promise<NetworkAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new NetworkFailure(`There was no complete answer within ${timeoutMs} ms.`, { timedOut: true })),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([received(sent, maxBytes), tooLate]);
  } catch (cause) {
    sent.destroy();
    throw cause instanceof NetworkFailure ? cause : noAnswer(cause, arrived() === 0);
  } finally {
    clearTimeout(timer);
  }
}

async function received(sent: ClientRequest, maxBytes: number): Promise<NetworkAnswer> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    // The listener stays, because destroying the request later emits another error.
    sent.on('error', reject);
    sent.once('response', resolve);
    sent.once('close', () => reject(new NetworkFailure('The connection was closed without an answer.')));
  });
  const status = answer.statusCode ?? 0;
  const coding = compressionOf(answer.headers['content-encoding']);
  if (coding !== undefined) {
    throw new NetworkFailure(`The answer is compressed (${coding}).`, { answered: true, status });
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) {
      throw new NetworkFailure(`The answer is longer than ${maxBytes} bytes.`, { answered: true, status });
    }
    chunks.push(chunk);
  }
  // Some providers begin their JSON with a byte order mark, which a reader may ignore (RFC 8259 §8.1).
  const body = readMarkedUtf8(Buffer.concat(chunks));
  if (body === undefined) throw new NetworkFailure('The answer is not UTF-8.', { answered: true, status });
  const { date, 'retry-after': retryAfter, 'content-type': contentType } = answer.headers;
  return {
    status,
    body,
    date: readDate(date),
    retryAfter: readRetryAfter(retryAfter, date),
    freshness: freshnessOf(answer.headers),
    mediaType: contentType === undefined ? undefined : trimOws(contentType.split(';', 1)[0] ?? '').toLowerCase(),
  };
}

/** An HTTP date is relative to the server's clock, if the server sent that. */
function readRetryAfter(header: string | undefined, serverDate: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header);
  const until = Date.parse(header);
  const from = serverDate === undefined ? Date.now() : Date.parse(serverDate);
  if (!/^[A-Z][a-z]{2}, [0-9A-Za-z :]+ GMT$/.test(header) || Number.isNaN(until) || Number.isNaN(from))
    return undefined;
  return Math.max(0, Math.ceil((until - from) / 1000));
}

/** The content codings that compress (RFC 9110 §8.4.1, and the registry of IANA). */
const COMPRESSIONS = ['gzip', 'x-gzip', 'deflate', 'compress', 'x-compress', 'br', 'zstd', 'dcb', 'dcz'];

/**
 * The first coding of the header that compresses. Some servers name a character set there, or nothing. The body is read
 * strictly as UTF-8 in any case.
 */
function compressionOf(header: string | undefined): string | undefined {
  const codings = (header ?? '').split(',').map((coding) => trimOws(coding).toLowerCase());
  return codings.find((coding) => COMPRESSIONS.includes(coding));
}

function readDate(header: string | undefined): Instant | undefined {
  const millis = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(millis) ? undefined : instantFromMillis(millis);
}

/** @param unanswered whether no byte of an answer has arrived */
function noAnswer(cause: unknown, unanswered: boolean): NetworkFailure {
  const code = errorCode(cause) ?? 'unknown';
  return new NetworkFailure(`There was no answer (${code}).`, { cause, cut: unanswered && CUT_CODES.includes(code) });
}

/** The error code of the operating system or OpenSSL, from the error or its causes. */
function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return errorCode(error.cause);
}

/** Connects as `httpNetwork` would, but sends no request. */
export const reach: Reach = async (url, limitMs) => {
  const signal = AbortSignal.timeout(limitMs);
  try {
    await connectTo(new URL(url), signal);
    return undefined;
  } catch (error) {
    if (signal.aborted) return `The connection failed within ${limitMs} ms.`;
    return error instanceof NetworkFailure
      ? error.message
      : `The connection failed (${errorCode(error) ?? 'unknown'}).`;
  }
};

async function connectTo(target: URL, signal: AbortSignal): Promise<void> {
  const isSecure = target.protocol === 'https:';
  const at = { host: hostOf(target), port: Number(target.port || (isSecure ? 443 : 80)) };
  const proxy = proxyFromEnvironment(target);
  const through = proxy === undefined ? {} : { socket: await connectThrough(proxy, { ...at, signal }) };
  const servername = isAddress(target) ? '' : at.host;
  const socket = isSecure ? connectTls({ ...at, ...through, servername }) : connectTcp(at);
  try {
    await once(socket, isSecure ? 'secureConnect' : 'connect', { signal });
  } finally {
    socket.destroy();
  }
}
