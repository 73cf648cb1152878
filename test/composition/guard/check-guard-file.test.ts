/** The check of the guard's file, from its bytes to an exit code. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkGuardFile } from '../../../composition/guard/check-guard-file.ts';

const HEAD = 'issuer: https://mandate.example\naudience: https://jira.example\nmode: decide\n';
const route = (match: string) => `  - {match: ${match}, scope: [jira:read]}\n`;

describe("The check of the guard's file", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-guard-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  async function check(content: string | Uint8Array) {
    const file = join(folder, 'guard.yaml');
    writeFileSync(file, content);
    const { code, lines } = await checkGuardFile(file);
    return { code, lines: lines.map((line) => line.replace(`${folder}/`, '')) };
  }

  it('ends with 0 if the file can be used', async () => {
    expect(await check(`${HEAD}routes:\n${route('GET /a')}`)).to.deep.equal({ code: 0, lines: [] });
  });

  it('ends with 0, and names each overlap with its lines', async () => {
    const text = `${HEAD}routes:\n${route('GET /a/*')}${route('GET /a/b')}open: [GET /a/c, GET /d]\n`;
    expect(await check(text)).to.deep.equal({
      code: 0,
      lines: [
        'guard.yaml:6: GET /a/b overlaps GET /a/* in line 5, which wins.',
        'guard.yaml:7: GET /a/c overlaps GET /a/* in line 5, which wins.',
      ],
    });
  });

  it('ends with 2, and names every fault with its line', async () => {
    const text = `${HEAD}rout: 1\nroutes:\n${route('get /a')}`;
    const { code, lines } = await check(text);
    expect(code).to.equal(2);
    expect(lines.map((line) => line.slice(0, 36))).to.deep.equal([
      'guard.yaml:4: rout is not an option ',
      'guard.yaml:6: routes[0].match must b',
    ]);
  });

  const unusable: readonly (readonly [string, string | Uint8Array, string])[] = [
    ['of 10 MB', `${HEAD}#${'a'.repeat(10_000_000)}`, 'guard.yaml: Is longer than 4194304 bytes.'],
    ['that is empty', '# nothing\n', 'guard.yaml: Is empty.'],
    ['that is not UTF-8', Buffer.from([0x61, 0x3a, 0xff]), 'guard.yaml: Is not text in UTF-8.'],
    ['with an anchor', `${HEAD}routes: &a []\n`, 'guard.yaml:4: Has an anchor or an alias: this file may have none.'],
  ];
  for (const [what, content, line] of unusable) {
    it(`ends with 2 for a file ${what}`, async () => {
      expect(await check(content)).to.deep.equal({ code: 2, lines: [line] });
    });
  }

  it('ends with 2 for a file that does not exist', async () => {
    const { code, lines } = await checkGuardFile('/nowhere/guard.yaml');
    expect({ code, lines }).to.deep.equal({ code: 2, lines: ['/nowhere/guard.yaml: Cannot be read.'] });
  });
});
