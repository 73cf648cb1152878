/**
 * The guard: the tool-server library as a separate process, in front of a service in any language.
 *
 * `composition/guard` reads the text of the file, and hands in the HTTP server. configuration.ts has the fields of the file,
 * file-faults.ts checks them, and file-remarks.ts names what may be unintended. The mode answers requests:
 * decide-mode.ts answers a gateway that asks, and proxy-mode.ts passes on what is allowed. Both modes find the policy of a
 * request with guard-routes.ts, and let the library decide (`../core/tool-server.ts`).
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerRefusal, refusal } from '../core/refusal.ts';
import { createToolServer, type ToolServer, type ToolServerOptions } from '../core/tool-server.ts';
import { type ChangedOptions, changeToolServer } from '../core/tool-server-change.ts';
import { fixedChanges, type GuardConfiguration } from './configuration.ts';
import { reportingFetch } from './control-plane-fetch.ts';
import { decideMode } from './decide-mode.ts';
import type { UnshownCall } from './described-call.ts';
import type { GuardMode } from './guard-mode.ts';
import { proxyMode } from './proxy-mode.ts';
import type { ListenAddress } from './value-kinds.ts';

/** What the program gives the guard. */
export interface GuardSurroundings
  extends Required<Pick<ToolServerOptions, 'onAccess' | 'onError'>>,
    Pick<ToolServerOptions, 'now'> {
  readonly startServer: StartServer;
  /** Gets each call that no person is asked about, because the lines of the file cannot show it. */
  readonly onUnshown?: (call: UnshownCall) => void;
}

/** Listens, and serves the requests of each connection one after another. @throws the system's error if it cannot listen */
export type StartServer = (at: ListenAddress, handler: RequestHandler) => Promise<GuardServer>;

interface RequestHandler extends Pick<GuardMode, 'requestMs'> {
  /** As the mode, but never rejects. */
  answer(request: IncomingMessage, response: ServerResponse, isMalformed: boolean): void;
}

interface GuardServer {
  readonly address: ListenAddress;
  /** Finishes running requests, and closes every connection. What is running at the end, such as a stream, is cut. */
  stop(): Promise<void>;
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

/** @throws the system's error if it cannot listen on the address */
export async function startGuard(configuration: GuardConfiguration, surroundings: GuardSurroundings): Promise<Guard> {
  let used = configuration;
  let toolServer = toolServerOf(configuration, surroundings);
  const { onError, onUnshown, startServer } = surroundings;
  const named = ({ issuer, ...call }: UnshownCall): void => {
    onUnshown?.(typeof used.issuer === 'string' || issuer === undefined ? call : { ...call, issuer });
  };
  const mode = guardMode(toolServer, configuration, onError, named);
  const server = await startServer(configuration.listen, handlerOf(mode, onError));
  return {
    address: server.address,
    reload(next) {
      const fixed = fixedChanges(used, next);
      if (fixed.length > 0) return fixed;
      const isKept = used.audience === next.audience;
      const nextServer = isKept ? toolServer : toolServerOf(next, surroundings);
      // Before the mode, whose metadata lists the control planes.
      if (isKept) changeToolServer(nextServer, issuersOf(next, onError));
      mode.use(nextServer, next);
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
  onUnshown?: (call: UnshownCall) => void,
): GuardMode {
  switch (configuration.mode) {
    case 'decide':
      return decideMode(toolServer, configuration);
    case 'proxy':
      return proxyMode(toolServer, configuration, onError, onUnshown);
  }
}

/** Answers an unexpected fault with 500. Nothing can be added to an answer that has begun: its connection is cut. */
export function handlerOf(
  mode: Pick<GuardMode, 'answer' | 'requestMs'>,
  onError: (error: unknown) => void,
): RequestHandler {
  return {
    requestMs: mode.requestMs,
    answer(request, response, isMalformed) {
      mode.answer(request, response, isMalformed).catch((error: unknown) => {
        onError(error);
        if (response.headersSent) response.destroy();
        else answerRefusal(response, refusal('internal_error', ''));
      });
    },
  };
}

function toolServerOf(configuration: GuardConfiguration, { onAccess, onError, now }: GuardSurroundings): ToolServer {
  const { audience } = configuration;
  return createToolServer({ audience, onAccess, onError, ...issuersOf(configuration, onError), ...(now && { now }) });
}

/** The control planes, and the options that they share: what changes at a reload without another tool server. */
function issuersOf(
  { issuer, statusList, approvalKey }: GuardConfiguration,
  onError: GuardSurroundings['onError'],
): ChangedOptions {
  const common = { ...(statusList && { statusList }), ...(approvalKey && { approvalKey }) };
  const one = (name: string) => ({ issuer: name, fetch: reportingFetch(name, onError) });
  return typeof issuer === 'string' ? { ...common, ...one(issuer) } : { ...common, issuers: issuer.map(one) };
}
