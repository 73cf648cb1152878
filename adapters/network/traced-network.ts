/**
 * Passes the trace of a request on to whoever is asked because of it (W3C Trace Context §3.2). `tracestate` ends here:
 * it may hold anything, and is for those who know each other.
 */

import type { Network } from '../../application/ports/network.ts';
import type { Tracing } from '../../application/ports/tracing.ts';
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
