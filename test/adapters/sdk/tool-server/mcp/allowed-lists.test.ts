/** `list: 'allowed'` in front of a server of the MCP SDK. The rules of messages and streams: `../core/allowed-list.test.ts`, `../guard/allowed-lists.test.ts`. */

import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { keepClaims, type TaskTokenClaims } from '../../../../../adapters/sdk/tool-server/core/claims.ts';
import { createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import {
  call,
  FRONTS,
  guardedForEachTest,
  incomingWith,
  rpc,
} from '../../../../support/tool-server/guarded-messages.ts';

const list = 'allowed';
const methods = { 'resources/list': { scope: ['jira:read'] }, 'resources/read': { scope: ['jira:comment'] } };

describe('A list of allowed tools', () => {
  const guarded = guardedForEachTest();
  const listed = async (scope: string, method = 'tools/list') => {
    const { text } = await guarded.send({ claims: { scope }, body: rpc(method) });
    const { result } = JSON.parse(text.replace(/^event: .*\ndata: /, ''));
    return (result.tools ?? result.resources).map(({ name }: { name: string }) => name);
  };

  for (const [where, options] of FRONTS) {
    it(`of a server ${where} names what the token may call now`, async () => {
      await guarded.start({ ...options, list, methods });
      const read = await listed('jira:read');
      expect(read).to.include('read_issue').and.not.include('comment').and.not.include('forgotten_tool');
      expect(await listed('jira:read jira:comment')).to.deep.equal([...read.slice(0, 1), 'comment', ...read.slice(1)]);
      expect(await listed('other')).to.deep.equal([]);
      expect(await listed('jira:read', 'resources/list')).to.deep.equal([]);
      expect(await listed('jira:read jira:comment', 'resources/list')).to.deep.equal(['board']);
    });
  }

  it('is refused a token that the policies of tools refuse for its actor, and the calls are too', async () => {
    await guarded.start({ list });
    const { text } = await guarded.send({ claims: { act: undefined }, body: rpc('tools/list') });
    expect(text).to.include('read_board').and.not.include('read_issue');
    const { status } = await guarded.send({ claims: { act: undefined }, body: call('read_issue') });
    expect(status).to.equal(401);
    expect(guarded.decided()).to.deep.equal([
      ['MCP tools/list', 'allow', null, 'ada'],
      ['read_issue', 'deny', 'no_actor', 'ada'],
    ]);
  });

  describe('in the library', () => {
    const toolServer = createToolServer({ issuer: 'https://mandate.test', audience: 'https://jira.test/mcp' });
    const tools = { read: { scope: ['jira:read'] } };
    const whole = '{"id":7,"result":{"tools":[{"name":"read"},{"name":"kill"}]}}';
    const cut = '{"id":7,"result":{"tools":[{"name":"read"}]}}';
    const warnings: string[] = [];
    const warned = (warning: Error & { readonly code?: string }) =>
      void warnings.push(`${warning.code} ${warning.message}`);
    beforeEach(() => {
      warnings.length = 0;
      process.on('warning', warned);
    });
    afterEach(() => void process.off('warning', warned));

    const answered = async (response: Response, authorized = true) => {
      const authInfo = { token: '', clientId: '', scopes: [] };
      const claims = { scope: ['jira:read'], act: { sub: 'agent:triage', depth: 1 } } as unknown as TaskTokenClaims;
      if (authorized) keepClaims(authInfo, claims);
      const { allowedLists } = mcpProtection(toolServer, { tools, list });
      const handler = allowedLists({ fetch: async () => response });
      return handler.fetch(new Request('https://jira.test/mcp'), { authInfo, parsedBody: rpc('tools/list') });
    };

    it('is cut in a new response, with its status and its other headers, and without its length', async () => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': String(whole.length), 'X-Other': '1' };
      const sent = new Response(whole, { status: 201, headers });
      const response = await answered(sent);
      expect([response.status, await response.text()]).to.deep.equal([201, cut]);
      expect([...response.headers]).to.deep.equal([
        ['content-type', 'application/json'],
        ['x-other', '1'],
      ]);
    });

    it('is cut in events, as each of them arrives', async () => {
      let send: (text: string) => void = () => undefined;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          send = (text) => controller.enqueue(Buffer.from(text));
        },
      });
      const response = await answered(new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }));
      const reader = response.body?.getReader();
      send(`data: ${whole}\n\nda`);
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.equal(`data: ${cut}\n\n`);
      await reader?.cancel();
    });

    it('that cannot be read is an error, with a warning', async () => {
      const long = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(3 << 20)),
      });
      const coded = new Response(whole, { headers: { 'Content-Encoding': 'gzip' } });
      for (const response of [coded, new Response(long), new Response('<html>')]) {
        const { id, error } = JSON.parse(await (await answered(response)).text());
        expect([id, error.code]).to.deep.equal([7, -32603]);
      }
      await setImmediate();
      const why = (reason: string) =>
        `MANDATE_UNREADABLE_LIST The lists in an answer of the MCP server cannot be cut, because ${reason}. The client gets an error in its place.`;
      expect(warnings).to.deep.equal(['it is compressed', 'it is too long', 'it is not JSON'].map(why));
    });

    it('that is compressed and has failed is an error too, and leaves no rejection that ends the process', async () => {
      const rejected: unknown[] = [];
      const note = (reason: unknown) => void rejected.push(reason);
      process.on('unhandledRejection', note);
      const cut = new ReadableStream({ start: (controller) => controller.error(new Error('ECONNRESET')) });
      const response = await answered(new Response(cut, { headers: { 'Content-Encoding': 'gzip' } }));
      expect(JSON.parse(await response.text()).error.code).to.equal(-32603);
      await setImmediate();
      process.off('unhandledRejection', note);
      expect(rejected).to.deep.equal([]);
    });

    it('is cut for no request without claims, and an answer without a body passes', async () => {
      let error: unknown;
      await answered(new Response(whole), false).catch((thrown) => {
        error = thrown;
      });
      expect(error).to.be.an('error');
      const accepted = new Response(null, { status: 202 });
      expect(await answered(accepted)).to.equal(accepted);
    });

    it('needs the handler: without it the guard answers no request', () => {
      const { guard } = mcpProtection(toolServer, { tools, list });
      const errors: unknown[] = [];
      guard(
        incomingWith(rpc('tools/list'), 'token'),
        { setHeader() {}, end() {} } as never,
        (error) => void errors.push(error),
      );
      expect(String(errors)).to.include("with list 'allowed', the server's handler is one that allowedLists returns");
    });

    it('is the server’s own without the option: the handler is the same', () => {
      const handler = { fetch: async () => new Response(whole) };
      expect(mcpProtection(toolServer, { tools }).allowedLists(handler)).to.equal(handler);
    });
  });
});
