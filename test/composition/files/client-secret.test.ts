import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadClientSecret } from '../../../composition/files/client-secret.ts';
import type { Settings } from '../../../composition/settings/settings.ts';

describe("The file of a client's secret", () => {
  const key = 'Service:Me:ClientSecret:Path';
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-client-secret-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const load = (content?: string | Uint8Array) => {
    const path = join(folder, 'secret');
    if (content !== undefined) writeFileSync(path, content);
    return loadClientSecret({ [key]: path } as Settings, key);
  };

  it('holds the secret, with or without a line break at its end', async () => {
    for (const text of ['sésame', 'sésame\n', 'sésame\r\n']) expect((await load(text))?.reveal()).to.equal('sésame');
  });

  for (const [what, content, problem] of [
    ['that does not exist', undefined, 'does not exist'],
    ['that is empty', '\n', 'holds no secret, or white space in it'],
    ['with two lines', 'a\nb', 'holds no secret, or white space in it'],
    ['with a byte order mark', '\ufeffsesame', 'holds no secret, or white space in it'],
    ['that is not UTF-8', Buffer.from('sésame', 'latin1'), 'is not UTF-8'],
  ] as const) {
    it(`is refused ${what}`, async () => {
      const error = await load(content).catch(String);
      expect(error).to.contain(`names a file that ${problem}. Accepted: a file that holds only the secret.`);
    });
  }
});
