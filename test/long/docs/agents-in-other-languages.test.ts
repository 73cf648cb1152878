/** Runs the agents of docs/examples in other languages against a running service and a tool server. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import express from 'express';
import { decodeJwt, type JWK } from 'jose';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../adapters/sdk/tool-server/express/express.ts';
import { sqliteFile } from '../../support/databases.ts';
import { type ExampleServer, startExample } from '../../support/example-process.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { type Handler, type Loopback, startLoopback } from '../../support/loopback.ts';
import { JIRA, type Mandate, startMandate } from '../../support/mandate.ts';
import { agentLibraries } from '../../support/other-languages/agent-libraries.ts';
import { languages } from '../../support/other-languages/languages.ts';
import { makeSigningKey } from '../../support/signing-key.ts';
import { approvalSettings } from '../../support/tool-server/approval-request.ts';

const TOKEN_SECONDS = 3;
/** Longer than 60% of a token's lifetime, after which an agent renews it. */
const SLOW_MS = 2000;
/** What the library's adapters send while a question waits, less the precision of timers. */
const RETRY_AFTER_MS = 4900;

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
    /** A tool server at which each read waits for the person. */
    let asking: Awaited<ReturnType<typeof askingToolServer>>;
    /** Stands between the agent and the tool server. */
    let tools: Loopback;
    let folder: string;
    let environment: Readonly<Record<string, string>>;

    before(async () => {
      plane = await startLoopback(forwarding(() => mandate.url));
      const approvalKey = await makeSigningKey('ES256');
      mandate = await startMandate({
        database: sqliteFile,
        settings: {
          'Service:Issuer': plane.url,
          'Service:Agents:MinTokenTtl': 'PT1S',
          ...approvalSettings({ audience: JIRA, key: approvalKey }),
          'Service:Me:ClientId': 'the-page',
        },
      });
      asking = await askingToolServer(plane.url, approvalKey.privateJwk);
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
      await asking.close();
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

    /** The agent calls the tool server that asks. The person answers each question when it has come twice. */
    async function askPerson(answer: 'approve' | 'refuse') {
      const calls: { readonly at: number; readonly id: string | undefined }[] = [];
      tools.answer = (request, response) =>
        void (async () => {
          const { status, headers, text } = await asked(asking.url, request);
          const id = /\/me\/approvals\/(approval_\w+)/.exec(text)?.[1];
          calls.push({ at: performance.now(), id });
          if (id !== undefined && calls.filter((call) => call.id === id).length === 2) await mandate.answer(id, answer);
          response.writeHead(status, headers).end(text);
        })();
      let ended: Awaited<ReturnType<typeof runAgent>> | undefined;
      const lines = await mandate.recorded(async () => {
        ended = await runAgent();
      });
      const events = lines.map(({ event }) => String(event)).filter((event) => event.startsWith('approval.'));
      const ids = [...new Set(calls.flatMap(({ id }) => id ?? []))];
      const shown = ids.map((id) => `Please answer at ${plane.url}/me/approvals/${id}\n`);
      return { ended, events, calls, shown: shown.join('') };
    }

    it('shows the address of a question once, waits as it is told to, and calls again after the yes', async () => {
      const { ended, events, calls, shown } = await askPerson('approve');
      expect(ended).to.deep.equal({ code: 0, output: '"/issues/OPS-7"\n"/issues/OPS-8"\n', errors: shown });
      expect(shown.split('\n')).to.have.lengthOf(3);
      const once = ['approval.requested', 'approval.granted', 'approval.used'];
      expect(events).to.deep.equal([...once, ...once]);
      expect(calls).to.have.lengthOf(6);
      const afterQuestion = calls.flatMap(({ id, at }, nth) =>
        id === undefined ? [] : [(calls[nth + 1]?.at ?? 0) - at],
      );
      for (const waitMs of afterQuestion) expect(waitMs).to.be.at.least(RETRY_AFTER_MS);
    });

    it('stops at a no', async () => {
      const { ended, events, shown } = await askPerson('refuse');
      expect(ended).to.deep.include({ code: 1, output: '' });
      expect(ended?.errors.replace(/exit status \d\n$/, '')).to.equal(`${shown}No: approval_refused\n`);
      expect(events).to.deep.equal(['approval.requested', 'approval.refused']);
    });

    it("shows no address that is not the control plane's", async () => {
      const refusal = { error: 'approval_required', reason: 'approval_required' };
      for (const approval_uri of ['https://evil.example/me/approvals/approval_1', `${plane.url}.evil.example/`, 7]) {
        tools.answer = (_, response) =>
          void response
            .writeHead(403, { 'content-type': 'application/json' })
            .end(JSON.stringify({ ...refusal, approval_uri }));
        const { code, output, errors } = await runAgent();
        expect([code, output, lastLine(errors)]).to.deep.equal([1, '', 'No: approval_required']);
      }
    });

    it('says in a line that the tool server is away, and ends the task', async () => {
      const closed = await startLoopback(() => undefined);
      await closed.close();
      const lines = await mandate.recorded(async () => {
        const { code, output, errors } = await runAgent({ TOOL_SERVER: closed.url });
        const sentence = `${new URL(closed.url).host} is unavailable. Later, in 1 s`;
        expect([code, output, lastLine(errors)]).to.deep.equal([1, '', sentence]);
      });
      expect(lines.at(-1)).to.include({ event: 'task.revoked', reason: 'client_revoked' });
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
  const { status, headers, text } = await asked(url, request);
  response.writeHead(status, headers).end(text);
}

async function asked(url: string, request: Request) {
  const answer = await ask(url, request);
  const headers = { 'content-type': 'text/plain', ...pick(answer.headers, ['content-type', 'retry-after']) };
  return { status: answer.status, headers, text: await answer.text() };
}

const pick = (headers: Headers, names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, String(headers.get(name))]] : [])));

/** Its answer to a read is the path. */
async function askingToolServer(issuer: string, jwk: JWK): Promise<{ readonly url: string; close(): Promise<void> }> {
  const toolServer = createToolServer({ issuer, audience: JIRA, approvalKey: { jwk }, onAccess: () => undefined });
  const app = express();
  app.get(
    '/issues/:key',
    expressProtection(toolServer)({
      scope: ['jira:read'],
      approval: ({ target }) => ({ title: `Read ${target}`, lines: [] }),
    }),
    (request, response) => void response.json(request.path),
  );
  const server = createServer(app);
  return { url: `http://127.0.0.1:${await listen(server)}`, close: () => closeServer(server) };
}

function ask(url: string, { method, path, headers, body }: Request): Promise<Response> {
  const kept = ['authorization', 'content-type'].flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
  );
  return fetch(`${url}${path}`, { method, headers: kept, ...(method === 'POST' && { body }) });
}
