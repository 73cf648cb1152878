/**
 * Cuts the lists in one answer of the MCP server: a JSON body, or each server-sent event as it arrives. A JSON body is held to
 * its end, and an event to its blank line. All other messages pass byte for byte.
 */

import { readMarkedUtf8 } from '../../../../domain/tokens/strict-utf8.ts';
import { type CutText, cutText, type ListOfTools, type Unreadable, unreadableText } from './allowed-list.ts';
import type { AnswerReader } from './answer-reader.ts';
import { eventSplitter } from './event-splitter.ts';
import { isJsonText } from './json-text.ts';
import { readEvent, writeEvent } from './server-event.ts';
import type { MayUse } from './tool-policies.ts';

/** The most bytes of a JSON answer or of one event. */
const MAX_BYTES = 8 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
const JSON_TYPE = 'application/json';
/** What every client reads as JSON in UTF-8. */
const IS_JSON_IN_UTF8 = /^application\/json(?:; ?charset="?utf-8"?)?$/i;

/** The MCP server sent an answer of which nothing passes. */
export class UnreadableAnswer extends Error {
  constructor(why: Unreadable) {
    super(
      `The lists in an answer of the MCP server cannot be cut, because ${why}. The client gets an error in its place.`,
    );
  }
}

export interface ListsOfToken {
  readonly may: MayUse;
  /** Of the request; `undefined` without one. */
  readonly id: unknown;
  readonly report: (error: UnreadableAnswer) => void;
  readonly onTools: (result: ListOfTools) => void;
}

/** @param types the values of `Content-Type` */
export function listReader(lists: ListsOfToken, status: number, types: readonly string[]): AnswerReader {
  if (types.some((type) => /event-stream/i.test(type))) return eventReader(lists);
  const isMessage = (status >= 200 && status < 300) || types.some((type) => /json/i.test(type));
  return jsonReader(lists, isMessage, types);
}

/** The text for the client; `undefined` if it gets the one of the server. */
function passed({ may, id, report, onTools }: ListsOfToken, text: string | undefined): CutText | undefined {
  const cut = text === undefined ? unreadableText('it is not JSON', id) : cutText(text, may, id, onTools);
  if (cut?.unreadable !== undefined) report(new UnreadableAnswer(cut.unreadable));
  return cut;
}

function refused({ id, report }: ListsOfToken, why: Unreadable): string {
  report(new UnreadableAnswer(why));
  return unreadableText(why, id).text;
}

/** @param isMessage an answer of another status can be the page of a proxy, in which no client looks for a message */
function jsonReader(lists: ListsOfToken, isMessage: boolean, types: readonly string[]): AnswerReader {
  let chunks: Buffer[] = [];
  let length = 0;
  const isOver = () => length > MAX_BYTES;
  const isTyped = types.length === 1 && IS_JSON_IN_UTF8.test(types[0] ?? '');
  return {
    mayShorten: true,
    contentType: isMessage && !isTyped ? JSON_TYPE : undefined,
    take(chunk) {
      if (isOver()) return NOTHING;
      chunks.push(chunk);
      length += chunk.length;
      if (!isOver()) return NOTHING;
      chunks = [];
      return Buffer.from(refused(lists, 'it is too long'));
    },
    end() {
      if (isOver() || length === 0) return NOTHING;
      const whole = Buffer.concat(chunks);
      // `Response.json()` of clients removes a byte order mark.
      const text = readMarkedUtf8(whole);
      if (!isMessage && !isJsonText(text ?? '')) return whole;
      const cut = passed(lists, text);
      return cut === undefined ? whole : Buffer.from(cut.text);
    },
    isOver,
  };
}

/** Fields that clients know, and comments. A client could take another line for a message. */
const FIELD = /^(?:event|id|retry|)(?::|$)/;
/** What an event with an error keeps: the place at which a client resumes the stream. */
const KEPT_FIELD = /^(?:id|retry)(?::|$)/;

function eventReader(lists: ListsOfToken): AnswerReader {
  const splitter = eventSplitter();
  /** Whether the beginning of the event was too long. Its rest is dropped. */
  let isDropping = false;
  const errorEvent = (why: Unreadable) => writeEvent({ data: refused(lists, why), others: [] });
  const passedEvent = (event: Buffer): Buffer => {
    if (event.length > MAX_BYTES) return errorEvent('it is too long');
    const text = readMarkedUtf8(event);
    if (text === undefined) return errorEvent('it is not JSON');
    const { data, others } = readEvent(text);
    const known = others.filter((line) => FIELD.test(line));
    const cut = data === undefined || data.trim() === '' ? undefined : passed(lists, data);
    if (cut === undefined) return known.length === others.length ? event : writeEvent({ data, others: known });
    const kept = cut.unreadable === undefined ? known : known.filter((line) => KEPT_FIELD.test(line));
    return writeEvent({ data: cut.text, others: kept });
  };
  return {
    mayShorten: true,
    take(chunk) {
      const events = splitter.take(chunk);
      if (isDropping && events.length > 0) {
        events.shift();
        isDropping = false;
      }
      const parts = events.map(passedEvent);
      if (!isDropping && splitter.held() > MAX_BYTES) {
        isDropping = true;
        parts.push(errorEvent('it is too long'));
      }
      if (isDropping) splitter.release();
      return Buffer.concat(parts);
    },
    // Clients ignore an event without the blank line at its end (HTML, "Server-sent events"): its request would wait.
    end() {
      const rest = splitter.release();
      if (isDropping || rest.length === 0) return NOTHING;
      return /(?:^|[\r\n])\ufeff?data/.test(rest.toString()) ? errorEvent('it ends early') : NOTHING;
    },
  };
}
