/** Every block of commands in a page is run by a test, or a comment above it says why none runs it. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/packed-packages.ts';
import { blocksOf, commandsOf, pages, pageText, unmarkedCommandsOf } from '../support/pages/page.ts';
import { RUN_BY } from '../support/pages/run-by.ts';

const onPage = (...blocks: readonly string[]) => blocks.map((block) => `${block}\n`).join('\n');
const HOW = 'add the test to test/support/pages/run-by.ts, or write <!-- not run by a test: … --> above the block';

describe('Every command of a page', () => {
  for (const page of pages) {
    it(`is run by a test or marked: ${page}`, () => {
      const run = unmarkedCommandsOf(page);
      const firstLines = run.map(({ text }) => text.split('\n')[0]).join('\n');
      const tests = RUN_BY[page] ?? [];
      const isRun = typeof tests === 'string' ? run.length > 0 : run.length === tests.length;
      expect(isRun, `${HOW}:\n${firstLines}\n`).to.equal(true);
    });
  }

  it('gives no option to npx before the first word for the program: npx takes it for its own', () => {
    const swallowed = pages.flatMap((page) => pageText(page).match(/npx (?:--\S+ )*[\w@][\w@/-]* +-.*/g) ?? []);
    expect(swallowed).to.deep.equal([]);
  });

  it('is run by a test that exists, on a page that exists', () => {
    for (const [page, tests] of Object.entries(RUN_BY)) {
      expect(pages).to.include(page);
      for (const test of [tests].flat()) expect(existsSync(join(root, test)), test).to.equal(true);
    }
  });

  it('is found in every kind of shell block, also in a list', () => {
    const shown = commandsOf(
      onPage('```sh\nls\n```', '1. A list:\n\n   ```bash\n   ls\n   ```', '```console\n$ ls\n```'),
    );
    expect(shown.map(({ text }) => text)).to.deep.equal(['ls\n', 'ls\n', '$ ls\n']);
  });

  it('is marked by a comment directly above its block, with a reason', () => {
    const page = onPage('<!-- not run by a test: needs Docker -->\n```sh\ndocker ps\n```', '```sh\nls\n```');
    expect(commandsOf(page).map(({ notRun }) => notRun)).to.deep.equal(['needs Docker', undefined]);
    const empty = '<!-- not run by a test: -->\n```sh\nls\n```\n';
    expect(commandsOf(empty).map(({ notRun }) => notRun)).to.deep.equal([undefined]);
  });

  it('is no assignment: those are settings, which other tests read', () => {
    const settings = pageText('docs/configuration.md');
    expect(blocksOf(settings).length).to.be.greaterThan(5);
    expect(commandsOf(settings)).to.deep.equal([]);
    for (const command of ['A=1 ls', 'A=$(ls)', 'A=1\nls', 'export A=1']) {
      expect(commandsOf(`\`\`\`sh\n${command}\n\`\`\`\n`), command).to.have.lengthOf(1);
    }
  });
});
