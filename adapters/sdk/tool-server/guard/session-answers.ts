/**
 * Reads the answers of the MCP server while an approved call runs. The guard removes each request of the server to its client,
 * and answers it: a ping with a result, any other with an error. It reads answers only if the file has a tool with an approval.
 * All other bytes are passed on unchanged.
 */

import type { IncomingMessage } from 'node:http';
import { isCoded } from '../../../../domain/content-coding.ts';
import { mayBeRounded, readAsSent, type SentJson, writeAsSent } from '../../../../domain/tokens/json-as-sent.ts';
import { isObject } from '../../../../domain/tokens/strict-json.ts';
import type { AnswerReader } from '../core/answer-reader.ts';
import { refusedToServer } from '../core/approved-calls.ts';
import { eventSplitter } from '../core/event-splitter.ts';
import { folded } from '../core/lookalikes.ts';
import type { AllowedMessage } from '../core/mcp-access.ts';
import { headerValues } from '../core/raw-headers.ts';
import { readEvent, writeEvent } from '../core/server-event.ts';

/**
 * The most bytes of a JSON answer or of one event. Tools answer with pictures of some MiB. An approved call can begin while an
 * answer is on its way, so answers are held before it too. No client reads a part of one.
 */
const MAX_HELD = 16 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

type Approved = Pick<AllowedMessage, 'calls' | 'call'>;

/**
 * @param approved.isStream the answer is that of a GET, which some clients read as events whatever its type is
 * @param answerServer sends a message to the server, in the session of the answer
 * @returns `undefined` for an answer in a coding that the guard cannot read
 */
export function sessionAnswer(
  received: Pick<IncomingMessage, 'rawHeaders' | 'statusCode'>,
  approved: Approved & { readonly isStream: boolean },
  answerServer: (message: string) => void,
): AnswerReader | undefined {
  const { calls, call, isStream } = approved;
  const { statusCode: status = 0 } = received;
  // Clients read no message from an answer of another status. After a 202 a client waits for a response on another stream.
  if (status < 200 || status >= 300) return unread(() => call?.end());
  if (status === 202 || status === 204) return unread(() => call?.lose());
  const codings = headerValues(received.rawHeaders, 'content-encoding');
  if (codings.some(isCoded)) return undefined;
  const screened = (text: string, isMessage: boolean) => screen(text, isMessage ? call : undefined, answerServer);
  const types = headerValues(received.rawHeaders, 'content-type');
  const isJson = types.some((type) => /json/i.test(type)) && !types.some((type) => /event-stream/i.test(type));
  return isJson && !isStream ? jsonReader(calls, screened, () => call?.end()) : eventReader(calls, screened);
}

/** Passes the answer on. @param onEnd ends the call, or does not */
function unread(onEnd: () => void): AnswerReader {
  const end = () => {
    onEnd();
    return NOTHING;
  };
  return { mayShorten: false, take: (chunk) => chunk, end };
}

type Screening = (text: string, isMessage: boolean) => Screened;

/** `rest` is the part of a message or a batch that may reach the client, as JSON; `undefined` for none. */
interface Screened {
  readonly isWhole: boolean;
  readonly rest: string | undefined;
}

const DROPPED: Screened = { isWhole: false, rest: undefined };

function screen(text: string, call: Approved['call'], answerServer: (message: string) => void): Screened {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // It is dropped, because the parser of the client may accept it.
    return DROPPED;
  }
  const messages = messagesIn(value);
  if (call !== undefined && messages.some((one) => !isRequest(one) && isAnswer(one, call.id))) call.end();
  if (!messages.some(isRequest)) return { isWhole: true, rest: text };
  try {
    const { answers, rest } = parted(text, value);
    for (const answer of answers) answerServer(answer);
    return { isWhole: false, rest };
  } catch (error) {
    // V8 reads deeper JSON than it writes.
    if (error instanceof RangeError) return DROPPED;
    throw error;
  }
}

function messagesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/**
 * Answers the requests, and writes the rest anew. A server looks for its id as it sent it, also for one that a double rounds.
 *
 * @throws RangeError for JSON that nests too deep
 */
function parted(
  text: string,
  value: unknown,
): { readonly answers: readonly string[]; readonly rest: string | undefined } {
  const isLong = mayBeRounded(text);
  const messages = messagesIn(isLong ? readAsSent(text) : value);
  const written = (json: unknown) => (isLong ? writeAsSent(json as SentJson, Object.keys) : JSON.stringify(json));
  const passed = messages.filter((one) => !isRequest(one));
  return {
    answers: messages.filter(isRequest).map((request) => written(answerTo(request))),
    rest: passed.length === 0 ? undefined : written(passed),
  };
}

type Message = Readonly<Record<string, unknown>>;

/** Some clients ignore the letter case of member names. */
function isRequest(value: unknown): value is Message {
  if (!isObject(value)) return false;
  const names = Object.keys(value).map(folded);
  return names.includes('method') && names.includes('id');
}

/** A client ignores a response of another form, and waits on (JSON-RPC 2.0 §5). */
function isAnswer(value: unknown, id: unknown): boolean {
  if (!isObject(value) || value.jsonrpc !== '2.0' || value.id !== id || Object.keys(value).length !== 3) return false;
  const { result, error } = value;
  if (isObject(result)) return result._meta === undefined || isObject(result._meta);
  return isObject(error) && Number.isSafeInteger(error.code) && typeof error.message === 'string';
}

/** A ping is harmless, and without an answer the server could close the session. */
function answerTo({ id, method }: Message): object {
  return method === 'ping' ? { jsonrpc: '2.0', id, result: {} } : refusedToServer(id);
}

/** Holds the whole answer, and passes it on or, if it contains a request, cuts it. A longer one is cut while a call runs. */
function jsonReader(calls: Approved['calls'], screened: Screening, onEnd: () => void): AnswerReader {
  let chunks: Buffer[] = [];
  let length = 0;
  return {
    mayShorten: false,
    take(chunk) {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= MAX_HELD) return NOTHING;
      const held = Buffer.concat(chunks);
      chunks = [];
      return calls.isRunning() ? undefined : held;
    },
    end() {
      const isRunning = calls.isRunning();
      const whole = Buffer.concat(chunks);
      onEnd();
      // Decoded leniently, like an event below: clients decode so too (WHATWG Encoding, "UTF-8 decode").
      return !isRunning || length === 0 || screened(whole.toString(), true).isWhole ? whole : undefined;
    },
  };
}

function eventReader(calls: Approved['calls'], screened: Screening): AnswerReader {
  const splitter = eventSplitter();
  /** Whether the beginning of the event was passed on. Its rest is cut if a call runs. */
  let hasBegun = false;
  const passed = (event: Buffer): Buffer => (calls.isRunning() ? screenedEvent(event, screened) : event);
  return {
    mayShorten: true,
    take(chunk) {
      if (calls.isRunning() && hasBegun) return undefined;
      const events = splitter.take(chunk);
      if (events.length > 0) hasBegun = false;
      const parts = events.map(passed);
      if (splitter.held() > MAX_HELD) {
        if (calls.isRunning()) return undefined;
        parts.push(splitter.release());
        hasBegun = true;
      }
      return Buffer.concat(parts);
    },
    // The call does not end with the stream, because the client may resume it on another connection. Clients ignore an
    // event without the blank line at its end (HTML, "Server-sent events"), so it is dropped.
    end: () => (calls.isRunning() ? NOTHING : splitter.release()),
  };
}

/** The event without the requests in its data. */
function screenedEvent(event: Buffer, screened: Screening): Buffer {
  const { data, name, others } = readEvent(event.toString());
  if (data === undefined || /^\n*$/.test(data)) return event;
  const { isWhole, rest } = screened(data, /^(?:message)?$/.test(name));
  if (isWhole) return event;
  return rest === undefined ? NOTHING : writeEvent({ data: rest, others });
}
