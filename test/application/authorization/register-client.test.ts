import { expect } from 'chai';
import { registerClient } from '../../../application/authorization/register-client.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';

const client = (id: string, redirectUris: readonly string[], clientNames?: readonly string[]): Agent =>
  anAgent({ agentId: agentIdOf(id), redirectUris, clientNames, publicClient: true, clientIdDocument: undefined });

const LOOPBACK = 'http://127.0.0.1/callback';
const CURSOR = 'cursor://anysphere.cursor-retrieval/oauth/callback';
const AGENTS = [
  client('editor', [CURSOR, LOOPBACK], ['Cursor', 'Cursor (*']),
  client('terminal', [LOOPBACK], ['Claude Code (*']),
  client('any-terminal', [LOOPBACK, 'http://localhost/callback']),
];

async function found(redirectUris: readonly string[], clientName?: string, among = AGENTS) {
  const answer = await registerClient({ agents: { publicClients: async () => among } }, { redirectUris, clientName });
  return answer.kind === 'known' ? answer.agent.agentId : answer.refusal;
}

describe('A program that registers itself', () => {
  it('is the agent whose redirect URIs cover all of its own, and which has its name', async () => {
    expect(await found(['http://127.0.0.1:51004/callback'], 'Claude Code (docs)')).to.equal('terminal');
    expect(await found([CURSOR], 'Cursor')).to.equal('editor');
    expect(await found([CURSOR, 'http://127.0.0.1:7/callback'], 'Cursor (docs)')).to.equal('editor');
  });

  it('is else the only one of them that has no names, whatever it calls itself', async () => {
    for (const name of ['mcp-remote', 'Claude Code', 'claude code (docs)', 'Claude Code (*', undefined, '', '*'])
      expect(await found(['http://127.0.0.1:7/callback'], name), String(name)).to.equal(
        name === 'Claude Code (*' ? 'terminal' : 'any-terminal',
      );
  });

  it('is refused if one redirect URI fits no agent, or no agent has them together', async () => {
    for (const uris of [
      ['https://evil.example/callback'],
      [CURSOR, 'https://evil.example/callback'],
      [CURSOR, 'http://localhost/callback'],
      ['http://127.0.0.1.evil/callback'],
      ['http://127.0.0.1:7/callback/'],
      [''],
      ['\ud800'],
    ])
      expect(await found(uris, 'Cursor'), uris.join()).to.equal('no_redirect');
    expect(await found([CURSOR], 'Cursor', [])).to.equal('no_redirect');
  });

  it('is refused if no fitting agent has its name, compared exactly', async () => {
    for (const name of ['cursor', 'Cursor ', 'Cursor(docs)', 'x', undefined])
      expect(await found([CURSOR], name), String(name)).to.equal('no_name');
  });

  it('is refused if several fit, never given to the first', async () => {
    const twins = [client('one', [LOOPBACK], ['Same']), client('two', [LOOPBACK], ['Sam*'])];
    expect(await found([LOOPBACK], 'Same', twins)).to.equal('several_names');
    const nameless = [client('one', [LOOPBACK]), client('two', [LOOPBACK])];
    expect(await found([LOOPBACK], 'Same', nameless)).to.equal('several_nameless');
    expect(await found([LOOPBACK], 'Same', [...nameless, client('three', [LOOPBACK], ['Same'])])).to.equal('three');
  });

  it('is told what an operator must register, in a sentence that repeats nothing', async () => {
    const answer = await registerClient(
      { agents: { publicClients: async () => [] } },
      { redirectUris: ['https://53cr3t.example/'], clientName: '53cr3t' },
    );
    expect(answer.kind === 'refused' && answer.sentence)
      .to.include('An operator registers one: an agent with public_client')
      .and.not.include('53cr3t');
  });
});
