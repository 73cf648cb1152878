/** A real HTTP or HTTPS server on loopback. It keeps the requests, and a test sets its answers. */

import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { createSecureContext, rootCertificates } from 'node:tls';
import { closeServer, listen } from './listening.ts';

interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
  /** The port of the client. Requests of one connection have the same. */
  readonly connection: number;
}

export type Handler = (request: ReceivedRequest, response: ServerResponse) => void;

export interface Loopback {
  /** Ends without a slash. */
  readonly url: string;
  readonly received: ReceivedRequest[];
  /** The answer to the next requests, which a test may replace. */
  answer: Handler;
  /** Stops the server and closes all its connections. */
  close(): Promise<void>;
  /** Listens again, on the same port. */
  reopen(): Promise<void>;
}

/** The authority that signed the certificate (tls/README.md). */
export const testAuthority = readTls('ca.pem');

/**
 * Trusts that authority in addition to Node's. One context for all connections and services of this process: reading
 * Node's certificates takes 30 ms.
 */
export const testTrust = createSecureContext({ ca: [...rootCertificates, testAuthority] });

export const serverCertificate = { cert: readTls('server.pem'), key: readTls('server-key.pem') };

export async function startLoopback(answer: Handler, options: { readonly tls?: boolean } = {}): Promise<Loopback> {
  const received: ReceivedRequest[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    void readRequest(request).then((seen) => {
      received.push(seen);
      loopback.answer(seen, response);
    });
  };
  const server = options.tls ? https.createServer(serverCertificate, listener) : http.createServer(listener);
  const port = await listen(server);
  const loopback: Loopback = {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    received,
    answer,
    close: () => closeServer(server),
    async reopen() {
      await listen(server, port);
    },
  };
  return loopback;
}

/** Starts a server before the tests of the suite and closes it after them. `received` is emptied before each test. */
export function loopbackForSuite(
  answer: Handler = answering({}),
  options: { readonly tls?: boolean } = {},
): Omit<Loopback, 'close' | 'reopen'> {
  let server: Loopback;
  before(async () => {
    server = await startLoopback(answer, options);
  });
  beforeEach(() => {
    server.received.length = 0;
  });
  after(() => server.close());
  return {
    get url() {
      return server.url;
    },
    get received() {
      return server.received;
    },
    get answer() {
      return server.answer;
    },
    set answer(next) {
      server.answer = next;
    },
  };
}

export function answering(body: unknown, status = 200): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

interface HeldAnswer {
  readonly handler: Handler;
  /** Resolves when a request waits for the answer. */
  readonly asked: Promise<void>;
  /** Answers the request that waits. */
  release(): void;
}

/** An answer that waits until the test releases it. */
export function heldAnswer(answer: Handler): HeldAnswer {
  let release = (): void => undefined;
  let tell = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return {
    handler(request, response) {
      release = () => answer(request, response);
      tell();
    },
    asked,
    release: () => release(),
  };
}

/** Statuses of responses without the requested document: other successes, redirects and errors. */
export const STATUSES_BESIDE_200 = [
  201, 202, 203, 206, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 410, 500, 503,
];

/** The same for a provider, from which 203 is accepted as 200 is. */
export const STATUSES_WITHOUT_DOCUMENT = STATUSES_BESIDE_200.filter((status) => status !== 203);

async function readRequest(request: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers, socket } = request;
  return { method, path, headers, body: Buffer.concat(chunks).toString(), connection: socket.remotePort ?? 0 };
}

function readTls(name: string): string {
  return readFileSync(new URL(`./tls/${name}`, import.meta.url), 'utf8');
}
