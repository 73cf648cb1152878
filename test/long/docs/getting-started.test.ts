/**
 * Follows docs/getting-started.md from an empty folder: runs its commands, saves its files and compares the outputs.
 * Mandate's packages come from a registry on this machine, all others from the public one. The programs of the page,
 * such as psql, must be installed.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { eventually } from '../../support/eventually.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { startRegistry } from '../../support/local-registry.ts';
import { packEverything, root } from '../../support/packed-packages.ts';
import { blocksOf, pageText } from '../../support/pages/page.ts';
import { openTerminal, shownOutput } from '../../support/pages/terminal.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';

const PAGE = 'docs/getting-started.md';
/** Matches the places where a reader must save a linked file, a program of the page, or a token. */
const SAVED =
  /[Ss]ave \[[^\]]+\]\((?<file>[^)]+)\)|`(?<program>[\w-]+\.ts)`[^`]*:\n\n(?=```ts)|`(?<token>token\.txt)`/g;

describe(PAGE, () => {
  it('leads from an empty folder to a task ended by a kill switch and a verified ledger, with the outputs that it shows', async function () {
    this.timeout(1_200_000);
    const folder = await mkdtemp(join(tmpdir(), 'mandate-getting-started-'));
    const registry = await startRegistry(await packEverything(folder));
    const [provider, postgres] = await Promise.all([startIdentityProvider(), startPostgresServer()]);
    const terminal = openTerminal(await mkdtemp(join(folder, 'empty-')), {
      npm_config_registry: registry.url,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_cache: join(folder, 'npm-cache'),
      npm_config_userconfig: join(folder, 'no-npmrc'),
    });
    const ports = await Promise.all(['5100', '5200', '5300'].map(async (shown) => [shown, await freePort()] as const));
    const text = onThisMachine(pageText(PAGE), [
      ['http://127.0.0.1:5400', provider.issuer],
      ['127.0.0.1:5432', `127.0.0.1:${postgres.server.port}`],
      ...ports,
    ]);
    const { accessToken } = await provider.signIn('ada');
    try {
      let printed = '';
      const step = async (commands: string) => {
        printed = await terminal.run(commands);
      };
      const saved = [...text.matchAll(SAVED)].map(({ index, groups: { file, program } = {} }) => {
        const code = blocksOf(text).find(({ at }) => at > index)?.text ?? '';
        const [from, to] = program === undefined ? [accessToken, 'token.txt'] : [code, program];
        return {
          at: index,
          act: () => step(file ? `cp '${join(root, 'docs', file)}' .` : `cat > ${to} <<'SAVED'\n${from}\nSAVED`),
        };
      });
      // A provider of the test takes the place of the quickstart's, whose block is marked.
      const run = blocksOf(text).filter(({ notRun }) => notRun === undefined);
      const blocks = run.map(({ language, text: block, at }) => ({
        at,
        act: async () => {
          if (language === 'sh') await step(block);
          if (language === 'text') expect(printed, printed).to.match(shownOutput(block));
        },
      }));
      for (const { act } of [...saved, ...blocks].toSorted((one, other) => one.at - other.at)) await act();
      expect(blocks.length).to.be.greaterThan(20);
      for (const [, port] of ports)
        await eventually(() =>
          fetch(`http://127.0.0.1:${port}`).then(
            () => false,
            () => true,
          ),
        );
    } finally {
      await terminal.close();
      await Promise.all([provider.stop(), postgres.stop(), registry.stop()]);
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** The page with the addresses of this machine. @throws if the page lacks one of the shown addresses */
function onThisMachine(page: string, addresses: readonly (readonly [shown: string, real: string | number])[]): string {
  return addresses.reduce((text, [shown, real]) => {
    if (!text.includes(shown)) throw new Error(`The page does not have ${shown}`);
    return text.replaceAll(shown, String(real));
  }, page);
}
