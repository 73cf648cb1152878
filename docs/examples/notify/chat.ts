/**
 * Relays notices (`Service:Approvals:Notify`) to the incoming webhook of a chat. A notice names a person by their sponsor key.
 * DIRECTORY has how the chat mentions them. The message has the address of the question, and no words of it.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const { DIRECTORY = '', WEBHOOK_URL = '', PORT = '0', TRY_FOR_SECONDS = '60', NOTIFY_TOKEN } = process.env;
const ISSUER = (process.env.ISSUER ?? '').replace(/\/$/, '');

const missing = ['ISSUER', 'DIRECTORY', 'WEBHOOK_URL'].filter((name) => !process.env[name]);
if (missing.length > 0) {
  console.error(`Set ${missing.join(', ')}.`);
  process.exit(2);
}

const MAX_BODY = 4096;
/** More notices than this are refused: Mandate keeps them, and sends them again. */
const MAX_HELD = 1000;
const TRY_FOR_MS = Math.round(1000 * Number(TRY_FOR_SECONDS));
const ATTEMPT_MS = Math.min(10_000, Math.max(1000, TRY_FOR_MS));
let held = 0;
if (!(TRY_FOR_MS >= 0)) throw new RangeError('TRY_FOR_SECONDS must be a number of seconds.');

interface Notice {
  readonly approval_id: string;
  readonly sponsor_key: string;
}

/** Read for each message, so a change of the file counts at once. `undefined` for a person who is not in it. */
async function mentionOf(sponsorKey: string): Promise<string | undefined> {
  const people: Readonly<Record<string, string>> = JSON.parse(await readFile(DIRECTORY, 'utf8'));
  return Object.hasOwn(people, sponsorKey) ? people[sponsorKey] : undefined;
}

async function send({ approval_id, sponsor_key }: Notice): Promise<string> {
  const mention = await mentionOf(sponsor_key);
  if (mention === undefined) return 'the person is not in the directory';
  const text = `${mention} An agent waits for your answer: ${ISSUER}/me/approvals/${approval_id}`;
  const { status, body } = await fetch(WEBHOOK_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
    redirect: 'manual',
    signal: AbortSignal.timeout(ATTEMPT_MS),
  });
  await body?.cancel();
  if (status < 200 || status > 299) throw new Refused(`the chat answered ${status}`);
  return 'sent';
}

class Refused extends Error {}

/** Such as `ENOENT`. The code of a timeout is a number, which says nothing. */
function codeOf(error: { code?: unknown } | undefined): string | undefined {
  return typeof error?.code === 'string' ? error.code : undefined;
}

async function deliver(notice: Notice): Promise<void> {
  const deadline = Date.now() + TRY_FOR_MS;
  for (let pause = 1000; ; pause = Math.min(2 * pause, 10_000)) {
    // The message of another error may have a part of the directory, or the address of the webhook, which is a secret.
    const outcome = await send(notice).catch((error) =>
      error instanceof Refused ? error : new Error(codeOf(error.cause) ?? codeOf(error) ?? error.name),
    );
    const isOver = typeof outcome === 'string' || Date.now() + pause > deadline;
    const said = typeof outcome === 'string' ? outcome : `given up: ${outcome.message}`;
    if (isOver) return console.log(`${notice.approval_id}: ${said}`);
    await wait(pause);
  }
}

const hashOf = (text: string) => createHash('sha256').update(text).digest();

/** The notice has a bearer token, if `Service:Approvals:Notify:BearerToken` is set. */
function isFromMandate({ headers }: IncomingMessage): boolean {
  if (NOTIFY_TOKEN === undefined) return true;
  return timingSafeEqual(hashOf(headers.authorization ?? ''), hashOf(`Bearer ${NOTIFY_TOKEN}`));
}

/** `undefined` for anything that is no notice. */
async function readNotice(request: IncomingMessage): Promise<Notice | undefined> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.length > MAX_BODY) return undefined;
  }
  const { approval_id: id, sponsor_key: key } = JSON.parse(text) ?? {};
  return /^approval_\w{26}$/.test(id) && typeof key === 'string' ? { approval_id: id, sponsor_key: key } : undefined;
}

async function answer(request: IncomingMessage): Promise<number> {
  if (request.method !== 'POST') return 405;
  if (!isFromMandate(request)) return 401;
  if (held >= MAX_HELD) return 503;
  const notice = await readNotice(request).catch(() => undefined);
  if (notice === undefined) return 400;
  held += 1;
  // Not awaited: Mandate does not wait for the chat.
  void deliver(notice).finally(() => {
    held -= 1;
  });
  return 202;
}

await mentionOf('');
const server = createServer((request, response) => {
  void answer(request).then((status) => response.writeHead(status, { connection: 'close' }).end());
});
server.requestTimeout = ATTEMPT_MS;
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  if (NOTIFY_TOKEN === undefined) console.error('Without NOTIFY_TOKEN any client of this port can send messages.');
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
