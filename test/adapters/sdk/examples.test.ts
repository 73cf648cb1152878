/**
 * Each function, class and constant of the libraries has an example in its doc comment. The examples are compiled with the
 * names of the packages, and run with the real service: the tool server is made of the examples, and the agent calls it.
 */

import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect } from 'chai';
import express from 'express';
import fastify from 'fastify';
import { createAgent } from '../../../adapters/sdk/agent/agent.ts';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../adapters/sdk/tool-server/express/express.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { capturingOutput } from '../../support/captured-output.ts';
import { runMandate } from '../../support/cli-run.ts';
import { sqliteFile } from '../../support/databases.ts';
import { publishedLedger } from '../../support/independent-ledger/vectors.ts';
import { closeServer } from '../../support/listening.ts';
import { evidence } from '../../support/log/evidence.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { makeSigningKey } from '../../support/signing-key.ts';
import { approvalSettings } from '../../support/tool-server/approval-request.ts';

const { paths }: { readonly paths: Readonly<Record<string, readonly string[]>> } = JSON.parse(
  readFileSync('tsconfig.json', 'utf8'),
).compilerOptions;

interface Example {
  /** As `@mandate/agent TaskOver`. */
  readonly name: string;
  readonly text: string | undefined;
}

/** The example of an export, from the doc comment of its declaration. */
function exampleOf(file: string, name: string): string | undefined {
  const source = readFileSync(file, 'utf8');
  const [, from] = new RegExp(`^export \\{[^}]*\\b${name}\\b[^}]*\\} from '(.*)';`, 'm').exec(source) ?? [];
  if (from !== undefined) return exampleOf(join(dirname(file), from), name);
  const before = source.slice(0, source.search(new RegExp(`^export (async )?(function|const|class) ${name}\\b`, 'm')));
  const [, lines] = /@example\n \* ```ts\n((?: \*.*\n)+?) \* ```\n \*\/\n$/.exec(before) ?? [];
  return lines?.replaceAll(/^ \* ?/gm, '');
}

const load = (name: string) => import(paths[name]?.[0] ? pathToFileURL(resolve(paths[name][0])).href : name);

async function everyExample(): Promise<readonly Example[]> {
  const entries = await Promise.all(
    Object.entries(paths).map(async ([entry, [file = '']]) =>
      Object.keys(await load(entry)).map((name) => ({ name: `${entry} ${name}`, text: exampleOf(file, name) })),
    ),
  );
  return entries.flat();
}

/** The types of the names that the examples use and do not declare. */
const DECLARED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['issuer', 'agentId', 'pem', 'subjectToken', 'resource', 'file'].map((name) => [name, 'string'] as const),
  ),
  agent: "import('@mandate/agent').Agent",
  task: "import('@mandate/agent').Task",
  toolServer: "import('@mandate/tool-server').ToolServer",
  policy: "import('@mandate/tool-server').EnforcedPolicy",
  protect: "ReturnType<typeof import('@mandate/tool-server/express').expressProtection>",
  app: "import('express').Express",
  server: "import('fastify').FastifyInstance",
  mcpServer: "import('@modelcontextprotocol/server').McpServer",
  mcp: "ReturnType<typeof import('@modelcontextprotocol/node').toNodeHandler>",
  request: "import('node:http').IncomingMessage",
  keys: "import('@mandate/audit').JwkSet",
  checkpoints: 'readonly unknown[]',
  marks: 'readonly string[]',
  thumbprints: 'readonly string[]',
};

type Run = (name: string, more?: object) => Promise<string>;

/** Runs an example with the values that it uses and does not declare. @returns a function that gives what the example prints */
async function runnerOf(examples: readonly Example[], context: object): Promise<Run> {
  const modules = new Map<string, object>();
  for (const { text = '' } of examples) {
    for (const [, name = ''] of text.matchAll(/ from '(.*)';$/gm)) modules.set(name, await load(name));
  }
  return async (name, more = {}) => {
    const text = examples.find((example) => example.name === name)?.text ?? '';
    const body = text.replaceAll(/^import (\{.*\}) from '(.*)';$/gm, "const $1 = modules.get('$2');");
    const printed: string[] = [];
    const log = (...line: readonly unknown[]) => printed.push(line.join(' '));
    const values = Object.entries({ ...context, ...more, modules, console: { log } });
    const given = values.filter(([each]) => !isDeclared(each, body));
    await AsyncFunction(...given.map(([each]) => each), body)(...given.map(([, value]) => value));
    return printed.join('\n');
  };
}

