/** Compares docs/status-lists.md with the code. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { checkOptions } from '../../adapters/sdk/tool-server/core/options.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const page = await readFile(at('docs/status-lists.md'), 'utf8');

describe('docs/status-lists.md', () => {
  it('lists every option of statusList with its default', () => {
    const { statusList } = checkOptions({
      issuer: 'https://mandate.example',
      audience: 'https://jira.example',
      statusList: {},
    });
    for (const [name, value] of Object.entries(statusList ?? {})) expect(page).to.include(`| \`${name}\` | ${value} |`);
  });

  it('has the promise, and the sizes that its script prints, up to the version of zlib', async function () {
    this.timeout(60_000);
    expect(page).to.include(
      'A kill is refused by every polling tool server within Ttl + maxAgeMs at worst, with one request per list and interval.',
    );
    const script = ['--import', './scripts/typescript-loader.mjs', 'scripts/bench/status-list-sizes.ts'];
    const { stdout } = await promisify(execFile)(process.execPath, script, { cwd: at('.') });
    const [head = '', rule = '', ...sizes] = stdout.trim().split('\n');
    const [, shown = ''] = page.split(`${head}\n${rule}\n`);
    const cells = (row = '') => [...row.replaceAll(',', '').matchAll(/\d+/g)].map(Number);
    const rows = shown.split('\n');
    for (const [nth, row] of sizes.entries()) {
      for (const [column, size] of cells(row).entries())
        expect(cells(rows[nth])[column]).to.be.closeTo(size, size / 50);
    }
    expect(sizes).to.have.length(3);
  });
});
