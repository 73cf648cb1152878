/**
 * Adds the trace of a request to the requests that it causes (W3C Trace Context §3.2). `tracestate` is not forwarded:
 * it may contain any data of another vendor.
 */

import type { Network } from '../../application/ports/network.ts';
import type { Tracing } from '../../application/ports/telemetry.ts';
import { formatTraceparent } from '../../domain/traces/trace-context.ts';

export function tracedNetwork(network: Network, { current }: Pick<Tracing, 'current'>): Network {
  return {
    send(request) {
      const trace = current();
      if (trace === undefined) return network.send(request);
      return network.send({ ...request, headers: { ...request.headers, traceparent: formatTraceparent(trace) } });
    },
  };
}
