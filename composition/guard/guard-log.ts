/** The guard's log, on standard error: standard output has one line for each decided request. */

import type { Writable } from 'node:stream';
import { reportError } from '../../adapters/telemetry/error-report.ts';
import { jsonLine, readableLine } from '../../adapters/telemetry/log-lines.ts';

type Fields = Readonly<Record<string, string | number | undefined>>;

export interface GuardLog {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  /** Of the error only class, code and stack are logged: its message may quote a request. */
  error(message: string, error?: unknown): void;
}

export function guardLog(stream: Writable & { readonly isTTY?: boolean } = process.stderr): GuardLog {
  // The reader has gone. There is nowhere to report it, and no reason to stop deciding.
  stream.on('error', () => undefined);
  const format = stream.isTTY === true ? readableLine : jsonLine;
  const write = (level: string, message: string, fields: Fields, cause?: ReturnType<typeof reportError>): void => {
    const timestamp = new Date().toISOString();
    stream.write(`${format({ level, message, timestamp, fields, cause })}\n`);
  };
  return {
    info: (message, fields = {}) => write('info', message, fields),
    warn: (message, fields = {}) => write('warn', message, fields),
    error: (message, error) => write('error', message, {}, error === undefined ? undefined : reportError(error)),
  };
}
