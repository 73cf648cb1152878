/** `mcp-remote`, unmodified: a program that speaks MCP over its standard input, and asks the person in a browser. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { packageProgram } from '../package-program.ts';
import { type Shown, shown } from '../tool-server/paying-mcp.ts';

const PROGRAM = packageProgram('mcp-remote', 'mcp-remote');
const ADDRESS = /Please authorize this client by visiting:\n(\S+)/g;

export interface McpRemote {
  /** The addresses that it asked the person to visit. */
  opened(): readonly URL[];
  /** Resolves with the nth of them, counted from 0. */
  untilOpened(nth: number): Promise<URL>;
  /** Connects a client to it. It answers after the person has signed in. */
  connect(): Promise<void>;
  /** The names in the list of tools. */
  tools(): Promise<readonly string[]>;
  /** The text of the tool's answer, which comes after the person has signed in, if that is needed. */
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The same, and whether the answer is an error. */
  result(tool: string, args?: Readonly<Record<string, unknown>>): Promise<Shown>;
  /** What it wrote to its standard error. */
  said(): string;
  /** Ends the process. Its files stay for the next one. */
  close(): Promise<void>;
}

/** The folder of its files, for one test. */
export function remoteFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'mandate-mcp-remote-'));
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

/** @param more options of its command line */
export function mcpRemote(endpoint: string, folder: string, more: readonly string[]): McpRemote {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, endpoint, ...more, '--transport', 'http-only', '--auth-timeout', '120'],
    // It starts the program that BROWSER names.
    env: { HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true', PATH: process.env.PATH ?? '' },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk) => {
    said += String(chunk);
  });
  const client = new Client({ name: 'triage', version: '1.0.0' });
  const result: McpRemote['result'] = async (name, args = {}) =>
    shown(await client.callTool({ name, arguments: args }, undefined, { timeout: 110_000 }));
  const opened = () => [...said.matchAll(ADDRESS)].map(([, address = '']) => new URL(address));
  return {
    opened,
    said: () => said,
    untilOpened: (nth) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const address = opened()[nth];
          if (address !== undefined) resolve(address);
        };
        transport.stderr?.on('data', look);
        transport.stderr?.once('end', () => reject(new Error(`mcp-remote ended: ${said}`)));
        look();
      }),
    // The types of SDK 1 do not support exactOptionalPropertyTypes.
    connect: () => client.connect(transport as Parameters<Client['connect']>[0], { timeout: 110_000 }),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    result,
    call: async (name, args) => (await result(name, args)).text,
    close: () => client.close(),
  };
}
