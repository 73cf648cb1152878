/**
 * Reads the answers of the MCP server while an approved call runs. The guard removes each request of the server to its client,
 * and answers it: a ping with a result, any other with an error. It reads answers only if the file has a tool with an approval.
 * All other bytes are passed on unchanged.
 */

import type { IncomingMessage } from 'node:http';
import { refusedToServer } from '../core/approved-calls.ts';
import type { AllowedMessage } from '../core/mcp-access.ts';
import { headerValues } from '../core/raw-headers.ts';
import { eventSplitter } from './event-splitter.ts';
import { folded } from './lookalikes.ts';

/** Reads one answer. It returns the bytes for the client, or `undefined` to cut the answer. */
export interface AnswerReader {
  /** Whether it may remove a part of the answer: then the length is unknown when the answer begins. */
  readonly mayShorten: boolean;
  take(chunk: Buffer): Buffer | undefined;
  end(): Buffer | undefined;
}

/** The most bytes of a JSON answer or of one event while an approved call runs. Tools answer with pictures of some MiB. */
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
  // Neither JSON nor events: the call ends with this answer.
  const end = () => {
    call?.end();
    return NOTHING;
  };
  return { mayShorten: false, take: (chunk) => chunk, end };
}

/** `rest` is the part of a message or a batch that may reach the client; `undefined` for none. */
interface Screened {
  readonly isWhole: boolean;
  readonly rest: unknown;
}

function screen(text: string, call: Approved['call'], answerServer: (message: object) => void): Screened {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // It is dropped, because the parser of the client may accept it.
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

/** Some clients ignore the letter case of member names. */
function isRequest(value: unknown): value is Message {
  if (!isObject(value)) return false;
  const names = Object.keys(value).map(folded);
  return names.includes('method') && names.includes('id');
}

/** A ping is harmless, and without an answer the server could close the session. */
function answerTo({ id, method }: Message): object {
  return method === 'ping' ? { jsonrpc: '2.0', id, result: {} } : refusedToServer(id);
}

/** Holds the whole answer, and passes it on or, if it contains a request, cuts it. */
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
      // A long event that began before the call is passed on in pieces.
      if (calls.isRunning()) isTooLong = splitter.held() > MAX_HELD;
      else parts.push(splitter.release());
      return isTooLong ? undefined : Buffer.concat(parts);
    },
    // The call does not end with the stream, because the client may resume it on another connection. Clients ignore an
    // event without the blank line at its end (HTML, "Server-sent events"), so it is dropped.
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
