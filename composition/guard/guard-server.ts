/** Starts the HTTP server of the service for the guard, with the limits that differ on purpose, each with its reason. */

import { type ServerLimits, type ServerLog, startHttpServer } from '../../adapters/http/server/server.ts';
import type { StartServer } from '../../adapters/sdk/tool-server/guard/guard.ts';

/** As of the service: a gateway notices a stop late. */
const LINGER_MS = 1000;

interface GuardServerOptions {
  /** How long a stop still accepts requests, in milliseconds. */
  readonly lingerMs?: number;
  /** For tests that do not wait as long as the guard. */
  readonly limits?: Partial<ServerLimits>;
}

export function guardServer(log: ServerLog, { lingerMs = LINGER_MS, limits }: GuardServerOptions = {}): StartServer {
  return async (at, { answer, requestMs }) => {
    const server = await startHttpServer(at, {
      log,
      listener: (request, response) => answer(request, response, false),
      limits: {
        // In the mode `proxy` an upload may take any time, unless its client sends nothing for a minute.
        requestMs,
        // A token of 16 KiB, and the other headers that a gateway passes on.
        headBytes: 32 * 1024,
        // A silent stream has no time limit. Its client may vanish without closing it, as a machine without power does.
        probeMs: 60_000,
        ...limits,
      },
      // The guard answers a malformed head itself: each of its refusals has the same form, and an event.
      refuse: (request, response) => answer(request, response, true),
    });
    return { address: server.address, stop: () => server.stop(lingerMs) };
  };
}
