/** Runs the examples of docs/agents.md, and that of the auditor. */

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { sqliteFile } from '../../support/databases.ts';
import { runExample, startExample } from '../../support/example-process.ts';
import { startLoopback } from '../../support/loopback.ts';
import {
  ADMIN_KEY,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

describe('the examples of docs/agents.md', () => {
  let mandate: Mandate;
  let folder: string;
  let jwks: object;
  let agent: RegisteredAgent;
  let environment: Readonly<Record<string, string>>;
  const signingKey = sharedSigningKey();

  before(async () => {
    mandate = await startMandate({ database: sqliteFile, issuer: 'own-address', settings: signingKey });
    folder = await mkdtemp(join(tmpdir(), 'agents-page-'));
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keyFile = join(folder, 'agent.pem');
    await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' };
    jwks = { keys: [jwk] };
    agent = await mandate.agent({ jwks });
    environment = {
      MANDATE_ISSUER: mandate.issuer,
      AGENT_ID: agent.id,
      KEY_FILE: keyFile,
      RESOURCE: JIRA,
      AUDIENCE: JIRA,
      SUBJECT_TOKEN: mandate.provider.mintAccessToken({ scope: 'jira:read jira:comment jira:admin' }),
    };
  });
  after(async () => {
    await mandate.stop();
    await rm(folder, { recursive: true });
  });

  it('agent.ts uses a task and ends it', async function () {
    this.timeout(60_000);
    const server = await startExample('express-tool-server.ts', environment);
    try {
      const { code, output, errors } = await runExample('agent.ts', { ...environment, TOOL_SERVER: server.url });
      expect(errors).to.equal('');
      expect(JSON.parse(output)).to.deep.equal({ key: 'OPS-7', readFor: 'ada', readBy: `agent:${agent.id}` });
      expect(code).to.equal(0);
      const of = (await mandate.ledger()).filter((line) => line.agent_id === agent.id && line.task_id !== null);
      expect(of.map(({ event, scope }) => [event, scope])).to.deep.include.members([['token.refreshed', 'jira:read']]);
      expect(of.at(-1)?.event).to.equal('task.revoked');
    } finally {
      await server.stop();
    }
  });

  it('agent.ts prints the error of a refusal; it runs with tsx, as its page says', async function () {
    this.timeout(60_000);
    const { code, output, errors } = await runExample('agent.ts', { ...environment, SUBJECT_TOKEN: 'stolen' });
    expect([code, output, errors]).to.deep.equal([1, '', 'No: invalid_grant\n']);
  });

  it('mcp-agent.ts calls both tools of mcp-tool-server.ts, gets more scopes for the second, and ends its task', async function () {
    this.timeout(60_000);
    const port = String(await freePort());
    const address = `http://127.0.0.1:${port}/mcp`;
    const { id } = await mandate.agent({ jwks, allowed_audiences: [address], high_risk_audiences: [] });
    const server = await startExample('mcp-tool-server.ts', { ...environment, AUDIENCE: address, PORT: port });
    try {
      const given = { ...environment, AGENT_ID: id, MCP_SERVER: address };
      const { code, output, errors } = await runExample('mcp-agent.ts', given);
      expect(errors).to.equal('');
      expect(output).to.equal(
        `read_issue [{"type":"text","text":"OPS-7, read for ada by agent:${id}"}]\n` +
          'delete_issue [{"type":"text","text":"OPS-7, deleted for ada"}]\n',
      );
      expect(code).to.equal(0);
      const lines = (await mandate.ledger()).filter(
        (line) => line.agent_id === id && line.event !== 'agent.registered',
      );
      expect(lines.map(({ event, scope }) => (event === 'token.issued' ? scope : event))).to.deep.equal([
        ...['jira:read', 'token.refreshed', 'jira:read jira:admin', 'task.revoked', 'task.revoked'],
      ]);
      const isTold = () => server.lines.some((line) => line.includes('"delete_issue"'));
      while (!isTold()) await once(server.child.stdout ?? server.child, 'data');
      const calls = server.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(calls.map(({ route, decision }) => [route, decision])).to.deep.include.members([
        ['read_issue', 'allow'],
        ['delete_issue', 'allow'],
      ]);
    } finally {
      await server.stop();
    }
  });

  it('audit-script.ts verifies a sealed record, and detects a wrong mark', async function () {
    this.timeout(60_000);
    for (let checkpoint = 0; checkpoint < 2; checkpoint += 1) {
      await mandate.admin('POST', '/admin/agents', { agent_id: `sealed-${checkpoint}` });
      await mandate.jobs.seal();
    }
    const { checkpoints } = (await mandate.admin('GET', '/audit/checkpoints')).body as {
      checkpoints: readonly { readonly checkpoint_id: number; readonly root_hash: string }[];
    };
    const [first, last] = [checkpoints[0], checkpoints.at(-1)];
    const keysFile = join(folder, 'keys.json');
    await writeFile(keysFile, (await mandate.get('/.well-known/jwks.json')).text);
    const [line] = await mandate.ledger();
    const given = {
      MANDATE: mandate.url,
      ADMIN_API_KEY: ADMIN_KEY,
      KEYS_FILE: keysFile,
      RECORD: String(line?.seq),
      MARKS: `${first?.checkpoint_id}:${first?.root_hash}`,
    };
    const { code, output, errors } = await runExample('audit-script.ts', given);
    expect(errors).to.equal('');
    const mark = `${last?.checkpoint_id}:${last?.root_hash}`;
    expect(output).to.equal(`Record ${line?.seq} is what was sealed. Keep this mark: ${mark}\n`);
    expect(code).to.equal(0);

    const cutOff = await runExample('audit-script.ts', { ...given, MARKS: `9999:${last?.root_hash}` });
    expect(cutOff.code).to.equal(3);
    expect(cutOff.output).to.match(/^NOT VERIFIED: There is no checkpoint 9999, which a mark names/);
    const unknown = await runExample('audit-script.ts', { ...given, RECORD: '999999' });
    expect([unknown.code, unknown.output, unknown.errors]).to.deep.equal([1, 'There is no record 999999.\n', '']);
    const contradicted = { ...given, MARKS: `${first?.checkpoint_id}:${'0'.repeat(64)}` };
    const found = await runExample('audit-script.ts', contradicted);
    expect(found.code).to.equal(3);
    expect(found.output).to.match(/^NOT VERIFIED: .+\.\n$/);

    // The database of a lost history, sealed with the same key, proves its own records.
    await withService(startMandate({ database: sqliteFile, settings: signingKey }), async (lost) => {
      await lost.agent();
      await lost.jobs.seal();
      const [lostLine] = await lost.ledger();
      const both = await startLoopback(({ path }, response) => {
        const { url } = path.startsWith('/audit/checkpoints') ? mandate : lost;
        void fetch(`${url}${path}`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } }).then(async (answer) => {
          response.writeHead(answer.status).end(await answer.text());
        });
      });
      const foreign = { ...given, MANDATE: both.url, RECORD: String(lostLine?.seq) };
      const mixed = await runExample('audit-script.ts', foreign);
      expect([mixed.code, mixed.errors]).to.deep.equal([3, '']);
      expect(mixed.output).to.match(/^NOT VERIFIED: Checkpoint 1 has another root than the mark says/);
      await both.close();
    });
  });
});
