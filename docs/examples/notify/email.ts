/**
 * Relays notices (`Service:Approvals:Notify`) to e-mail. A notice names a person by their sponsor key. DIRECTORY has their
 * address. The message has the address of the question, and no words of it.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { createTransport } from 'nodemailer';

const { DIRECTORY = '', SMTP_URL = '', PORT = '0', TRY_FOR_SECONDS = '60', NOTIFY_TOKEN, MAIL_FROM } = process.env;
const ISSUER = (process.env.ISSUER ?? '').replace(/\/$/, '');

const missing = ['ISSUER', 'DIRECTORY', 'SMTP_URL'].filter((name) => !process.env[name]);
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
async function addressOf(sponsorKey: string): Promise<string | undefined> {
  const people: Readonly<Record<string, string>> = JSON.parse(await readFile(DIRECTORY, 'utf8'));
  return Object.hasOwn(people, sponsorKey) ? people[sponsorKey] : undefined;
}

const mail = createTransport(SMTP_URL, { from: MAIL_FROM ?? `mandate@${new URL(ISSUER).hostname}` });

async function send({ approval_id, sponsor_key }: Notice): Promise<string> {
  const to = await addressOf(sponsor_key);
  if (to === undefined) return 'the person is not in the directory';
  const text = `Open this page, and sign in to read what the agent wants to do:\n\n${ISSUER}/me/approvals/${approval_id}\n`;
  await mail.sendMail({ to, subject: 'An agent waits for your answer', text, signal: AbortSignal.timeout(ATTEMPT_MS) });
  return 'sent';
}

async function deliver(notice: Notice): Promise<void> {
  const deadline = Date.now() + TRY_FOR_MS;
  for (let pause = 1000; ; pause = Math.min(2 * pause, 10_000)) {
    // The message of an error may have the address of the person, its code has not.
    const outcome = await send(notice).catch(({ code, name }) => new Error(code ?? name));
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
  // Not awaited: Mandate does not wait for the mail server.
  void deliver(notice).finally(() => {
    held -= 1;
  });
  return 202;
}

await addressOf('');
const server = createServer((request, response) => {
  void answer(request).then((status) => response.writeHead(status, { connection: 'close' }).end());
});
server.requestTimeout = ATTEMPT_MS;
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  if (NOTIFY_TOKEN === undefined) console.error('Without NOTIFY_TOKEN any client of this port can send messages.');
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
