/**
 * An error as a log may show it: its class, its code and where it was thrown. Never its message, which is written by
 * whoever throws: database drivers quote the row they choked on, parsers the text they were given.
 */

export interface ErrorReport {
  /** Of a thrown value that is no error, its type. */
  readonly class: string;
  readonly code?: string | number;
  /** `at …` lines, innermost first. */
  readonly stack?: readonly string[];
  readonly cause?: ErrorReport;
}

/** Deeper than a call comes through our own layers; the rest is the runtime's. */
const MAX_FRAMES = 20;
/** An adapter's error around a driver's around the system's, and one to spare. A chain may also be a ring. */
const MAX_CAUSES = 4;

/** SQLSTATE, SQLITE_BUSY, ECONNREFUSED, ERR_HTTP_HEADERS_SENT: words, and short. */
const CODE = /^\w{1,64}$/;
const CLASS = /^[\w$]{1,64}$/;
/** What V8 writes under the message: what was running, in names, then a place in a file or in Node itself. */
const FRAME =
  /^ +at (?:async )?(?:[\w$.<>[\]# ]+ \()?(?:(?:file:\/\/|node:|\/|[A-Z]:\\)[^\n()]*:\d+:\d+|<anonymous>|index \d+)\)?$/;

export function reportError(thrown: unknown): ErrorReport {
  try {
    return report(thrown, MAX_CAUSES);
  } catch {
    // A thrown proxy or a getter that throws in turn: there is nothing of it that can be read.
    return { class: 'unreadable' };
  }
}

function report(thrown: unknown, causes: number): ErrorReport {
  if (!(thrown instanceof Error)) return { class: thrown === null ? 'null' : typeof thrown };
  const code = codeOf(thrown);
  const stack = framesOf(thrown);
  return {
    class: classOf(thrown),
    ...(code === undefined ? {} : { code }),
    ...(stack.length === 0 ? {} : { stack }),
    ...(thrown.cause === undefined || causes === 0 ? {} : { cause: report(thrown.cause, causes - 1) }),
  };
}

function classOf(error: Error): string {
  const name: unknown = error.constructor?.name;
  return typeof name === 'string' && CLASS.test(name) ? name : 'Error';
}

function codeOf(error: Error): string | number | undefined {
  const code: unknown = 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return code;
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
}

/**
 * The stack begins with the message as it was when the error was made, which may have many lines, even some that look
 * like frames. What precedes the frames is cut off by the message itself; where that has been changed since (Knex puts
 * the query in front of it) the frames are what ends the stack.
 */
function framesOf(error: Error): readonly string[] {
  const stack: unknown = error.stack;
  const message: unknown = error.message;
  if (typeof stack !== 'string' || typeof message !== 'string') return [];
  const at = stack.indexOf(message);
  const lines = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
  const start = at === -1 ? lines.findLastIndex((line) => !FRAME.test(line)) + 1 : 0;
  return lines
    .slice(start)
    .filter((line) => FRAME.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
}
