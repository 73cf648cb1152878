/**
 * The log of a running service, written with winston (supplement "How it runs"). log-lines.ts formats the lines,
 * error-report.ts takes the parts of an error that may be logged, outage-log.ts logs an outage once.
 *
 * The service reports in two more ways. Metrics are counted in service-metrics.ts and read in service-gauges.ts, and
 * Prometheus gets them from scrape-listener.ts. Spans are described in spans.ts, and opentelemetry.ts makes them.
 */

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import winston from 'winston';
import type { Clock } from '../../application/ports/runtime.ts';
import type { Log, LogFields } from '../../application/ports/telemetry.ts';
import { toMillisecondText } from '../../domain/instant.ts';
import { reportError } from './error-report.ts';
import { batchedLines, jsonLine, readableLine } from './log-lines.ts';

/** The methods of the port, most severe first. */
const LEVELS = { error: 0, warn: 1, info: 2 } as const;

type LogLevel = keyof typeof LEVELS;

export interface LogOptions {
  readonly clock: Clock;
  /** Whether a person reads the log. If so, lines are readable, else JSON. */
  readonly tty: boolean;
  /** The least severe level that is written. */
  readonly level?: LogLevel;
  readonly stream?: Writable;
}

export interface ClosableLog extends Log {
  /** Resolves when every line is written. Later lines are lost. The stream stays open. */
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
    // Winston gets complete lines. It only filters by level and writes.
    format: winston.format.printf((info) => String(info.message)),
    transports: [new winston.transports.Stream({ stream: lines, eol: '\n' })],
  });

  let closed = false;
  const write = (at: LogLevel, message: string, fields: LogFields = {}, cause?: { readonly thrown: unknown }): void => {
    // Winston would drop the line as well, but after formatting. Work that is under way when the log closes, for example a
    // fetch, may still log. Such lines are lost.
    if (closed || LEVELS[at] > LEVELS[level]) return;
    const report = cause === undefined ? undefined : reportError(cause.thrown);
    const line = { level: at, message, timestamp: timestamp(), fields, cause: report };
    logger.log({ level: at, message: format(line) });
  };

  return {
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, cause, fields) =>
      write('error', message, fields, cause === undefined ? undefined : { thrown: cause }),
    async close() {
      closed = true;
      logger.end();
      await once(logger, 'finish');
      lines.end();
      await once(lines, 'finish');
    },
  };
}
