/** Compares docs/examples/README.md with the examples, and starts the tool servers as it says. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startExample } from '../support/example-process.ts';
import { byLength } from '../support/length.ts';
import { answering } from '../support/loopback.ts';
import { makeSigningKey } from '../support/signing-key.ts';
import { AUDIENCE, startFakeControlPlane } from '../support/tool-server/control-plane.ts';

const folder = new URL('../../docs/examples/', import.meta.url);
const page = readFileSync(new URL('README.md', folder), 'utf8');
const programs = readdirSync(folder).filter((name) => /\.(?:ts|py|go)$/.test(name));

/** How a program of each language reads a variable, with the name as the group. */
const READS = {
  py: /os\.environ(?:\.get\(|\[)"(\w+)"/g,
  go: /os\.Getenv\("(\w+)"\)/g,
};

function variablesOf(name: string): readonly string[] {
  const source = readFileSync(new URL(name, folder), 'utf8');
  const reads = name.endsWith('.py') ? READS.py : READS.go;
  if (!name.endsWith('.ts')) return [...source.matchAll(reads)].map(([, variable = '']) => variable);
  return [...source.matchAll(/const \{ (.*) \} = process\.env;/g)].flatMap(([, names = '']) =>
    names.split(', ').map((one) => one.replace(/ = .*/, '')),
  );
}

describe('docs/examples/README.md', () => {
  const keyFolder = mkdtempSync(join(tmpdir(), 'mandate-examples-'));
  after(() => rmSync(keyFolder, { recursive: true }));

  it('lists every program with the variables that it reads', () => {
    const rows = [...page.matchAll(/^\| \[([\w-]+\.\w+)\]\(\1\) \| (.*?) \|/gm)];
    expect(rows.map(([, name]) => name)).to.have.members(programs);
    for (const [, name = '', cell = ''] of rows) {
      expect([...new Set(cell.match(/[A-Z_]{4,}/g))], name).to.have.members(variablesOf(name));
    }
  });

  const toolServers = programs.filter((one) => one.endsWith('-tool-server.ts'));
  // The compiler checks what all import.
  for (const name of byLength({ short: ['mcp-tool-server.ts'], full: toolServers })) {
    it(`runs ${name} with tsx on this Node`, async function () {
      this.timeout(60_000);
      const keyFile = join(keyFolder, 'key.json');
      writeFileSync(keyFile, JSON.stringify((await makeSigningKey('ES256')).privateJwk));
      const own = { MANDATE_ISSUER: 'http://127.0.0.1:9', AUDIENCE: 'https://jira.example' };
      const environment = { ...own, ...(name.startsWith('approvals') && { APPROVAL_KEY: keyFile }) };
      const { url, stop } = await startExample(name, environment);
      try {
        const { status } = await fetch(`${url}/${name.startsWith('mcp') ? 'mcp' : 'issues/OPS-7'}`, { method: 'POST' });
        expect(status, 'without a token').to.equal(401);
      } finally {
        await stop();
      }
    });
  }

  it('approvals-jose-tool-server.ts goes on after an answer of the control plane that it cannot pass on', async function () {
    this.timeout(60_000);
    const plane = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
    plane.answerApproval = answering({ state: 'pending', interval: 'a\nb' });
    const keyFile = join(keyFolder, 'key.json');
    writeFileSync(keyFile, JSON.stringify((await makeSigningKey('ES256')).privateJwk));
    const environment = { MANDATE_ISSUER: plane.issuer, AUDIENCE, APPROVAL_KEY: keyFile };
    const { url, stop } = await startExample('approvals-jose-tool-server.ts', environment);
    try {
      const headers = { authorization: `Bearer ${plane.token({ scope: 'pages:delete' })}` };
      const remove = async () => (await fetch(`${url}/pages/a`, { method: 'DELETE', headers })).status;
      expect([await remove(), await remove()]).to.deep.equal([503, 503]);
    } finally {
      await stop();
      await plane.stop();
    }
  });
});
