/**
 * The other side of slow-senders.ts, in a process of its own: clients that hold on to what they have got. Heads, forms
 * and other bodies come a byte a second, answers are asked for and not taken; whoever is sent away comes again.
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/slow-clients.ts HOST PORT COUNT
 *
 * Says `ready` to its parent once all of them are there, and how often each kind was sent away when asked to stop.
 */

import { connect } from 'node:net';

const TRICKLE_MS = 1000;

interface Kind {
  readonly name: string;
  /** Out of ten. */
  readonly share: number;
  readonly first: string;
  /** A byte of it at a time. */
  readonly rest: string;
  readonly takes: boolean;
}

const FORM = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n';
const HOST = 'Host: mandate.test\r\n';
const KINDS: readonly Kind[] = [
  { name: 'heads', share: 3, first: 'POST /oauth2/token HTTP/1.1\r\n', rest: 'X-Slow: x\r\n', takes: true },
  { name: 'token forms', share: 3, first: `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}`, rest: 'x', takes: true },
  {
    name: 'introspection forms',
    share: 1,
    first: `POST /oauth2/introspect HTTP/1.1\r\n${HOST}${FORM}`,
    rest: 'x',
    takes: true,
  },
  {
    ...{ name: 'admin bodies in chunks, without a key', share: 1, rest: '1\r\nx\r\n', takes: true },
    first: `POST /admin/agents HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  },
  {
    ...{ name: 'readers', share: 2, takes: false },
    // As many as may wait on one connection; then empty lines, which a server passes over.
    first: `GET /.well-known/jwks.json HTTP/1.1\r\n${HOST}\r\n`.repeat(16),
    rest: '\r\n',
  },
];

const [host = '', port = '', count = ''] = process.argv.slice(2);
const sentAway = new Map<string, number>();
let open = 0;

function hold(kind: Kind): void {
  const socket = connect({ host, port: Number(port), noDelay: true });
  let [sent, timer]: [number, NodeJS.Timeout | undefined] = [0, undefined];
  socket.on('error', () => undefined);
  socket.once('connect', () => {
    open += 1;
    if (open === Number(count)) process.send?.('ready');
    if (kind.takes) socket.resume();
    else socket.pause();
    socket.write(kind.first);
    timer = setInterval(() => {
      socket.write(kind.rest.charAt(sent % kind.rest.length));
      sent += 1;
    }, TRICKLE_MS);
  });
  socket.once('close', () => {
    clearInterval(timer);
    sentAway.set(kind.name, (sentAway.get(kind.name) ?? 0) + 1);
    // Not at once: those that are refused at once would be a flood, which is another measurement.
    setTimeout(() => hold(kind), TRICKLE_MS);
  });
}

const turns = KINDS.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
for (let index = 0; index < Number(count); index += 1) {
  const kind = turns[index % turns.length];
  if (kind !== undefined) hold(kind);
}
process.on('message', () => {
  process.send?.(Object.fromEntries(sentAway));
  process.exit();
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit());
