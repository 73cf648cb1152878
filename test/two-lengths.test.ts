/** Checks that `npm run test:long` runs every suite that `npm test` shortens. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('.', import.meta.url));
const suitesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
/** Calls that make a suite shorter in `npm test` (support/length.ts). */
const TWO_LENGTHS = /\b(byLength|sampleByLength|tryEach)\(|\brepetitions\(\d+, \d+\)/;

describe('suites with two lengths', () => {
  const long = suitesIn('long');

  it('have a file of the same path in test/long, which runs them at full length', () => {
    const cutShort = suitesIn('.').filter((path) => !path.startsWith('long/') && TWO_LENGTHS.test(textOf(path)));
    expect(cutShort).to.include('system/races.test.ts');
    expect(long).to.include.members(cutShort);
  });

  it('are imported by that file after full-length.ts, which sets the length', () => {
    for (const path of long) {
      const up = '../'.repeat(path.split('/').length);
      const thin = `import '${up}support/full-length.ts';\nimport '${up}${path}';\n`;
      const text = textOf(join('long', path));
      if (!text.includes('describe(')) expect(text, path).to.equal(thin);
    }
  });
});
