/** What a start loads and when: each module that it need not load delays the moment when the service is ready. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { fromSource } from '../../scripts/from-source.ts';
import { loadedModules } from '../support/loaded-modules.ts';

const root = new URL('../../', import.meta.url);

/** The packages and the files of the program that these imports load. */
async function loadedBy(specifier: string): Promise<readonly string[]> {
  const loaded = await loadedModules(specifier, { cwd: fileURLToPath(root), options: fromSource });
  return loaded.map((url) => url.replace(root.href, '').replace(/\?.*$/, ''));
}

describe('A start of the service', function () {
  this.timeout(30_000);

  it('loads no parser of lines and not the service itself before its settings are read', async () => {
    // Without settings, `mandate` ends after it has read them. The exit code would fail the listing.
    const program = `await import('${new URL('composition/command-line.ts', root).href}'); process.exitCode = 0;`;
    const loaded = await loadedBy(`data:text/javascript,${encodeURIComponent(program)}`);
    expect(loaded).to.include('composition/settings/read-settings.ts');
    expect(loaded).not.to.include('composition/container.ts');
    expect(loaded.filter((url) => /node_modules\/(ajv|express|knex|pg|yaml|yargs)\//.test(url))).to.deep.equal([]);
  });

  it('loads no driver of SQLite and no query builder in the main thread', async () => {
    const loaded = await loadedBy(new URL('adapters/storage/sqlite/open.ts', root).href);
    expect(loaded).to.include('adapters/storage/sqlite/worker/rpc.ts');
    expect(loaded.filter((url) => url.includes('node_modules/'))).to.deep.equal([]);
  });
});