/** Whether the example itself makes the value. */
const isDeclared = (name: string, body: string) => body.includes(`const ${name} =`);

const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as FunctionConstructor;

describe('The examples of the libraries', function () {
  this.timeout(60_000);
  let examples: readonly Example[];
  let run: Run;
  let mandate: Mandate;
  let registered: RegisteredAgent;
  let http: Server;
  let folder: string;
  let context: Readonly<Record<string, unknown>>;

  before(async () => {
    examples = await everyExample();
    mkdirSync('.mandate', { recursive: true });
    folder = mkdtempSync('.mandate/examples-');
    const port = await freePort();
    const audience = `http://127.0.0.1:${port}`;
    const key = await makeSigningKey('ES256');
    mandate = await startMandate({
      database: sqliteFile,
      issuer: 'own-address',
      settings: { ...approvalSettings({ audience, key }), 'Service:Me:ClientId': 'the-page' },
    });
    registered = await mandate.agent({ allowed_audiences: [audience] });
    const { issuer } = mandate;
    const agentKey = { jwk: { ...registered.key.privateJwk } };
    const agent = createAgent({ issuer, agentId: registered.id, key: agentKey });
    const toolServer = createToolServer({
      issuer,
      audience,
      approvalKey: { jwk: { ...key.privateJwk } },
      onAccess: () => undefined,
    });
    const app = express();
    const subjectToken = registered.subjectToken();
    const task = await agent.startTask({ subjectToken, resource: audience, scope: ['jira:read'] });
    const protect = expressProtection(toolServer);
    const policy = toolServer.policy({ scope: ['jira:read'] });
    const pem = createPrivateKey({ key: registered.key.privateJwk, format: 'jwk' }).export({
      type: 'pkcs8',
      format: 'pem',
    });
    const authorization = `Bearer ${await task.token()}`;
    const request = { headers: { authorization }, rawHeaders: ['Authorization', authorization] } as IncomingMessage;
    const { jwk, checkpoints } = publishedLedger;
    context = {
      issuer,
      agentId: registered.id,
      pem,
      subjectToken,
      resource: audience,
      agent,
      task,
      toolServer,
      policy,
      protect,
      app,
      request,
      keys: { keys: [jwk] },
      checkpoints: checkpoints.map(({ signed_bytes, ...checkpoint }) => checkpoint),
      marks: [],
      file: join(folder, 'bundle.json'),
    };
    run = await runnerOf(examples, context);
    const mcp = toNodeHandler(
      createMcpHandler(() => {
        const mcpServer = new McpServer({ name: 'jira', version: '1.0.0' });
        void run('@mandate/tool-server/mcp claimsOf', { mcpServer });
        return mcpServer;
      }),
    );
    await run('@mandate/tool-server/mcp mcpProtection', { mcp });
    await run('@mandate/tool-server/express expressProtection');
    await run('@mandate/tool-server/express claimsOf');
    const approval = () => ({ title: 'Delete the issue' });
    app.delete('/issues/:key', protect({ scope: ['jira:read'], approval }), (_, response) => response.send('Gone'));
    await run('@mandate/tool-server/express refuseUnknownRoutes');
    http = createServer(app).listen(port, '127.0.0.1');
  });
  after(async () => {
    await closeServer(http);
    await mandate.stop();
    rmSync(folder, { recursive: true });
  });

  it('are on each of their functions, classes and constants, in 3 to 10 lines', () => {
    const lines = (text = '') => text.match(/^.+$/gm)?.length ?? 0;
    const wrong = examples.filter(({ text }) => lines(text) < 3 || lines(text) > 10);
    expect(wrong.map(({ name }) => name)).to.deep.equal([]);
    expect(examples).to.have.lengthOf.above(15);
  });

  it('compile with the public names of the packages', () => {
    const files = examples.map(({ text = '' }, at) => {
      const [imports, body] = [text.match(/^import .*$/gm) ?? [], text.replaceAll(/^import .*$/gm, '')];
      const used = Object.entries(DECLARED).filter(
        ([name]) => new RegExp(`\\b${name}\\b`).test(body) && !isDeclared(name, body),
      );
      const declared = used.map(([name, type]) => `declare const ${name}: ${type};`);
      writeFileSync(join(folder, `${at}.ts`), [...imports, ...declared, body].join('\n'));
      return `${at}.ts`;
    });
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', files, include: [] }),
    );
    const { out } = compiled(join(folder, 'tsconfig.json'));
    expect(out).to.equal('');
  });

  it('of the tool server answer calls of the agent, and each says what it promises', async () => {
    const task = await (context.agent as ReturnType<typeof createAgent>).startTask({
      subjectToken: registered.subjectToken(),
      resource: String(context.resource),
      scope: ['jira:read'],
    });
    const text = async (path: string) => (await task.fetch(`${context.resource}${path}`)).text();
    expect(await text('/issues/OPS-7')).to.equal('Issue OPS-7');
    expect(await text('/me')).to.equal(`ada, through agent:${registered.id}`);
    expect(await text('/issues')).to.equal('All issues');
    expect(await text('/unknown')).to.include('unknown_route');
    const server = fastify();
    await run('@mandate/tool-server/fastify mandateProtection', { server });
    const headers = { authorization: `Bearer ${await task.token()}` };
    expect((await server.inject({ url: '/healthz' })).body).to.equal('Healthy');
    expect((await server.inject({ url: '/issues', headers })).body).to.equal('Issues for ada');
    expect((await server.inject({ url: '/issues' })).statusCode).to.equal(401);
    await run('@mandate/tool-server/opentelemetry openTelemetrySpans');
    // Its tool server writes the event to standard output.
    const { result, out } = await capturingOutput(() => run('@mandate/tool-server createToolServer'));
    expect([result, JSON.parse(out).decision]).to.deep.equal(['ada', 'allow']);
    expect(await run('@mandate/tool-server authorizationHeaders')).to.equal('ada');
    expect(await run('@mandate/tool-server refusalReasons')).to.equal('0');
  });

  it('of the agent get its answers and its errors', async () => {
    expect(await run('@mandate/agent createAgent')).to.equal('200 Issue OPS-7');
    expect(await run('@mandate/agent/mcp mcpAuthorization')).to.include(`Read for ada by agent:${registered.id}`);
    expect(await run('@mandate/agent ApprovalRequired')).to.match(/repeated: http:.*\/me\/approvals\//);
    expect(await run('@mandate/agent Refused')).to.match(/^invalid_scope \w/);
    const unavailable = createAgent({
      issuer: mandate.issuer,
      agentId: registered.id,
      key: { jwk: { ...registered.key.privateJwk } },
      patienceMs: 1,
      fetch: async () => new Response('', { status: 503 }),
    });
    expect(await run('@mandate/agent NotNow', { agent: unavailable })).to.match(/^Try again in \d+ ms\.$/);
    await (context.task as { end(): Promise<void> }).end();
    expect(await run('@mandate/agent TaskOver')).to.equal('Stop: ended');
  });

  it('of the auditor verify checkpoints and a bundle', async () => {
    const count = publishedLedger.checkpoints.length;
    expect(await run('@mandate/audit createAuditor')).to.equal(`${count} checkpoints are intact`);
    const ledger = await evidence(sqliteFile);
    await ledger.task(1);
    await ledger.publish();
    const { out } = await runMandate(['audit-bundle', '--from', '2026-01-01'], ledger.settings());
    writeFileSync(String(context.file), out);
    const thumbprints = ledger.thumbprints();
    await ledger.close();
    expect(await run('@mandate/audit verifyBundle', { thumbprints })).to.match(/^true /);
  });
});

function compiled(project: string): { readonly out: string } {
  try {
    return {
      out: execFileSync('node_modules/.bin/tsc', ['--noEmit', '--singleThreaded', '-p', project], { encoding: 'utf8' }),
    };
  } catch (error) {
    return { out: String((error as { readonly stdout?: string }).stdout) };
  }
}
