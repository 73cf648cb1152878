/** The author of a server learns which tools have no policy: of the library at the start, of the guard at the first list. */

import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { type McpProtectionOptions, mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { FORGOTTEN } from '../../../../support/tool-server/guarded-mcp.ts';
import { rpc } from '../../../../support/tool-server/guarded-messages.ts';
import { proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const SENTENCE = `Tools without a policy: ${FORGOTTEN}. Each call of them is refused as unknown_tool.`;
const list = rpc('tools/list');

describe('A tool without a policy', () => {
  const told: string[] = [];
  beforeEach(() => {
    told.length = 0;
  });

  describe('of the library', () => {
    const toolServer = createToolServer({ issuer: 'https://mandate.test', audience: 'https://jira.test/mcp' });
    const tools = { read_issue: { scope: ['jira:read'] } };
    const warned = (warning: Error & { readonly code?: string }) =>
      void told.push(`${warning.code} ${warning.message}`);
    beforeEach(() => void process.on('warning', warned));
    afterEach(() => void process.off('warning', warned));

    it('is named in a warning at the start, if the author names the tools', async () => {
      mcpProtection(toolServer, { tools, toolNames: ['read_issue', FORGOTTEN] });
      await setImmediate();
      expect(told).to.deep.equal([`MANDATE_TOOL_WITHOUT_POLICY ${SENTENCE}`]);
    });

    it('causes no warning if each named tool has a policy, or none is named', async () => {
      for (const toolNames of [undefined, [], ['read_issue']]) {
        mcpProtection(toolServer, { tools, ...(toolNames && { toolNames }) });
      }
      await setImmediate();
      expect(told).to.deep.equal([]);
    });

    it('is looked for in a list of texts alone', () => {
      for (const toolNames of ['read_issue', [7], ['']]) {
        const options = { tools, toolNames } as unknown as McpProtectionOptions;
        expect(() => mcpProtection(toolServer, options)).to.throw(TypeError, 'toolNames');
      }
    });
  });

  describe('behind the proxy of the guard', () => {
    const proxy = proxyForEachTest();
    const tools = { read_issue: { scope: ['jira:read'] } };
    const TYPE = ['Content-Type', 'application/json'] as const;
    const page = (names: readonly string[], more = {}) =>
      JSON.stringify({ jsonrpc: '2.0', id: 7, result: { tools: names.map((name) => ({ name })), ...more } });

    async function startWith(bodies: readonly (string | Buffer)[], headers: Readonly<Record<string, string>>) {
      const rest = [...bodies];
      return proxy.start(
        (request, response) => {
          request.resume().on('end', () => response.writeHead(200, headers).end(rest.shift()));
        },
        { routes: [], mcp: { path: '/mcp', tools, methods: {} } },
      );
    }
    const lists = async (url: string, times: number) => {
      for (let time = 0; time < times; time += 1)
        await rawRequest(`${url}/mcp`, 'POST', [proxy.bearer(), TYPE], JSON.stringify(list));
    };

    for (const [what, type, written] of [
      ['JSON', 'application/json', (text: string) => text],
      ['events', 'text/event-stream', (text: string) => `: open\n\nid: 1\ndata: ${text}\n\n`],
    ] as const) {
      it(`is named on standard error at the first list, of ${what}`, async () => {
        const url = await startWith(Array(2).fill(written(page(['read_issue', FORGOTTEN]))), { 'Content-Type': type });
        await lists(url, 2);
        expect(proxy.errors).to.deep.equal([SENTENCE]);
      });
    }

    it('is named on each page of a list, once, and a name that could write into the log is not repeated', async () => {
      const pages = [
        page(['read_issue', 'a'], { nextCursor: '2' }),
        page(['a', 'b', 'c\n{"level":"info"}']),
        page(['d']),
      ];
      await lists(await startWith(pages, { 'Content-Type': 'application/json' }), 3);
      expect(proxy.errors).to.deep.equal([
        'Tools without a policy: a. Each call of them is refused as unknown_tool.',
        'Tools without a policy: b, 1 more. Each call of them is refused as unknown_tool.',
      ]);
    });

    it('is not named in a list that the guard cannot read, or that is no list', async () => {
      const coded = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
      await lists(await startWith([gzipSync(page(['a']))], coded), 1);
      await proxy.stop();
      const others = ['', '[', '{"result":{"tools":{}}}', '{"result":{"tools":[null,7,{}]}}', '{"error":{"code":1}}'];
      await lists(await startWith(others, { 'Content-Type': 'application/json' }), others.length);
      expect(proxy.errors).to.deep.equal([]);
    });
  });
});
