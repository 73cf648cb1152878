/** The modules that each product loads, listed by a process that imports it. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { fromSource } from '../../../../scripts/from-source.ts';
import { loadedModules } from '../../../support/loaded-modules.ts';

const root = new URL('../../../../', import.meta.url);

async function loadedBy(path: string): Promise<readonly string[]> {
  const loaded = await loadedModules(new URL(path, root).href, { cwd: fileURLToPath(root), options: fromSource });
  return loaded.map((line) => line.replace(root.href, '').replace(/\?.*$/, ''));
}

describe('The product', () => {
  for (const [entry, own] of [
    ['adapters/sdk/tool-server/core/tool-server.ts', []],
    ['adapters/sdk/tool-server/express/express.ts', ['express']],
    ['adapters/sdk/tool-server/fastify/fastify.ts', ['fastify']],
    ['adapters/sdk/tool-server/mcp/mcp.ts', ['list-cutting', 'mcp', 'options']],
  ] as const) {
    it(`${entry} loads itself, jose and the token parts of the domain, and nothing of the service`, async () => {
      const loaded = await loadedBy(entry);
      expect(loaded).to.include(entry);
      const expected =
        /^(domain\/(agents|approvals|tasks|tokens|[\w-]+\.ts$)|node_modules\/jose\/|node:|adapters\/sdk\/(tool-server\/core\/)?[\w-]+\.ts$)/;
      const folder = entry.slice(0, entry.lastIndexOf('/'));
      expect(loaded.filter((url) => !expected.test(url))).to.have.members(own.map((name) => `${folder}/${name}.ts`));
    });
  }
});
