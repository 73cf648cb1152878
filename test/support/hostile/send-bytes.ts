/** Sends bytes over TCP, and collects what the server sends until the connection ends. */

import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** The names are in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface ReceivedBytes {
  /** All received bytes. */
  readonly text: string;
  /** The responses in order, including 100. @throws if the received bytes are not complete responses */
  readonly answers: readonly RawAnswer[];
  /** How the connection ended: `closed`, `reset`, or still `open` after the timeout. */
  readonly end: 'closed' | 'reset' | 'open';
  readonly tookMs: number;
}

/** A service that has not answered by then is considered to hang. */
const TIMEOUT_MS = 20_000;

/** @param bytes one character for each byte */
export function sendBytes(url: string, bytes: string, { timeoutMs = TIMEOUT_MS } = {}): Promise<ReceivedBytes> {
  const { hostname: host, port } = new URL(url);
  const began = performance.now();
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    let [text, end]: [string, ReceivedBytes['end']] = ['', 'open'];
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => {
      end = 'closed';
    });
    socket.on('error', () => {
      end = 'reset';
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({
        text,
        end,
        tookMs: performance.now() - began,
        get answers() {
          return readAnswers(text);
        },
      });
    });
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

/** Parses the text as a sequence of complete responses. @throws if it is not one */
export function readAnswers(text: string, wasHead = false): readonly RawAnswer[] {
  const { answers, rest } = takeAnswers(text, wasHead);
  if (rest !== '') throw new Error(`an answer was cut short: ${JSON.stringify(rest.slice(0, 1000))}`);
  return answers;
}

/** Parses complete responses, and returns the rest of the text too. @throws if the text is not a response */
export function takeAnswers(text: string, wasHead = false): { readonly answers: RawAnswer[]; readonly rest: string } {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (true) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return { answers, rest };
    const [first = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\w -]+$/.exec(first)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not an answer: ${JSON.stringify(rest.slice(0, 1000))}`);
    const headers = new Map(
      lines.map((line): [string, string] => {
        const [name = '', value = ''] = line.split(/: (.*)/s);
        return [name.toLowerCase(), value];
      }),
    );
    const length = status === 100 || wasHead ? 0 : Number(headers.get('content-length') ?? 0);
    const body = rest.slice(headEnd + 4, headEnd + 4 + length);
    if (body.length !== length) return { answers, rest };
    answers.push({ status, headers, body });
    rest = rest.slice(headEnd + 4 + length);
  }
}
