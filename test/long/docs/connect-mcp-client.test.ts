/** Runs the program of docs/connect-mcp-client.md as the page has it: a person starts its task in the browser. */

import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { type Door, oidcProvider } from '../../support/clients/doors.ts';
import { allowByScript } from '../../support/clients/person.ts';
import { fieldsOf, JIRA } from '../../support/mandate.ts';
import { root } from '../../support/packed-packages.ts';
import { blocksOf, pageText } from '../../support/pages/page.ts';

const PAGE = 'docs/connect-mcp-client.md';

describe(`${PAGE}, "With a key"`, function () {
  this.timeout(60_000);
  let door: Door;
  let folder: string;

  before(async () => {
    // Only a key authenticates here, and each step has its own record.
    door = await oidcProvider.start({
      'Service:Authorize:PublicClients': 'false',
      'Service:Authorize:Registration': 'off',
      'Service:Audit:Aggregation:Enabled': 'false',
    });
    folder = await mkdtemp(join(tmpdir(), 'connect-mcp-client-'));
    // The program imports the packages that are installed here.
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  });
  after(async () => {
    await door.stop();
    await rm(folder, { recursive: true });
  });

  it('starts a task that the person allowed, renews its token and ends it', async () => {
    const { mandate } = door;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const [keyFile, program] = [join(folder, 'agent.pem'), join(folder, 'program.mjs')];
    await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const { id } = await mandate.agent({
      jwks: { keys: [publicKey.export({ format: 'jwk' })] },
      redirect_uris: ['http://127.0.0.1/callback'],
    });
    const [block, ...others] = blocksOf(pageText(PAGE)).filter(({ language }) => language === 'js');
    expect(others).to.deep.equal([]);
    await writeFile(program, block?.text ?? '');

    const lines = await mandate.recorded(async () => {
      const environment = { MANDATE_ISSUER: mandate.issuer, AGENT_ID: id, KEY_FILE: keyFile, RESOURCE: JIRA };
      const running = spawn(process.execPath, [program], {
        env: { ...process.env, ...environment },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const output = createInterface({ input: running.stdout })[Symbol.asyncIterator]();
      const { value: first = '' } = await output.next();
      const [, address = ''] = /^Open: (\S+)$/.exec(String(first)) ?? [];
      const answer = await fetch(await allowByScript(mandate, address));
      expect(await answer.text()).to.equal('You can close this window.');
      expect((await output.next()).value).to.equal('Scope: jira:read');
      expect(await once(running, 'exit')).to.deep.equal([0, null]);
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
      ['authorization.allowed', null],
      ['token.issued', null],
      ['task.authorized', null],
      ['token.refreshed', null],
      ['task.revoked', 'client_revoked'],
    ]);
  });
});
