/** The scenarios of `@modelcontextprotocol/conformance`: each that a server passes alone, it passes with the guard too. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { expect } from 'chai';
import type { ProxyConfiguration } from '../../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import { mcpProtection } from '../../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { packageProgram } from '../../../../../support/package-program.ts';
import { startBearingProxy } from '../../../../../support/tool-server/bearing-proxy.ts';
import {
  CONFORMANCE_METHODS,
  CONFORMANCE_TOOLS,
  startConformanceServer,
} from '../../../../../support/tool-server/conformance-server.ts';
import { planeForEachTest } from '../../../../../support/tool-server/control-plane.ts';
import { proxyConfiguration } from '../../../../../support/tool-server/proxied-upstream.ts';
import { serveGuard } from '../../../../../support/tool-server/served-guard.ts';

const PROGRAM = packageProgram('@modelcontextprotocol/conformance');
const LIMIT_MS = 240_000;

const POLICY = { scope: ['jira:read'] };
const policiesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, POLICY]));
const tools = policiesOf(CONFORMANCE_TOOLS);
const methods = policiesOf(CONFORMANCE_METHODS);

/** Each scenario, with its checks and what became of them. */
type Outcome = Readonly<Record<string, readonly string[]>>;

async function outcomeAt(url: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-conformance-'));
  try {
    const args = [PROGRAM, 'server', '--url', `${url}/mcp`, '--suite', 'all', '--output-dir', folder];
    // It ends with 1 if a scenario fails: the files say which.
    await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: LIMIT_MS }).catch(() => undefined);
    return Object.fromEntries(
      readdirSync(folder).map((name) => {
        const checks: { id: string; status: string; errorMessage?: string }[] = JSON.parse(
          readFileSync(join(folder, name, 'checks.json'), 'utf8'),
        );
        const scenario = name.replace(/^server-(.*?)-\d{4}-.*$/, '$1');
        return [scenario, checks.map(({ id, status, errorMessage = '' }) => `${status} ${id} ${errorMessage}`.trim())];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('The scenarios of the MCP conformance suite', function () {
  this.timeout(LIMIT_MS);
  const fixture = planeForEachTest();
  const { events } = fixture;
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  const kept = <Started extends { stop(): Promise<void> }>(started: Started): Started => {
    stops.push(() => started.stop());
    return started;
  };
  /** The scenarios have no token: one is added on the way. */
  const withToken = async (url: string) => kept(await startBearingProxy(url, () => fixture.plane.token())).url;
  const denied = () => events.filter(({ decision }) => decision === 'deny');

  it('pass with the guard as without it, and with the adapter of the library', async () => {
    const bare = kept(await startConformanceServer());
    const alone = await outcomeAt(await withToken(bare.url));
    expect(Object.keys(alone)).to.have.lengthOf(32);
    expect(
      Object.values(alone)
        .flat()
        .filter((check) => check.startsWith('FAILURE')),
    ).to.deep.equal([]);
    expect(events).to.deep.equal([]);

    const toolServer = fixture.toolServer();
    const mcp = { path: '/mcp', tools, methods };
    const guard = kept(
      await serveGuard(toolServer, proxyConfiguration(toolServer.issuer, bare.url, { routes: [], mcp })),
    );
    expect(await outcomeAt(await withToken(guard.url))).to.deep.equal(alone);
    expect(denied()).to.deep.equal([]);
    const routes = new Set(events.map(({ route }) => route));
    for (const route of ['MCP GET', 'MCP response', 'MCP resources/read', 'test_sampling']) {
      expect(routes.has(route), route).to.equal(true);
    }

    events.length = 0;
    const protection = mcpProtection(fixture.toolServer(), { tools, methods });
    const adapted = kept(await startConformanceServer([protection.guard]));
    expect(await outcomeAt(await withToken(adapted.url))).to.deep.equal(alone);
    expect(denied()).to.deep.equal([]);
    expect(events).not.to.deep.equal([]);
  });

  it('pass with lists of what the token may use, except those that use what no policy allows', async () => {
    const bare = kept(await startConformanceServer());
    const alone = await outcomeAt(await withToken(bare.url));
    const withLists = async (mcp: Pick<NonNullable<ProxyConfiguration['mcp']>, 'tools' | 'methods'>) => {
      const toolServer = fixture.toolServer();
      const of = { routes: [], mcp: { path: '/mcp', list: 'allowed', ...mcp } } as const;
      const guard = kept(await serveGuard(toolServer, proxyConfiguration(toolServer.issuer, bare.url, of)));
      return outcomeAt(await withToken(guard.url));
    };
    expect(await withLists({ tools, methods })).to.deep.equal(alone);
    const { test_simple_text: _tool, ...otherTools } = tools;
    const { 'prompts/get': _method, ...otherMethods } = methods;
    const fewer = await withLists({ tools: otherTools, methods: otherMethods });
    const differing = Object.keys(alone).filter((name) => !isDeepStrictEqual(alone[name], fewer[name]));
    expect(differing.sort()).to.deep.equal([
      'prompts-get-embedded-resource',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-with-image',
      'tools-call-simple-text',
    ]);
  });
});
