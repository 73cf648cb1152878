/** Runs the agents of docs/examples in other languages against a running service and a tool server. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { sqliteFile } from '../../support/databases.ts';
import { type ExampleServer, startExample } from '../../support/example-process.ts';
import { type Handler, type Loopback, startLoopback } from '../../support/loopback.ts';
import { JIRA, type Mandate, startMandate } from '../../support/mandate.ts';
import { agentLibraries } from '../../support/other-languages/agent-libraries.ts';
import { languages } from '../../support/other-languages/languages.ts';

const TOKEN_SECONDS = 3;
/** Longer than 60% of a token's lifetime, after which an agent renews it. */
const SLOW_MS = 2000;

const exampleFile = (ending: string) =>
  fileURLToPath(new URL(`../../../docs/examples/agent.${ending}`, import.meta.url));

for (const [ending, { modules, packages }] of Object.entries(agentLibraries)) {
  const { name, has, run } = languages[ending as keyof typeof agentLibraries];
  describe(`agent.${ending}, the example of an agent in ${name}`, function () {
    this.timeout(120_000);
    if (!has(modules)) {
      it(`is skipped: Debian's packages ${packages} are not installed`, function () {
        this.skip();
      });
      return;
    }

    let mandate: Mandate;
    /** Stands between the agent and the service, at the address of the issuer. */
    let plane: Loopback;
    let toolServer: ExampleServer;
    /** Stands between the agent and the tool server. */
    let tools: Loopback;
    let folder: string;
    let environment: Readonly<Record<string, string>>;

    before(async () => {
      plane = await startLoopback(forwarding(() => mandate.url));
      mandate = await startMandate({
        database: sqliteFile,
        settings: { 'Service:Issuer': plane.url, 'Service:Agents:MinTokenTtl': 'PT1S' },
      });
      toolServer = await startExample('express-tool-server.ts', { MANDATE_ISSUER: plane.url, AUDIENCE: JIRA });
      tools = await startLoopback(forwarding(() => toolServer.url));
      folder = await mkdtemp(join(tmpdir(), 'other-languages-'));
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const keyFile = join(folder, 'agent.pem');
      await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const jwks = { keys: [publicKey.export({ format: 'jwk' })] };
      const { id } = await mandate.agent({ jwks, max_token_ttl: `PT${TOKEN_SECONDS}S`, high_risk_audiences: [] });
      environment = {
        MANDATE_ISSUER: plane.url,
        AGENT_ID: id,
        KEY_FILE: keyFile,
        RESOURCE: JIRA,
        TOOL_SERVER: tools.url,
        SUBJECT_TOKEN: mandate.provider.mintAccessToken({ scope: 'jira:read jira:comment jira:admin' }),
      };
    });
    beforeEach(() => {
      plane.answer = forwarding(() => mandate.url);
      tools.answer = forwarding(() => toolServer.url);
      tools.received.length = 0;
    });
    after(async () => {
      for (const server of [plane, tools]) await server.close();
      await toolServer.stop();
      await mandate.stop();
      await rm(folder, { recursive: true });
    });

    const runAgent = (changes = {}) => run(exampleFile(ending), { ...environment, ...changes });

    it('narrows its task, renews its token at 60% of its lifetime, calls the tool server, and ends the task', async () => {
      tools.answer = slowFirst(() => toolServer.url);
      const lines = await mandate.recorded(async () => {
        const { code, output, errors } = await runAgent();
        expect(errors).to.equal('');
        const readBy = `agent:${environment.AGENT_ID}`;
        const read = ['OPS-7', 'OPS-8'].map((key) => JSON.stringify({ key, readFor: 'ada', readBy }));
        expect(output).to.equal(`${read.join('\n')}\n`);
        expect(code).to.equal(0);
      });
      const issued = lines.map(({ event, scope }) => [event, scope]);
      expect(issued.slice(0, 2)).to.deep.equal([
        ['token.issued', 'jira:read jira:comment'],
        ['token.refreshed', 'jira:read'],
      ]);
      expect(lines.at(-1)).to.include({ event: 'task.revoked', reason: 'client_revoked' });
      const tokens = tools.received.map(({ headers }) =>
        decodeJwt(String(headers.authorization).replace('Bearer ', '')),
      );
      expect(tokens.map(({ scope }) => scope)).to.deep.equal(['jira:read', 'jira:read']);
      expect(new Set(tokens.map(({ jti }) => jti)).size, 'the second token is a new one').to.equal(2);
    });

    it('repeats a request whose answer was lost, with a new assertion', async () => {
      const lost = new Set<string>();
      plane.answer = (request, response) => {
        const kind = new URLSearchParams(request.body).get('grant_type') ?? request.path;
        const loses = !lost.has(kind);
        lost.add(kind);
        if (!loses) return void forward(mandate.url, request, response);
        void ask(mandate.url, request).then(() => response.writeHead(503, { 'retry-after': '1' }).end());
      };
      const lines = await mandate.recorded(async () => {
        const { code, errors } = await runAgent();
        expect([code, errors]).to.deep.equal([0, '']);
      });
      expect(lost.size).to.equal(4);
      expect(lines.filter(({ decision }) => decision === 'deny')).to.deep.equal([]);
    });

    it('stops when its task is ended during the work, and says why', async () => {
      tools.answer = slowFirst(
        () => toolServer.url,
        () => mandate.admin('DELETE', `/admin/agents/${environment.AGENT_ID}/tasks`),
      );
      const { code, output, errors } = await runAgent();
      expect(output.split('\n')).to.have.lengthOf(2);
      expect([code, lastLine(errors)]).to.deep.equal([1, 'No: task_revoked']);
    });

    it("stops at once when the person's token is refused", async () => {
      const lines = await mandate.recorded(async () => {
        const { code, output, errors } = await runAgent({ SUBJECT_TOKEN: 'stolen' });
        expect([code, output, lastLine(errors)]).to.deep.equal([1, '', 'No: invalid_grant']);
      });
      expect(lines.map(({ reason }) => reason)).to.deep.equal(['subject_malformed']);
    });
  });
}

/** `go run` adds a line with the exit code of the program. */
const lastLine = (errors: string) => errors.replace(/exit status \d\n$/, '').trim();

type Request = Parameters<Handler>[0];

const forwarding =
  (url: () => string): Handler =>
  (request, response) =>
    void forward(url(), request, response);

/** The first answer comes late, after `meanwhile`. */
function slowFirst(url: () => string, meanwhile: () => Promise<unknown> = async () => undefined): Handler {
  let isFirst = true;
  return (request, response) => {
    const late = isFirst ? meanwhile().then(() => sleep(SLOW_MS)) : Promise.resolve();
    isFirst = false;
    void late.then(() => forward(url(), request, response));
  };
}

async function forward(url: string, request: Request, response: ServerResponse): Promise<void> {
  const answer = await ask(url, request);
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
  response.end(await answer.text());
}

function ask(url: string, { method, path, headers, body }: Request): Promise<Response> {
  const kept = ['authorization', 'content-type'].flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
  );
  return fetch(`${url}${path}`, { method, headers: kept, ...(method === 'POST' && { body }) });
}
