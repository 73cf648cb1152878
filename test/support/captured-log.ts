/** A log that keeps its lines, in the format that operators see. */

import type { Log, LogFields } from '../../application/ports/telemetry.ts';

export interface CapturedLog extends Log {
  readonly lines: string[];
}

export function capturedLog(): CapturedLog {
  const lines: string[] = [];
  const write = (level: string, message: string, fields: LogFields = {}) => {
    lines.push(JSON.stringify({ level, message, ...fields }));
  };
  return {
    lines,
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, cause, fields) =>
      write('error', message, { cause: cause instanceof Error ? cause.name : typeof cause, ...fields }),
  };
}
