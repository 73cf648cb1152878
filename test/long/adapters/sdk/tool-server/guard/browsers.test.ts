/** A script in a browser, as an MCP client of another origin, in front of the guard: what it can read, and what it cannot. */

import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { expect } from 'chai';
import { browse, closeBrowser } from '../../../../../support/browser.ts';
import { closeServer, listen } from '../../../../../support/listening.ts';
import { matchOf } from '../../../../../support/tool-server/decided-app.ts';
import { call, initialize } from '../../../../../support/tool-server/guarded-messages.ts';
import { proxyForEachTest } from '../../../../../support/tool-server/proxied-upstream.ts';

/** What `fetch` of a page resolves with, as far as the browser shows it; the name of the error otherwise. */
type Seen = { readonly status: number; readonly headers: Record<string, string> } | string;

describe('A script of another origin', function () {
  this.timeout(60_000);
  const proxy = proxyForEachTest();
  const pages = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<p>Client'));
  let origin: string;
  before(async () => {
    origin = `http://localhost:${await listen(pages)}`;
  });
  after(async () => {
    await closeBrowser();
    await closeServer(pages);
  });

  /** An MCP server that lets the page's origin call it, as its own documentation says. */
  const server: RequestListener = (request, response) => {
    response
      .setHeader('Access-Control-Allow-Origin', origin)
      .setHeader('Access-Control-Expose-Headers', 'Mcp-Session-Id');
    if (request.method === 'OPTIONS') {
      response.setHeader('Access-Control-Allow-Headers', 'authorization, content-type, mcp-session-id');
      response.writeHead(204).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 'one' }).end('{}');
  };
  const mcp = { path: '/mcp', tools: { read: { scope: ['jira:read'] } }, methods: {} };

  async function script(url: string): Promise<(message: object, headers?: Record<string, string>) => Promise<Seen>> {
    const context = await browse();
    const page = await context.newPage();
    await page.goto(origin);
    return (message, headers = {}) =>
      page.evaluate(
        async ({ url, body, headers }) => {
          try {
            const answer = await fetch(url, {
              method: 'POST',
              headers: { 'Content-Type': 'application/json', ...headers },
              body,
            });
            return { status: answer.status, headers: Object.fromEntries(answer.headers) };
          } catch (error) {
            return (error as Error).name;
          }
        },
        { url: `${url}/mcp`, body: JSON.stringify(message), headers },
      );
  }
  const token = (claims = {}) => ({ Authorization: proxy.bearer(claims)[1] });

  it('finds where to get a token, begins a session, calls a tool, and learns which scope it lacks', async () => {
    const send = await script(
      await proxy.start(server, { mcp, open: [matchOf('OPTIONS /mcp')], origins: new Set([origin]) }),
    );
    const stranger = await send(initialize);
    expect(stranger).to.have.property('status', 401);
    expect(stranger).to.have.nested.property('headers.www-authenticate').that.includes('resource_metadata=');
    const begun = await send(initialize, token());
    expect(begun).to.have.property('status', 200);
    const session = typeof begun === 'string' ? '' : (begun.headers['mcp-session-id'] ?? '');
    expect(session).to.match(/^one\./);
    const called = await send(call('read'), { ...token(), 'Mcp-Session-Id': session });
    expect(called).to.have.property('status', 200);
    const lacking = await send(call('read'), token({ scope: 'jira:comment' }));
    expect(lacking).to.have.property('status', 403);
    expect(lacking).to.have.nested.property('headers.www-authenticate').that.includes('scope="jira:read"');
    expect(await send(call('read'), { ...token(), 'Mcp-Session-Id': 'one.forged' })).to.have.property('status', 404);
  });

  it('reads nothing of a refusal without origins, and reaches nothing without an open preflight', async () => {
    const closed = await script(await proxy.start(server, { mcp, open: [matchOf('OPTIONS /mcp')] }));
    expect(await closed(initialize)).to.equal('TypeError');
    expect(await closed(initialize, token())).to.have.property('status', 200);
    await proxy.stop();
    const hidden = await script(await proxy.start(server, { mcp, origins: new Set([origin]) }));
    expect(await hidden(initialize, token())).to.equal('TypeError');
  });
});
