/** Real receivers of messages to people: an SMTP server, and the incoming webhook of a chat. */

import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { startLoopback } from './loopback.ts';

/** What the receiver does with a message: takes it, refuses it, or never answers. */
export type Treatment = 'take' | 'refuse' | 'hang';

export interface MessageReceiver {
  /** The variable of the relay that names the receiver. */
  readonly environment: Readonly<Record<string, string>>;
  /** The treatment of the next messages; after them each one is taken. */
  readonly treatments: Treatment[];
  /** The next message that was taken, as text with its recipient. */
  next(): Promise<string>;
  /** Resolves when the next message is here that is not taken. */
  untaken(): Promise<string>;
  close(): Promise<void>;
}

function queue() {
  const [taken, waiting]: [string[], ((text: string) => void)[]] = [[], []];
  return {
    put(text: string) {
      const first = waiting.shift();
      if (first === undefined) taken.push(text);
      else first(text);
    },
    next: async () => taken.shift() ?? new Promise<string>((resolve) => waiting.push(resolve)),
  };
}

export async function startSmtpReceiver(): Promise<MessageReceiver> {
  const [messages, others, treatments] = [queue(), queue(), [] as Treatment[]];
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    closeTimeout: 1,
    onRcptTo(_address, _session, answer) {
      const treatment = treatments.shift() ?? 'take';
      if (treatment !== 'take') others.put(treatment);
      if (treatment === 'refuse') answer(new Error('mailbox busy'));
      if (treatment === 'take') answer();
    },
    onData(stream, { envelope }, answer) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        messages.put(`${envelope.rcptTo.map(({ address }) => address).join()}\n${Buffer.concat(chunks)}`);
        answer();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    environment: { SMTP_URL: `smtp://127.0.0.1:${port}` },
    treatments,
    next: messages.next,
    untaken: others.next,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export async function startChatReceiver(): Promise<MessageReceiver> {
  const [messages, others, treatments] = [queue(), queue(), [] as Treatment[]];
  const server = await startLoopback(({ body }, response) => {
    const treatment = treatments.shift() ?? 'take';
    if (treatment === 'refuse') response.writeHead(500).end('no');
    if (treatment !== 'take') return others.put(treatment);
    messages.put(JSON.parse(body).text);
    response.end('ok');
  });
  return {
    environment: { WEBHOOK_URL: `${server.url}/hooks/secret` },
    treatments,
    next: messages.next,
    untaken: others.next,
    close: server.close,
  };
}
