/**
 * The parts of an error that may be logged: its class, its code and its stack frames. Its message is never logged:
 * database drivers quote the failing row there, and parsers their input.
 */

export interface ErrorReport {
  /** The error's class. For a thrown value that is no error, its type. */
  readonly class: string;
  readonly code?: string | number;
  /** `at …` lines, innermost first. */
  readonly stack?: readonly string[];
  readonly cause?: ErrorReport;
}

/** Deeper than the calls through all layers of Mandate. Further frames belong to the runtime. */
const MAX_FRAMES = 20;
/** An adapter's error, a driver's, the system's, and one more. A chain of causes may be circular. */
const MAX_CAUSES = 4;

/** For example SQLSTATE, SQLITE_BUSY, ECONNREFUSED, ERR_HTTP_HEADERS_SENT. Other text is not logged. */
const CODE = /^\w{1,64}$/;
const CLASS = /^[\w$]{1,64}$/;
/** A stack frame of V8: a function name, then a position in a file or in Node. */
const FRAME =
  /^ +at (?:async )?(?:[\w$.<>[\]# ]+ \()?(?:(?:file:\/\/|node:|\/|[A-Z]:\\)[^\n()]*:\d+:\d+|<anonymous>|index \d+)\)?$/;

export function reportError(thrown: unknown): ErrorReport {
  try {
    return report(thrown, MAX_CAUSES);
  } catch {
    // The thrown value is a proxy, or has a getter that throws: nothing of it can be read.
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
 * The stack begins with the original message, whose lines may look like frames. The message's length tells where the
 * frames begin. If the message was changed later (Knex prepends the query), the frames are the last matching lines.
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
