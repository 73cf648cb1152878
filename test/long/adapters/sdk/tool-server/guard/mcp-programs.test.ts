/**
 * MCP programs of others at both ends of the proxy: `@modelcontextprotocol/server-everything` behind it, and in front the
 * clients of both SDKs, `mcp-remote` and the inspector's command line.
 */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { freePort } from '../../../../../../scripts/free-port.ts';
import { type CommandProcess, startCommand } from '../../../../../support/command-process.ts';
import { packageProgram } from '../../../../../support/package-program.ts';
import { proxyForEachTest } from '../../../../../support/tool-server/proxied-upstream.ts';

const EVERYTHING = pathToFileURL(packageProgram('@modelcontextprotocol/server-everything'));
const REMOTE = packageProgram('mcp-remote', 'mcp-remote');
const INSPECTOR = packageProgram('@modelcontextprotocol/inspector-cli');

const read = { scope: ['jira:read'] };
const tools = {
  echo: read,
  'get-roots-list': read,
  'trigger-long-running-operation': read,
  'trigger-sampling-request': read,
  'get-sum': { scope: ['jira:admin'] },
};
const methods = { 'resources/list': read, 'resources/read': read, 'resources/subscribe': read };

const CAPABILITIES = { capabilities: { sampling: {}, roots: {} } };
const INFO = { name: 'triage', version: '1.0.0' };
const SAMPLE = { model: 'none', role: 'assistant' as const, content: { type: 'text' as const, text: 'A sample.' } };
const ROOTS = { roots: [{ uri: 'file:///work', name: 'work' }] };
const RESOURCE = { uri: 'demo://resource/dynamic/text/1' };
const LONG = { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } };

/** What the test uses of a client. Progress is counted. */
interface Connected {
  call(name: string, given?: Record<string, unknown>): Promise<unknown>;
  callLong(): Promise<number>;
  tools(): Promise<readonly string[]>;
  resource(): Promise<unknown>;
  close(): Promise<void>;
}

async function withSdk1(transport: unknown): Promise<Connected> {
  const client = new Client1(INFO, CAPABILITIES);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLE);
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  // The types of SDK 1 do not support exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client1['connect']>[0]);
  return {
    call: async (name, given = {}) => (await client.callTool({ name, arguments: given })).content,
    async callLong() {
      let steps = 0;
      await client.callTool(LONG, undefined, { onprogress: () => (steps += 1) });
      return steps;
    },
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async resource() {
      await client.listResources();
      await client.subscribeResource(RESOURCE);
      return (await client.readResource(RESOURCE)).contents[0]?.uri;
    },
    close: () => client.close(),
  };
}

async function withSdk2(url: URL, headers: Record<string, string>, mode: 'auto' | 'legacy'): Promise<Connected> {
  const client = new Client2(INFO, { ...CAPABILITIES, versionNegotiation: { mode } });
  client.setRequestHandler('sampling/createMessage', () => SAMPLE);
  client.setRequestHandler('roots/list', () => ROOTS);
  await client.connect(new Transport2(url, { requestInit: { headers } }));
  return {
    call: async (name, given = {}) => (await client.callTool({ name, arguments: given })).content,
    async callLong() {
      let steps = 0;
      await client.callTool(LONG, { onprogress: () => (steps += 1) });
      return steps;
    },
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async resource() {
      await client.listResources();
      await client.subscribeResource(RESOURCE);
      return (await client.readResource(RESOURCE)).contents[0]?.uri;
    },
    close: () => client.close(),
  };
}

