/** `npm run test:long` misses no suite that `npm test` cuts short. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('.', import.meta.url));
const suitesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
/** The calls that do less at the short length (support/length.ts). */
const TWO_LENGTHS = /\b(byLength|sampleByLength|tryEach)\(|\brepetitions\(\d+, \d+\)/;

describe('suites with two lengths', () => {
  const long = suitesIn('long');

  it('are all run at full length by a file of the same path in test/long', () => {
    const cutShort = suitesIn('.').filter((path) => !path.startsWith('long/') && TWO_LENGTHS.test(textOf(path)));
    expect(cutShort).to.include('system/races.test.ts');
    expect(long).to.include.members(cutShort);
  });

  it('are imported there after full-length.ts, which must run first', () => {
    for (const path of long) {
      const up = '../'.repeat(path.split('/').length);
      const thin = `import '${up}support/full-length.ts';\nimport '${up}${path}';\n`;
      const text = textOf(join('long', path));
      if (!text.includes('describe(')) expect(text, path).to.equal(thin);
    }
  });
});
