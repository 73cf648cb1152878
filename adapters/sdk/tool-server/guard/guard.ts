/**
 * The guard: the tool-server library as a separate process, in front of a service in any language.
 *
 * `composition/guard` reads the text of the file. configuration.ts checks it, file-remarks.ts names what may be unintended in
 * it, and read-configuration.ts makes typed members of it. guard-server.ts accepts requests. The mode answers them:
 * decide-mode.ts answers a gateway that asks, and proxy-mode.ts passes on what is allowed. Both modes find the policy of a
 * request with guard-routes.ts, and let the library decide (`../core/tool-server.ts`).
 */

import { isDeepStrictEqual } from 'node:util';
import { createToolServer, type ToolServer, type ToolServerOptions } from '../core/tool-server.ts';
import { type ChangedOptions, changeToolServer } from '../core/tool-server-change.ts';
import { reportingFetch } from './control-plane-fetch.ts';
import { decideMode } from './decide-mode.ts';
import type { GuardMode } from './guard-mode.ts';
import { type StopTimes, startGuardServer } from './guard-server.ts';
import { proxyMode } from './proxy-mode.ts';
import type { GuardConfiguration, ListenAddress } from './read-configuration.ts';

/** What the program gives the guard. */
export interface GuardSurroundings
  extends Required<Pick<ToolServerOptions, 'onAccess' | 'onError'>>,
    Pick<ToolServerOptions, 'now'> {
  /** The times of a stop; those of the service when absent. */
  readonly stopping?: StopTimes;
}

export interface Guard {
  readonly address: ListenAddress;
  /**
   * Uses another configuration from now on. Requests under way end under the earlier one.
   *
   * @returns the fields that cannot change while the guard runs. If there are any, nothing has changed
   */
  reload(configuration: GuardConfiguration): readonly string[];
  /** Finishes running requests, and closes every connection. */
  stop(): Promise<void>;
}

/** The fields that need a new process, by the names of the file. */
const FIXED = { listen: 'listen', mode: 'mode', metricsPort: 'metrics_port' } as const;

/** @throws the system's error if it cannot listen on the address */
export async function startGuard(configuration: GuardConfiguration, surroundings: GuardSurroundings): Promise<Guard> {
  let used = configuration;
  let toolServer = toolServerOf(configuration, surroundings);
  const { onError, stopping } = surroundings;
  const mode = guardMode(toolServer, configuration, onError);
  const server = await startGuardServer(configuration.listen, {
    answer: (request, response) => mode.answer(request, response),
    isAmbiguous: (request) => mode.isAmbiguous(request),
    onError,
    requestTimeoutMs: mode.requestTimeoutMs,
    ...(stopping && { stopping }),
  });
  return {
    address: server.address,
    reload(next) {
      const fixed = Object.entries(FIXED).filter(([member]) => !isSame(used, next, member as keyof typeof FIXED));
      if (fixed.length > 0) return fixed.map(([, field]) => field);
      const isKept = isSame(used, next, 'issuer') && isSame(used, next, 'audience');
      const nextServer = isKept ? toolServer : toolServerOf(next, surroundings);
      mode.use(nextServer, next);
      changeToolServer(nextServer, changeableOf(next));
      [used, toolServer] = [next, nextServer];
      return [];
    },
    async stop() {
      await server.stop();
      mode.close();
    },
  };
}

/**
 * The mode that the configuration names.
 *
 * @param onError gets one error for each fault of the upstream
 * @throws TypeError for rules that are invalid
 */
export function guardMode(
  toolServer: ToolServer,
  configuration: GuardConfiguration,
  onError: (error: Error) => void,
): GuardMode {
  switch (configuration.mode) {
    case 'decide':
      return decideMode(toolServer, configuration);
    case 'proxy':
      return proxyMode(toolServer, configuration, onError);
  }
}

function toolServerOf(configuration: GuardConfiguration, { onAccess, onError, now }: GuardSurroundings): ToolServer {
  const { issuer, audience } = configuration;
  const fetch = reportingFetch(issuer, onError);
  const changeable = changeableOf(configuration);
  return createToolServer({ issuer, audience, onAccess, onError, fetch, ...changeable, ...(now && { now }) });
}

/** What changes at a reload without another tool server. */
function changeableOf(configuration: GuardConfiguration): ChangedOptions {
  const { statusList } = configuration;
  const approvalKey = configuration.mode === 'proxy' ? configuration.approvalKey : undefined;
  return { ...(statusList && { statusList }), ...(approvalKey && { approvalKey }) };
}

function isSame(one: GuardConfiguration, other: GuardConfiguration, member: keyof GuardConfiguration): boolean {
  return isDeepStrictEqual(one[member], other[member]);
}
