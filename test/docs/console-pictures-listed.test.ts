/** docs/console-pictures.md shows every screen. test/long/docs/console-pictures.test.ts takes the pictures. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { screens } from '../../adapters/http/console/screens.ts';

const at = (path: string) => fileURLToPath(new URL(`../../docs/${path}`, import.meta.url));

describe('docs/console-pictures.md', () => {
  it('has a picture of each screen in both colours', async () => {
    const page = await readFile(at('console-pictures.md'), 'utf8');
    const expected = Object.keys(screens).flatMap((name) =>
      ['light', 'dark'].map((scheme) => `pictures/console-${name}-${scheme}.png`),
    );
    expect([...page.matchAll(/\]\((pictures\/[^)]+)\)/g)].map(([, path]) => path)).to.have.members(expected);
    for (const path of expected) expect(existsSync(at(path)), path).to.equal(true);
  });
});
