/**
 * The MCP inspector, unmodified: its program serves a page, which a person uses in a browser. npm installs it once, beside the
 * dependencies and not among them: it asks for a newer Node than this repository, though it runs on Node 20 too.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { freePort } from '../../../scripts/free-port.ts';
import { npm, root } from '../packed-packages.ts';
import { type Paying, shown } from '../tool-server/paying-mcp.ts';

const VERSION = '2.12.0';
const PROGRAM = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';
/** Its default of 30 seconds is too short for a busy machine. */
const CONNECTION_TIMEOUT_MS = 120_000;
const SERVER = 'jira';

export interface Inspector {
  /** The address that it prints, with the key of its page. */
  readonly address: string;
  stop(): Promise<void>;
}

/** What the person would write into the settings of the server. */
export interface ServerSettings {
  readonly oauth?: { readonly clientId: string };
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocolEra?: 'modern';
}

export async function startInspector(endpoint: string, settings: ServerSettings = {}): Promise<Inspector> {
  const program = await installed();
  const home = mkdtempSync(join(tmpdir(), 'mandate-inspector-'));
  const catalog = join(home, 'servers.json');
  const server = { type: 'streamable-http', url: endpoint, connectionTimeout: CONNECTION_TIMEOUT_MS, ...settings };
  writeFileSync(catalog, JSON.stringify({ mcpServers: { [SERVER]: server } }));
  const child = spawn(process.execPath, [program, '--web', '--catalog', catalog], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLIENT_PORT: String(await freePort()),
      MCP_SANDBOX_PORT: String(await freePort()),
      MCP_AUTO_OPEN_ENABLED: 'false',
      MCP_INSPECTOR_SECRET_STORE: 'memory',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  let address: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    address = /http:\S+MCP_INSPECTOR_API_TOKEN=\S+/.exec(line)?.[0];
    if (address !== undefined) break;
  }
  if (address === undefined) throw new Error('The inspector ended before it served its page.');
  // It stops when nothing takes its output.
  child.stdout.resume();
  return {
    address,
    async stop() {
      child.kill();
      await exited;
      rmSync(home, { recursive: true });
    },
  };
}

/** Its command line, with a token that it has from elsewhere. Each of its calls is a process of its own. */
export async function inspectorCommand(endpoint: string, token: string, era: 'legacy' | 'modern'): Promise<Paying> {
  const program = await installed();
  const home = mkdtempSync(join(tmpdir(), 'mandate-inspector-'));
  const inspect = async (...args: readonly string[]) => {
    const all = ['--cli', endpoint, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, ...args];
    const more = ['--protocol-era', era, '--connect-timeout', `${CONNECTION_TIMEOUT_MS}`];
    const env = { PATH: process.env.PATH, HOME: home };
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...all, ...more], { env }).catch(
      (ended: { readonly stdout: string; readonly stderr: string }) => {
        // It prints a result that is an error too, and then ends with a status of its own.
        if (ended.stderr.includes('"tool_is_error"')) return ended;
        throw new Error(`The inspector ended: ${ended.stderr}`);
      },
    );
    return JSON.parse(stdout);
  };
  return {
    tools: async () => (await inspect('--method', 'tools/list')).tools.map(({ name }: { name: string }) => name),
    call: async (args, name = 'pay') =>
      shown(await inspect('--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args))),
    close: async () => rmSync(home, { recursive: true }),
  };
}

/** @returns the program */
async function installed(): Promise<string> {
  const home = join(root, 'node_modules', '.cache', 'mandate-inspector');
  const folder = join(home, VERSION);
  if (!existsSync(folder)) {
    mkdirSync(home, { recursive: true });
    const unfinished = mkdtempSync(join(home, 'unfinished-'));
    const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', unfinished];
    await npm(['install', ...quietly, `@modelcontextprotocol/inspector@${VERSION}`], unfinished);
    renameSync(unfinished, folder);
  }
  return join(folder, PROGRAM);
}

/** What a person does on its page. */
export interface InspectorPage {
  /** Connects to the server. */
  connect(): Promise<void>;
  /** Waits until it is connected, and opens the list of tools. @returns their names */
  tools(): Promise<readonly string[]>;
  /** Runs a tool of the list. @param fields of its form, by label */
  run(tool: string, fields?: Readonly<Record<string, string>>): Promise<void>;
  /** The JSON with which the tool answered. */
  result(): Promise<string>;
  /** Waits until the tool has answered with this text. */
  answered(text: string): Promise<void>;
  /** Opens the address that the server asks the person to visit. @returns the page behind it */
  openAsked(): Promise<Page>;
  /** Tells it that the person has done there what the server asked for. */
  goOn(): Promise<void>;
  /** Agrees to ask for the scopes that a tool lacks. @returns what the page says of them */
  askForScopes(): Promise<string>;
}

export function inspectorPage(page: Page): InspectorPage {
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  // The inputs of its tabs are hidden behind their labels, and have the keyboard's focus.
  const openTab = (name: string) => page.getByRole('radio', { name, exact: true }).press('Space');
  return {
    connect: () => page.getByRole('switch', { name: `Connect or disconnect "${SERVER}"` }).press('Space'),
    async tools() {
      await button('Disconnect from server').waitFor();
      await openTab('Tools');
      const list = page
        .getByRole('main')
        .getByRole('button')
        .filter({ hasText: /^(?:[a-z]+_[a-z]+|comment|pay|balance)$/ });
      await list.first().waitFor();
      return list.allInnerTexts();
    },
    async run(tool, fields = {}) {
      if (await button('Close results').isVisible()) await button('Close results').click();
      await button(tool).click();
      for (const [name, value] of Object.entries(fields)) {
        await page.getByRole('textbox', { name, exact: true }).fill(value);
      }
      await button('Execute Tool').click();
    },
    async result() {
      await page.getByRole('heading', { name: 'Results' }).waitFor();
      return page.getByRole('main').locator('.ace_content').first().innerText();
    },
    answered: (text) => page.getByRole('main').getByText(text, { exact: true }).waitFor(),
    async openAsked() {
      const [opened] = await Promise.all([page.waitForEvent('popup'), button('Open in Browser').click()]);
      return opened;
    },
    goOn: () => button("I've completed it").click(),
    async askForScopes() {
      const dialog = page.getByRole('dialog', { name: 'Additional permissions required' });
      const said = await dialog.getByRole('list').innerText();
      await dialog.getByRole('button', { name: 'Authorize', exact: true }).click();
      return said;
    },
  };
}
