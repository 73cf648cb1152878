/** Compares docs/approvals.md with the code, and follows its commands. */

import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { refusalReasons } from '../../adapters/sdk/tool-server/core/refusal.ts';
import { MAX_LABEL, MAX_LINES, MAX_TITLE, MAX_VALUE } from '../../domain/approvals/approval-request.ts';
import { freePort } from '../../scripts/free-port.ts';
import { sqliteFile } from '../support/databases.ts';
import { startMandate } from '../support/mandate.ts';
import { root } from '../support/packed-packages.ts';
import { blocksOf } from '../support/pages/page.ts';
import { blocksRunBy } from '../support/pages/run-by.ts';
import { openTerminal, shownOutput } from '../support/pages/terminal.ts';

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
      `\`title\` has at most ${MAX_TITLE} characters. \`lines\` has at most ${MAX_LINES} entries`,
    );
    expect(words).to.include(`with at most ${MAX_LABEL} and ${MAX_VALUE} characters.`);
  });

  it('leads from a key to a payment that the person approved, with the outputs that it shows', async function () {
    this.timeout(120_000);
    const folder = await mkdtemp(join(tmpdir(), 'mandate-approvals-page-'));
    // The programs run as in a clone, and write their files elsewhere.
    const clone = (await readdir(root)).filter((name) => !name.startsWith('.'));
    for (const name of clone) await symlink(join(root, name), join(folder, name));
    const audience = `http://127.0.0.1:${await freePort()}`;
    const terminal = openTerminal(folder);
    const [makeKey, serve, pay] = blocksRunBy('test/docs/approvals.test.ts', 'docs/approvals.md').map(
      ({ text }) => text,
    );
    const blocks = blocksOf(page);
    const [asks, paid] = blocks.filter(({ language }) => language === 'text').map(({ text }) => text);
    const settings = blocks.find(({ text }) => text.startsWith('Service__'))?.text ?? '';
    try {
      await terminal.run(makeKey ?? '');
      const jwks = await readFile(join(folder, 'approval-jwks.json'), 'utf8');
      const mandate = await startMandate({
        database: sqliteFile,
        issuer: 'own-address',
        settings: Object.fromEntries(
          [...settings.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
            name.replaceAll('__', ':'),
            value.replace(/^\$\{APPROVAL_JWKS\}$/, () => jwks).replace('http://127.0.0.1:5200', audience),
          ]),
        ),
      });
      try {
        const here = (text = '') =>
          text
            .replaceAll('http://127.0.0.1:5100', mandate.issuer)
            .replaceAll('http://127.0.0.1:5200', audience)
            .replaceAll('PORT=5200', `PORT=${new URL(audience).port}`);
        const scope = 'payments:write';
        const agent = await mandate.agent({
          allowed_scopes: [scope],
          allowed_audiences: [audience],
          high_risk_audiences: [],
        });
        const issued = await agent.exchangeFor({ scope }, { scope, resource: audience });
        await terminal.run(`export TASK_TOKEN=${issued.body.access_token}`);
        await terminal.run(here(serve));
        const asked = await terminal.run(here(pay));
        expect(asked).to.match(shownOutput(here(asks)));
        const [, id = ''] = /approvals\/(approval_\w+)/.exec(asked) ?? [];
        expect(await mandate.approval(id)).to.deep.include({
          title: 'Pay 12 EUR',
          lines: [{ label: 'To', value: 'ACME Ltd' }],
        });
        expect(await mandate.answer(id, 'approve')).to.equal('granted');
        expect(await terminal.run(here(pay))).to.match(shownOutput(here(paid)));
        expect(await terminal.run(here(pay))).to.include('approval_spent');
        // No person is asked about what is no payment.
        const wrong = here(pay).replace('"amount":12', '"amount":"12"');
        expect(await terminal.run(wrong)).to.include('arguments_refused');
      } finally {
        await mandate.stop();
      }
    } finally {
      await terminal.close();
      await rm(folder, { recursive: true });
    }
  });
});
