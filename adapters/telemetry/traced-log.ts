/** A log that adds the current trace, if there is one, to each line. */

import type { Log, LogFields, Tracing } from '../../application/ports/telemetry.ts';

export function tracedLog(log: Log, { current }: Pick<Tracing, 'current'>): Log {
  const traced = (fields: LogFields | undefined): LogFields | undefined => {
    const trace = current();
    return trace === undefined ? fields : { trace_id: trace.traceId, span_id: trace.spanId, ...fields };
  };
  return {
    info: (message, fields) => log.info(message, traced(fields)),
    warn: (message, fields) => log.warn(message, traced(fields)),
    error: (message, cause, fields) => log.error(message, cause, traced(fields)),
  };
}
