/** The log of a running service, by winston (decisions "How it runs"). */

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import winston from 'winston';
import type { Clock } from '../../application/ports/clock.ts';
import type { Log, LogFields } from '../../application/ports/log.ts';
import { toMillisecondText } from '../../domain/instant.ts';
import { batchedLines } from './batched-lines.ts';
import { reportError } from './error-report.ts';
import { jsonLine, readableLine } from './log-line.ts';

/** The methods of the port, from the gravest. */
const LEVELS = { error: 0, warn: 1, info: 2 } as const;

type LogLevel = keyof typeof LEVELS;

export interface LogOptions {
  readonly clock: Clock;
  /** Whether a person reads along: then lines are for people, else JSON. */
  readonly tty: boolean;
  /** The least grave level that is written. */
  readonly level?: LogLevel;
  readonly stream?: Writable;
}

export interface ClosableLog extends Log {
  /** Resolves once every line has left; what is logged afterwards is lost. The stream stays open. */
  close(): Promise<void>;
}

export function winstonLog({ clock, tty, level = 'info', stream = process.stdout }: LogOptions): ClosableLog {
  const format = tty ? readableLine : jsonLine;
  const timestamp = () => toMillisecondText(clock.now());
  const lines = batchedLines(stream, (lost) =>
    format({
      level: 'warn',
      message: 'log lines were lost',
      timestamp: timestamp(),
      fields: { lost },
      cause: undefined,
    }),
  );
  const logger = winston.createLogger({
    levels: LEVELS,
    level,
    // The line is complete when winston gets it: levels and transports are winston's, what a line says is ours.
    format: winston.format.printf((info) => String(info.message)),
    transports: [new winston.transports.Stream({ stream: lines, eol: '\n' })],
  });

  let closed = false;
  const write = (at: LogLevel, message: string, fields: LogFields = {}, cause?: { readonly thrown: unknown }): void => {
    // Winston would leave it out too, but only once it has been put into words.
    // What was under way when the log closed, such as a fetch, may still have something to say: nobody listens.
    if (closed || LEVELS[at] > LEVELS[level]) return;
    const report = cause === undefined ? undefined : reportError(cause.thrown);
    const line = { level: at, message, timestamp: timestamp(), fields, cause: report };
    logger.log({ level: at, message: format(line) });
  };

  return {
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, cause, fields) => write('error', message, fields, { thrown: cause }),
    async close() {
      closed = true;
      logger.end();
      await once(logger, 'finish');
      lines.end();
      await once(lines, 'finish');
    },
  };
}
