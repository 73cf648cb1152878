/** Compares docs/connect-mcp-client.md with the code: its files of agents, and the addresses that programs send. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { readAgentBytes } from '../../adapters/cli/agent-files/read-agent-files.ts';
import type { Registration } from '../../domain/agents/agent.ts';
import { CERTAIN_RULES, draftOf } from '../../domain/agents/declaration.ts';
import { findRedirect } from '../../domain/agents/redirect-uri.ts';
import { judgeRegistration } from '../../domain/agents/registration.ts';
import { blocksOf } from '../support/pages/page.ts';

const page = readFileSync(new URL('../../docs/connect-mcp-client.md', import.meta.url), 'utf8');

/** The redirect URIs that each program of the page sends or registers, as it writes them: with the ports of one run. */
const SENT: Readonly<Record<string, readonly string[]>> = {
  'claude-code': [],
  'claude-code-by-id': ['http://localhost:51763/callback'],
  'vs-code': [
    'http://127.0.0.1:33418',
    'http://127.0.0.1:33418/',
    'http://127.0.0.1:59656/',
    'http://127.0.0.1/',
    'https://vscode.dev/redirect',
    'https://insiders.vscode.dev/redirect',
  ],
  cursor: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ],
  'mcp-remote': ['http://localhost:3334/oauth/callback'],
  'mcp-inspector': [
    'http://localhost:6274/oauth/callback',
    'http://127.0.0.1:6274/oauth/callback',
    'http://127.0.0.1:6276/oauth/callback',
  ],
  'jira-triage': ['http://127.0.0.1:40123/callback'],
};

const marked = [...page.matchAll(/^<!-- agent: (\S+) -->\n```yaml\n(.*?)^```$/gms)];

async function registrationOf(file: string): Promise<Registration> {
  const read = await readAgentBytes('page', Buffer.from(file), async (declaration) =>
    judgeRegistration(draftOf(declaration), CERTAIN_RULES),
  );
  if (read.kind === 'wrong') throw new Error(JSON.stringify(read.problems));
  const [agent, ...others] = read.agents;
  if (agent === undefined || others.length > 0) throw new Error('not one registration');
  return agent.registration;
}

describe('docs/connect-mcp-client.md', () => {
  it('has a registration for each program, and marks each of its files', () => {
    expect(marked.map(([, name]) => name)).to.have.members(Object.keys(SENT));
    expect(marked).to.have.lengthOf(blocksOf(page).filter(({ language }) => language === 'yaml').length);
  });

  for (const [, name = '', file = ''] of marked) {
    it(`registers ${name} with the addresses that it sends, and with no other way in than the page says`, async () => {
      const registration = await registrationOf(file);
      expect(registration.agentId).to.equal(name);
      for (const uri of SENT[name] ?? []) expect(findRedirect(registration.redirectUris ?? [], uri), uri).to.equal(uri);
      const isByDocument = registration.clientIdDocument !== undefined;
      expect(registration.redirectUris === undefined).to.equal(isByDocument);
      expect(registration.publicClient).to.equal(registration.keys.kind === 'none' && !isByDocument);
    });
  }

  it('has JSON that parses, with the agent_id of a registration as the client id', () => {
    const json = blocksOf(page).filter(({ language }) => language === 'json');
    expect(json.length).to.be.greaterThan(2);
    for (const { text } of json) {
      JSON.parse(text);
      for (const [, id] of text.matchAll(/"(?:clientId|CLIENT_ID)": "([^"]*)"/g))
        expect(Object.keys(SENT)).to.include(id);
    }
  });
});
