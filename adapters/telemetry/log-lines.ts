/** Formats log lines, and writes them to a stream. */

import { Writable } from 'node:stream';
import { visibleJson } from '../../domain/visible.ts';
import type { ErrorReport } from './error-report.ts';

interface LogEntry {
  readonly level: string;
  readonly message: string;
  /** UTC ISO 8601, three fractional digits. */
  readonly timestamp: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly cause: ErrorReport | undefined;
}

/** The members that every line has. A field must not have their names. */
const RESERVED = new Set(['level', 'message', 'timestamp', 'cause']);

/** Text that JSON writes without escapes, as nearly all text in a log. */
const PLAIN = /^[\w /.:-]*$/;

/**
 * JSON for machines (supplement "How it runs": `level`, `message`, `timestamp`, fields). Written without a general
 * serializer, because each request writes a line. Fields are plain values, so most checks of a serializer are unnecessary.
 */
export function jsonLine({ level, message, timestamp, fields, cause }: LogEntry): string {
  let line = `{"level":"${level}","message":${quoted(message)},"timestamp":"${timestamp}"`;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    // A field with a reserved name gets an underscore, because parsers differ about repeated members.
    if (value !== undefined) line += `,${quoted(RESERVED.has(name) ? `${name}_` : name)}:${json(value)}`;
  }
  if (cause !== undefined) line += `,"cause":${json(cause)}`;
  return `${line}}`;
}

/** One line for people at a terminal. */
export function readableLine({ level, message, timestamp, fields, cause }: LogEntry): string {
  let line = `${timestamp.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${bare(message)}`;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value !== undefined) line += ` ${bare(name)}=${typeof value === 'string' ? bare(value) : json(value)}`;
  }
  for (let each = cause; each !== undefined; each = each.cause) {
    const code = each.code === undefined ? '' : ` (${each.code})`;
    line += `\n    ${each === cause ? '' : 'caused by '}${each.class}${code}`;
    for (const frame of each.stack ?? []) line += `\n        ${frame}`;
  }
  return line;
}

/** Plain text stays as it is. Other text gets quotes, so that it cannot pass for another part of the line. */
function bare(text: string): string {
  return /^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(text) && !text.includes('=') ? text : quoted(text);
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : visibleJson(JSON.stringify(text));
}

/** Never throws: a value that JSON cannot represent is replaced by a fixed text. */
function json(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'boolean':
      return String(value);
    case 'object':
      try {
        return visibleJson(JSON.stringify(value));
      } catch {
        return '"[unserialisable]"';
      }
    default:
      return '"[unserialisable]"';
  }
}

/**
 * About a minute of log lines of a busy service. If the stream is not read for longer, the service drops log lines instead
 * of running out of memory. The ledger still has the decisions.
 */
const MAX_BACKLOG_BYTES = 32 * 1024 * 1024;

/**
 * Writes log lines to a stream. The lines of one event loop turn share a write, and no request waits for it.
 *
 * @param notice formats a line with the number of lost lines, for when the stream is read again
 */
export function batchedLines(destination: Writable, notice: (lost: number) => string): Writable {
  let batch = '';
  let lost = 0;
  // The stream's reader has gone (EPIPE). There is nowhere to report it, and no reason to stop serving.
  destination.on('error', () => {});

  const take = (): string => {
    const lines = batch;
    batch = '';
    return lines;
  };

  const flush = (): void => {
    const lines = take();
    if (lines !== '' && destination.writable) destination.write(lines);
  };

  const add = (line: string): void => {
    if (destination.writableLength + batch.length > MAX_BACKLOG_BYTES) {
      lost += 1;
      return;
    }
    if (batch === '') setImmediate(flush);
    if (lost > 0) batch += `${notice(lost)}\n`;
    lost = 0;
    batch += line;
  };

  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      add(line);
      done();
    },
    /** Resolves when the destination has taken all lines. It stays open, because it belongs to the caller. */
    final(done) {
      const lines = take();
      if (destination.writable) destination.write(lines, () => done());
      else done();
    },
  });
}
