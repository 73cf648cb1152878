/**
 * Reads the answers of the MCP server while a call that a person approved runs. A request of the server to its client reaches
 * nobody: the guard answers it with an error, and a ping with a result. Answers are read only if the file has a tool with an
 * approval. All other bytes are passed on as they came.
 */

import type { IncomingMessage } from 'node:http';
import { refusedToServer } from '../core/approved-calls.ts';
import type { AllowedMessage } from '../core/mcp-access.ts';
import { headerValues } from '../core/raw-headers.ts';
import { eventSplitter } from './event-splitter.ts';
import { folded } from './lookalikes.ts';

/** Reads one answer. `undefined` in place of bytes cuts it. */
export interface AnswerReader {
  /** Whether it leaves a part of the answer out, so that its length is not known. */
  readonly mayShorten: boolean;
  take(chunk: Buffer): Buffer | undefined;
  end(): Buffer | undefined;
}

/** A JSON answer, or an event while an approved call runs. Tools answer with pictures of some MiB. */
const MAX_HELD = 16 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

type Approved = Pick<AllowedMessage, 'calls' | 'call'>;

/**
 * @param answerServer sends a message to the server, in the session of the answer
 * @returns `undefined` for an answer in a coding that the guard cannot read
 */
export function sessionAnswer(
  received: Pick<IncomingMessage, 'rawHeaders'>,
  approved: Approved,
  answerServer: (message: object) => void,
): AnswerReader | undefined {
  const { calls, call } = approved;
  const types = headerValues(received.rawHeaders, 'content-type');
  const codings = headerValues(received.rawHeaders, 'content-encoding');
  const isPlain = codings.every((coding) => /^identity$/i.test(coding));
  const screened = (text: string) => screen(text, call, answerServer);
  if (types.some((type) => /^text\/event-stream/i.test(type))) {
    return isPlain ? eventReader(calls, screened) : undefined;
  }
  if (calls.isRunning() && types.some((type) => /json/i.test(type))) {
    return isPlain ? jsonReader(screened, () => call?.end()) : undefined;
  }
  // Its end is that of the call.
  const end = () => {
    call?.end();
    return NOTHING;
  };
  return { mayShorten: false, take: (chunk) => chunk, end };
}

/** What may reach the client of a message or a batch; `undefined` for nothing. */
interface Screened {
  readonly isWhole: boolean;
  readonly rest: unknown;
}

function screen(text: string, call: Approved['call'], answerServer: (message: object) => void): Screened {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Another parser may read it.
    return { isWhole: false, rest: undefined };
  }
  const messages = Array.isArray(value) ? value : [value];
  const [passed, requests] = [messages.filter((one) => !isRequest(one)), messages.filter(isRequest)];
  for (const request of requests) answerServer(answerTo(request));
  if (call !== undefined && passed.some((one) => isObject(one) && !('method' in one) && one.id === call.id)) call.end();
  if (requests.length === 0) return { isWhole: true, rest: value };
  return { isWhole: false, rest: passed.length === 0 ? undefined : passed };
}

type Message = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Some clients ignore letter case. */
function isRequest(value: unknown): value is Message {
  if (!isObject(value)) return false;
  const names = Object.keys(value).map(folded);
  return names.includes('method') && names.includes('id');
}

/** A ping asks for nothing. Without its answer the server could close the session. */
function answerTo({ id, method }: Message): object {
  return method === 'ping' ? { jsonrpc: '2.0', id, result: {} } : refusedToServer(id);
}

/** Holds the whole answer: it is passed on, or cut if it has a request. */
function jsonReader(screened: (text: string) => Screened, onEnd: () => void): AnswerReader {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    mayShorten: false,
    take(chunk) {
      chunks.push(chunk);
      length += chunk.length;
      return length > MAX_HELD ? undefined : NOTHING;
    },
    end() {
      const whole = Buffer.concat(chunks);
      onEnd();
      return length === 0 || screened(whole.toString()).isWhole ? whole : undefined;
    },
  };
}

function eventReader(calls: Approved['calls'], screened: (text: string) => Screened): AnswerReader {
  const splitter = eventSplitter();
  let isTooLong = false;
  const passed = (event: Buffer): Buffer => (calls.isRunning() ? screenedEvent(event, screened) : event);
  return {
    mayShorten: true,
    take(chunk) {
      const parts = splitter.take(chunk).map(passed);
      // A longer event that has begun before the call is passed on as it comes.
      if (calls.isRunning()) isTooLong = splitter.held() > MAX_HELD;
      else parts.push(splitter.release());
      return isTooLong ? undefined : Buffer.concat(parts);
    },
    // The end of the stream is not that of the call: the client may go on with it on another connection. An event without its
    // blank line is none (HTML, "Server-sent events").
    end: () => (calls.isRunning() ? NOTHING : splitter.release(0)),
  };
}

/** The event without the requests in its data. */
function screenedEvent(event: Buffer, screened: (text: string) => Screened): Buffer {
  const lines = event
    .toString()
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/);
  const isData = (line: string) => /^data(?::|$)/.test(line);
  const data = lines.filter(isData).map((line) => line.replace(/^data:? ?/, ''));
  if (data.join('') === '') return event;
  const { isWhole, rest } = screened(data.join('\n'));
  if (isWhole) return event;
  if (rest === undefined) return NOTHING;
  const others = lines.filter((line) => line !== '' && !isData(line));
  return Buffer.from(`${[...others, `data: ${JSON.stringify(rest)}`].join('\n')}\n\n`);
}