describe('The proxy between MCP programs of others', function () {
  this.timeout(120_000);
  const proxy = proxyForEachTest();
  const { events, decided } = proxy;
  let everything: CommandProcess;
  let origin: string;
  let folder: string;
  before(async () => {
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    everything = startCommand(['streamableHttp'], { PORT: `${port}` }, undefined, EVERYTHING);
    await everything.complained('listening on port');
    folder = mkdtempSync(join(tmpdir(), 'mandate-mcp-'));
  });
  after(async () => {
    everything.child.kill('SIGKILL');
    await everything.ended;
    rmSync(folder, { recursive: true });
  });

  const start = async (list: 'all' | 'allowed' = 'all') =>
    new URL(`${await proxy.start(origin, { routes: [], mcp: { path: '/mcp', tools, methods, list } })}/mcp`);
  const headers = () => Object.fromEntries([proxy.bearer()]);
  const lineOf = ([name, value]: readonly [string, string]) => `${name}: ${value}`;

  const clients: readonly (readonly [name: string, connect: (url: URL) => Promise<Connected>])[] = [
    ['the client of SDK 1', (url) => withSdk1(new Transport1(url, { requestInit: { headers: headers() } }))],
    ['the client of SDK 2', (url) => withSdk2(url, headers(), 'auto')],
    ['the client of SDK 2 with a handshake', (url) => withSdk2(url, headers(), 'legacy')],
    [
      'mcp-remote',
      (url) =>
        withSdk1(
          new StdioClientTransport({
            command: process.execPath,
            args: [REMOTE, url.href, '--transport', 'http-only', '--header', lineOf(proxy.bearer())],
            env: { HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
            stderr: 'ignore',
          }),
        ),
    ],
  ];
  for (const [name, connect] of clients) {
    it(`serves ${name}: calls, requests of the server, progress, resources, and a refusal`, async () => {
      const client = await connect(await start());
      try {
        expect(await client.tools())
          .to.include('echo')
          .and.include('get-sum');
        expect(await client.call('echo', { message: 'hello' })).to.deep.equal([{ type: 'text', text: 'Echo: hello' }]);
        // The server asks on the stream of the call, and on the one of the session.
        expect(JSON.stringify(await client.call('trigger-sampling-request', { prompt: 'x' }))).to.include('A sample.');
        expect(JSON.stringify(await client.call('get-roots-list'))).to.include('file:///work');
        // Of four steps, the clients lose the last one if the result arrives together with it.
        expect(await client.callLong()).to.be.within(3, 4);
        expect(await client.resource()).to.equal(RESOURCE.uri);
        events.length = 0;
        const refused = await client.call('get-sum', { a: 1, b: 2 }).catch((error: unknown) => error);
        expect(refused).to.be.instanceOf(Error);
        expect(events.map(({ route, reason, sub }) => [route, reason, sub])).to.deep.include([
          ...['get-sum', 'insufficient_scope', 'ada'],
        ]);
      } finally {
        await client.close();
      }
      // The file lacks policies for some of the server's tools: these alone are named, once.
      expect(proxy.errors).to.have.lengthOf(1);
      expect(proxy.errors[0]).to.match(/^Tools without a policy: (?!.*\b(?:echo|get-sum)\b).*\bget-tiny-image\b/);
    });
  }

  for (const [name, connect] of clients) {
    it(`shows ${name} only the tools that its token may call, and serves it as before`, async () => {
      const client = await connect(await start('allowed'));
      try {
        const named = await client.tools();
        expect(named).to.include('echo');
        expect(Object.keys(tools).filter((tool) => tool !== 'get-sum')).to.include.members([...named]);
        expect(await client.call('echo', { message: 'hello' })).to.deep.equal([{ type: 'text', text: 'Echo: hello' }]);
        expect(JSON.stringify(await client.call('trigger-sampling-request', { prompt: 'x' }))).to.include('A sample.');
        expect(await client.callLong()).to.be.within(3, 4);
        expect(await client.resource()).to.equal(RESOURCE.uri);
      } finally {
        await client.close();
      }
      expect(proxy.errors).to.have.lengthOf(1);
    });
  }

  it('shows the inspector only the tools that its token may call', async () => {
    const { href } = await start('allowed');
    const args = ['--cli', href, '--transport', 'http', '--header', lineOf(proxy.bearer()), '--method', 'tools/list'];
    const { stdout } = await promisify(execFile)(process.execPath, [INSPECTOR, ...args], { cwd: dirname(INSPECTOR) });
    const named = JSON.parse(stdout).tools.map(({ name }: { name: string }) => name);
    expect(named).to.include('echo').and.not.include('get-sum').and.not.include('get-tiny-image');
  });

  it('serves the inspector’s command line', async () => {
    const url = await start();
    const inspect = async (...args: readonly string[]) => {
      const all = ['--cli', url.href, '--transport', 'http', '--header', lineOf(proxy.bearer()), ...args];
      // It reads its own version in the parent of the working directory.
      const { stdout } = await promisify(execFile)(process.execPath, [INSPECTOR, ...all], { cwd: dirname(INSPECTOR) });
      return JSON.parse(stdout);
    };
    expect((await inspect('--method', 'tools/list')).tools.map(({ name }: { name: string }) => name)).to.include(
      'echo',
    );
    const called = await inspect('--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hello');
    expect(called.content).to.deep.equal([{ type: 'text', text: 'Echo: hello' }]);
    expect(decided()).to.deep.include(['echo', 'allow', null]);
    const failed = await inspect('--method', 'tools/call', '--tool-name', 'get-tiny-image').catch(({ code }) => code);
    expect(failed).to.equal(1);
    expect(decided()).to.deep.include(['get-tiny-image', 'deny', 'unknown_tool']);
  });
});
