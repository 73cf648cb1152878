/**
 * The slow clients of slow-senders.ts, in a process of their own. They send heads and bodies at a byte a second, or
 * request responses and do not read them. A disconnected client reconnects after a second.
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/slow-clients.ts HOST PORT COUNT
 *
 * Sends `ready` to its parent once all clients are connected. At the first message it replies with the number of
 * disconnections of each kind, and exits.
 */

import { connect } from 'node:net';

const INTERVAL_MS = 1000;

interface Kind {
  readonly name: string;
  /** How many of ten clients are of this kind. */
  readonly share: number;
  readonly first: string;
  /** Sent repeatedly, one byte at a time. */
  readonly rest: string;
  readonly readsResponses: boolean;
}

const HOST = 'Host: mandate.test\r\n';
const post = (path: string, headers: string) => `POST ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`;
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n';
const CHUNKED_JSON = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
const KINDS: readonly Kind[] = [
  { name: 'heads', share: 3, first: 'POST /oauth2/token HTTP/1.1\r\n', rest: 'X-Slow: x\r\n', readsResponses: true },
  { name: 'token forms', share: 3, first: post('/oauth2/token', FORM), rest: 'x', readsResponses: true },
  { name: 'introspection forms', share: 1, first: post('/oauth2/introspect', FORM), rest: 'x', readsResponses: true },
  {
    ...{ name: 'admin bodies in chunks, without a key', share: 1 },
    ...{ first: post('/admin/agents', CHUNKED_JSON), rest: '1\r\nx\r\n', readsResponses: true },
  },
  {
    ...{ name: 'readers', share: 2, readsResponses: false },
    // The maximum number of pipelined requests. Then empty lines, which a server ignores.
    ...{ first: `GET /.well-known/jwks.json HTTP/1.1\r\n${HOST}\r\n`.repeat(16), rest: '\r\n' },
  },
];

const [host = '', port = '', count = ''] = process.argv.slice(2);
const disconnections = new Map<string, number>();
let open = 0;

function startClient(kind: Kind): void {
  const socket = connect({ host, port: Number(port), noDelay: true });
  let sent = 0;
  let timer: NodeJS.Timeout | undefined;
  socket.on('error', () => undefined);
  socket.once('connect', () => {
    open += 1;
    if (open === Number(count)) process.send?.('ready');
    if (kind.readsResponses) socket.resume();
    else socket.pause();
    socket.write(kind.first);
    timer = setInterval(() => {
      socket.write(kind.rest.charAt(sent % kind.rest.length));
      sent += 1;
    }, INTERVAL_MS);
  });
  socket.once('close', () => {
    clearInterval(timer);
    disconnections.set(kind.name, (disconnections.get(kind.name) ?? 0) + 1);
    // Reconnecting at once would flood the server with connections, which is another measurement.
    setTimeout(() => startClient(kind), INTERVAL_MS);
  });
}

const rotation = KINDS.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
for (let index = 0; index < Number(count); index += 1) {
  const kind = rotation[index % rotation.length];
  if (kind !== undefined) startClient(kind);
}
process.on('message', () => {
  process.send?.(Object.fromEntries(disconnections));
  process.exit();
});
// The parent process has ended.
process.on('disconnect', () => process.exit());
