/** What `mandate agent init` writes for a program at which a person starts tasks. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readAgentFiles } from '../../../adapters/cli/agent-files/read-agent-files.ts';
import { describeFileProblem } from '../../../adapters/cli/yaml/yaml-file.ts';
import { runLine } from '../../../composition/commands/run-line.ts';
import { judge } from '../../adapters/cli/agent-files/agent-files.ts';
import { capturingOutput } from '../../support/captured-output.ts';

describe('mandate agent init, for a program at which a person starts tasks', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-init-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const init = async (...args: readonly string[]) => {
    const line = ['agent', 'init', 'editor', '--scope=a', '--audience=https://jira.example', '--to', folder, ...args];
    const { result, out, err } = await capturingOutput(() => runLine(line));
    return { code: result, out, err };
  };
  const file = () => join(folder, 'editor.yaml');
  const declared = async () => {
    const read = await readAgentFiles([file()], judge);
    if (read.kind === 'wrong') throw new Error(read.problems.map(describeFileProblem).join('\n'));
    return read.agents[0]?.declaration;
  };

  it('writes no key for a public client, says its client_id, and its file is one that mandate agent apply reads', async () => {
    const made = await init(
      ...['--public-client', '--redirect-uri', 'http://127.0.0.1/callback', '--redirect-uri', 'editor://wiki/callback'],
      ...['--client-name', 'Code "editor"*', '--client-name', 'Editor'],
    );
    expect(made).to.include({ code: 0, err: '' });
    expect(made.out)
      .to.contain('a program without a key')
      .and.contain('with the client_id editor.')
      .and.not.contain('pem');
    expect(readdirSync(folder)).to.deep.equal(['editor.yaml']);
    expect(await declared()).to.deep.include({
      redirectUris: ['http://127.0.0.1/callback', 'editor://wiki/callback'],
      publicClient: true,
      clientNames: ['Code "editor"*', 'Editor'],
      jwks: undefined,
    });
  });

  it('writes no key for a program with a document, whose URL is its client_id', async () => {
    const document = 'https://editor.example/client.json';
    const made = await init('--client-id-document', document, '--json');
    expect(JSON.parse(made.out)).to.deep.equal({
      agent_id: 'editor',
      registration: file(),
      private_key: null,
      kid: null,
    });
    expect(await declared()).to.deep.include({ clientIdDocument: document, jwks: undefined });
    rmSync(file());
    expect((await init('--client-id-document', document)).out).to.contain(`with the client_id ${document}.`);
  });

  it('writes the key of a program that has one, and where its answers go', async () => {
    const made = await init('--redirect-uri', 'https://editor.example/callback');
    expect(made.out).to.contain('  4. The agent signs').and.contain('  5. The program sends people');
    expect(readdirSync(folder).toSorted()).to.deep.equal(['editor.key.pem', 'editor.yaml']);
    const declaration = await declared();
    expect(declaration).to.deep.include({ redirectUris: ['https://editor.example/callback'] });
    expect(declaration?.jwks).to.be.an('object');
  });

  it('says none of it for an agent that exchanges tokens', async () => {
    expect((await init()).out).not.to.contain('authorize');
    expect(readFileSync(file(), 'utf8')).not.to.match(/authorize|redirect|client/i);
  });

  it('refuses, in one sentence for each, values that no service accepts and options without one that they need', async () => {
    for (const [args, sentence] of [
      [
        ['--redirect-uri=http://evil.example/cb'],
        /^mandate: --redirect-uri: Item 1 must be https, or http on exactly /,
      ],
      [['--redirect-uri=javascript:alert(1)'], /^mandate: --redirect-uri: Item 1 must be an https URL/],
      [['--client-id-document=http://editor.example/hunter2'], /^mandate: --client-id-document: Must be /],
      [['--public-client'], /^mandate: --public-client: Needs --redirect-uri, /],
      [
        ['--redirect-uri=https://a.example/cb', '--client-name=hunter2'],
        /^mandate: --client-name: Needs --public-client, /,
      ],
      [['--public-client=yes'], /^/],
      [['--client-id-document'], /^/],
    ] as const) {
      const { code, out, err } = await init(...args);
      expect([code, out], err).to.deep.equal([2, '']);
      expect(err)
        .to.match(sentence)
        .and.not.match(/hunter2|alert|evil/);
      expect(readdirSync(folder)).to.deep.equal([]);
    }
  });
});
