/**
 * The two agents of docs/examples/sub-agents, each a process with its own key, over the official SDK of A2A, with the running
 * service and a tool server.
 */

import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { expect } from 'chai';
import express from 'express';
import { z } from 'zod';
import { createAgent } from '../../adapters/sdk/agent/agent.ts';
import { createToolServer } from '../../adapters/sdk/tool-server/core/tool-server.ts';
import { claimsOf, expressProtection } from '../../adapters/sdk/tool-server/express/express.ts';
import { sqliteFile } from '../support/databases.ts';
import { type ExampleServer, runExample, startExample } from '../support/example-process.ts';
import { closeServer, listen } from '../support/listening.ts';
import { fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

describe('The agents of docs/examples/sub-agents', function () {
  this.timeout(60_000);
  let folder: string;
  let mandate: Mandate;
  let toolServer: Server;
  let resource: string;
  let reader: ExampleServer;
  let child: RegisteredAgent;
  let readerId: string;
  /** What the tool server got as tokens. */
  const presented: unknown[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-sub-agents-'));
    mandate = await startMandate({
      database: sqliteFile,
      issuer: 'own-address',
      settings: { 'Service:Delegation:Enabled': 'true' },
    });
    const app = express();
    toolServer = createServer(app);
    resource = `http://127.0.0.1:${await listen(toolServer)}`;
    const checks = createToolServer({
      issuer: mandate.issuer,
      audience: resource,
      maxDelegationDepth: 2,
      onAccess: () => undefined,
    });
    app.get('/issues/:key', expressProtection(checks)({ scope: ['jira:read'] }), (request, response) => {
      const { sub, scope, chain } = claimsOf(request);
      presented.push({ sub, scope, agents: chain.map((agent) => agent.sub) });
      response.send(`Issue ${request.params.key} for ${sub}`);
    });
    child = await registered();
    readerId = child.id;
    const own = { MANDATE_ISSUER: mandate.issuer, AGENT_ID: child.id, KEY_FILE: keyFile(child) };
    reader = await startExample('sub-agents/reader.ts', { ...own, TOOL_SERVER: resource });
  });
  after(async () => {
    await reader.stop();
    await closeServer(toolServer);
    await mandate.stop();
    rmSync(folder, { recursive: true });
  });

  const registered = (changes: object = {}) =>
    mandate.agent({ allowed_audiences: [resource], high_risk_audiences: [], max_delegation_depth: 2, ...changes });
  const keyFile = (agent: RegisteredAgent): string => {
    const file = join(folder, `${agent.id}.pem`);
    const key = createPrivateKey({ key: agent.key.privateJwk, format: 'jwk' });
    writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }));
    return file;
  };
  const runLead = (lead: RegisteredAgent) =>
    runExample('sub-agents/lead.ts', {
      MANDATE_ISSUER: mandate.issuer,
      AGENT_ID: lead.id,
      KEY_FILE: keyFile(lead),
      SUBJECT_TOKEN: lead.subjectToken(),
      RESOURCE: resource,
      READER: reader.url,
      READER_ID: readerId,
    });

  it('read an issue for the person, and the tool server and the ledger see both', async () => {
    const lead = await registered({ delegates_to: [readerId] });
    let ended: Awaited<ReturnType<typeof runLead>> | undefined;
    const lines = await mandate.recorded(async () => {
      ended = await runLead(lead);
    });
    expect(ended).to.deep.equal({ code: 0, output: 'Issue OPS-7 for ada\n', errors: '' });
    expect(presented).to.deep.equal([
      { sub: 'ada', scope: ['jira:read'], agents: [`agent:${readerId}`, `agent:${lead.id}`] },
    ]);
    expect(fieldsOf(lines, 'event', 'agent_id', 'delegation_depth')).to.deep.equal([
      ['token.issued', lead.id, 1],
      ['delegation.offered', lead.id, 1],
      ['token.issued', readerId, 2],
      ['delegation.taken', readerId, 2],
      ['task.revoked', readerId, 2],
      ['task.revoked', lead.id, 1],
    ]);
  });

  it('stop with the reason of the control plane if the first may not hand work to the second', async () => {
    const lead = await registered();
    const lines = await mandate.recorded(async () => {
      const { code, output, errors } = await runLead(lead);
      expect([code, output, errors]).to.deep.equal([1, '', 'No: delegation_not_allowed\n']);
    });
    expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
      ['token.issued', null],
      ['token.denied', 'delegation_not_allowed'],
      ['task.revoked', 'client_revoked'],
    ]);
  });

  it('pass an offer on as data: the second one says no to a message without one, and prints nothing', async () => {
    const message = { messageId: 'one', role: 'ROLE_USER', parts: [{ data: { offer: 'no-offer' } }] };
    const answer = await fetch(`${reader.url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
    });
    expect(await answer.text()).to.include('No: offer_unreadable');
    expect(reader.lines).to.deep.equal([]);
  });

  it('may do the same over MCP, with the offer in _meta of a call', async () => {
    const lead = await registered({ delegates_to: [readerId] });
    const agentOf = ({ id, key }: RegisteredAgent) =>
      createAgent({ issuer: mandate.issuer, agentId: id, key: { jwk: { ...key.privateJwk } } });
    const reader = agentOf(child);
    const server = new McpServer({ name: 'reader', version: '1.0.0' });
    const inputSchema = z.object({ issue: z.string() });
    server.registerTool('read_issue', { inputSchema }, async ({ issue }, { mcpReq }) => {
      const task = await reader.takeUp(String(mcpReq._meta?.['example.com/offer']));
      const answer = await task.fetch(`${task.resource}/issues/${issue}`);
      await task.end();
      return { content: [{ type: 'text', text: await answer.text() }] };
    });
    const [near, far] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'lead', version: '1.0.0' });
    await Promise.all([server.connect(far), client.connect(near)]);

    const subjectToken = lead.subjectToken();
    const task = await agentOf(lead).startTask({ subjectToken, resource, scope: ['jira:read'] });
    const offer = await task.handOver({ to: readerId, scope: ['jira:read'] });
    const _meta = { 'example.com/offer': offer.text };
    const { content } = await client.callTool({ name: 'read_issue', arguments: { issue: 'OPS-7' }, _meta });
    expect(content).to.deep.equal([{ type: 'text', text: 'Issue OPS-7 for ada' }]);
    await client.close();
    await task.end();
  });

  it('are short, and are listed with the variables that they read', () => {
    const page = readFileSync('docs/examples/README.md', 'utf8');
    for (const name of ['lead.ts', 'reader.ts']) {
      const source = readFileSync(`docs/examples/sub-agents/${name}`, 'utf8');
      expect(source.split('\n').length, name).to.be.lessThan(80);
      const [row = ''] = page.match(new RegExp(`^.*\\(sub-agents/${name}\\).*$`, 'm')) ?? [];
      const read = [...source.matchAll(/const \{ (.*) \} = process\.env;/g)].flatMap(([, names = '']) =>
        names.split(', ').map((one) => one.replace(/ = .*/, '')),
      );
      expect([...new Set(row.match(/[A-Z_]{4,}/g))], name).to.have.members(read);
    }
  });
});

describe('docs/sub-agents.md', () => {
  it('shows only lines of the examples and of this test', () => {
    const page = readFileSync('docs/sub-agents.md', 'utf8');
    const shown = [...page.matchAll(/^<!-- from (\S+) -->\n```\w+\n(.*?)^```$/gms)];
    expect(shown).to.have.lengthOf(4);
    for (const [, name = '', code = ''] of shown) {
      const source = readFileSync(name, 'utf8');
      for (const line of code.split('\n').filter((text) => text.trim() !== '')) expect(source).to.include(`${line}\n`);
    }
  });
});
