/** Compares docs/approvals.md with the code. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { refusalReasons } from '../../adapters/sdk/tool-server/core/refusal.ts';
import { MAX_LABEL, MAX_LINES, MAX_TITLE, MAX_VALUE } from '../../domain/approvals/approval-request.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const page = await readFile(at('docs/approvals.md'), 'utf8');

describe('docs/approvals.md', () => {
  it('shows only lines of the examples', async () => {
    const shown = [...page.matchAll(/^<!-- from (\S+) -->\n```\w+\n(.*?)^```$/gms)];
    expect(shown).not.to.have.lengthOf(0);
    for (const [, name = '', code = ''] of shown) {
      const example = await readFile(at(name), 'utf8');
      for (const line of code.split('\n').filter((text) => text.trim() !== '')) expect(example).to.include(`${line}\n`);
    }
  });

  it('names every answer of a tool server, and the limits of a description', () => {
    for (const reason of refusalReasons.filter((one) => one.startsWith('approval_')))
      expect(page).to.include(`\`${reason}\``);
    const words = page.replaceAll(/\s+/g, ' ');
    expect(words).to.include(
      `\`title\` has at most ${MAX_TITLE} characters, \`lines\` has at most ${MAX_LINES} entries`,
    );
    expect(words).to.include(`with at most ${MAX_LABEL} and ${MAX_VALUE},`);
  });
});
