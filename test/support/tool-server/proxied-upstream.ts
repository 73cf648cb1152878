/** The guard in its mode `proxy`, in front of a server of the test. */

import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import {
  FILE,
  type GuardConfiguration,
  type ProxyConfiguration,
} from '../../../adapters/sdk/tool-server/guard/configuration.ts';
import type { UnshownCall } from '../../../adapters/sdk/tool-server/guard/described-call.ts';
import { type Guard, startGuard } from '../../../adapters/sdk/tool-server/guard/guard.ts';
import { compileSchema } from '../../../adapters/sdk/tool-server/schema/compiled.ts';
import { closeServer, listen } from '../listening.ts';
import { AUDIENCE, planeForEachTest } from './control-plane.ts';
import { decideConfiguration, matchOf } from './decided-app.ts';
import { type GuardedApp, presentedHeaders } from './guarded-apps.ts';
import { serveGuard, startServer } from './served-guard.ts';

/** Every one of these needs the scope `jira:read`. */
export const readable = (...patterns: readonly string[]): GuardConfiguration['routes'] =>
  patterns.map((pattern) => ({ match: matchOf(pattern), scope: ['jira:read'] }));

export function proxyConfiguration(
  issuer: string,
  upstream: string,
  more: Partial<ProxyConfiguration> = {},
): GuardConfiguration {
  const least = FILE.read({ issuer, audience: AUDIENCE, mode: 'proxy', upstream });
  return {
    ...least,
    listen: { host: '127.0.0.1', port: 0 },
    routes: readable('GET /*', 'HEAD /*', 'POST /*', 'PUT /*', 'DELETE /*'),
    mode: 'proxy',
    upstream,
    upstreamTimeoutMs: 10_000,
    approvalKey: undefined,
    compileSchema,
    ...more,
  };
}

/** An app without a library, behind the proxy, with the policies of the web frameworks. */
export async function startProxiedApp(toolServer: ToolServer): Promise<GuardedApp> {
  const server = createServer(({ url, headers }, response) => {
    response.end(url === '/healthz' ? 'Healthy' : JSON.stringify(presentedHeaders(headers)));
  });
  const upstream = `http://127.0.0.1:${await listen(server)}`;
  const { routes, open } = decideConfiguration(toolServer.issuer);
  const guard = await serveGuard(toolServer, proxyConfiguration(toolServer.issuer, upstream, { routes, open }));
  return {
    url: guard.url,
    async stop() {
      await guard.stop();
      await closeServer(server);
    },
  };
}

/** The guard of each test, with a fake control plane. A test starts the guard, and with it the upstream. */
export function proxyForEachTest() {
  const fixture = planeForEachTest();
  const errors: string[] = [];
  const unshown: UnshownCall[] = [];
  const stopped: (() => Promise<void>)[] = [];
  let guard: Guard | undefined;

  beforeEach(() => {
    errors.length = 0;
    unshown.length = 0;
  });
  async function stop(): Promise<void> {
    const running = guard;
    guard = undefined;
    await running?.stop();
  }
  afterEach(async () => {
    await stop();
    for (const stop of stopped.splice(0)) await stop();
  });

  /** A server that answers bytes. @returns its origin */
  async function upstreamOfBytes(onConnection: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      onConnection(socket);
    });
    const port = await listen(server);
    stopped.push(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    });
    return `http://127.0.0.1:${port}`;
  }

  /** @returns its origin */
  async function upstreamOf(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    const port = await listen(server);
    stopped.push(() => closeServer(server));
    return `http://127.0.0.1:${port}`;
  }

  /** @param upstream an origin, or the server's handler */
  async function start(upstream: string | RequestListener, more: Partial<ProxyConfiguration> = {}): Promise<string> {
    const origin = typeof upstream === 'string' ? upstream : await upstreamOf(upstream);
    guard = await startGuard(proxyConfiguration(fixture.plane.issuer, origin, more), {
      onAccess: (event) => void fixture.events.push(event),
      onError: (error) => void errors.push(error instanceof Error ? error.message : String(error)),
      onUnshown: (call) => void unshown.push(call),
      startServer,
    });
    return `http://127.0.0.1:${guard.address.port}`;
  }

  return {
    events: fixture.events,
    errors,
    unshown,
    start,
    stop,
    upstreamOf,
    upstreamOfBytes,
    /** A tool server of the library, for the same control plane. */
    library: fixture.toolServer,
    bearer: (claims = {}) => ['Authorization', `Bearer ${fixture.plane.token(claims)}`] as const,
    get issuer() {
      return fixture.plane.issuer;
    },
    get plane() {
      return fixture.plane;
    },
    get guard() {
      if (guard === undefined) throw new Error('No guard is running.');
      return guard;
    },
    decided: () => fixture.events.map(({ route, decision, reason }) => [route, decision, reason]),
  };
}
