/**
 * Glewlwyd, an OpenID provider written in C, where Debian's package is installed. The scripts of docs/examples/glewlwyd
 * start it in a temporary folder on its own port, and set it up; a test adds people and clients by its admin API.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../../scripts/free-port.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';
import type { Person } from './people.ts';

const PROGRAMS = ['/usr/bin/glewlwyd', '/usr/bin/sqlite3', '/usr/bin/curl'];
const ADMINISTRATOR = { username: 'admin', password: 'password' };
const run = promisify(execFile);

export const glewlwydIsInstalled = (): boolean => PROGRAMS.every((file) => existsSync(file));

export const glewlwydScript = (name: string): string =>
  fileURLToPath(new URL(`../../../docs/examples/glewlwyd/${name}`, import.meta.url));

type Json = Readonly<Record<string, unknown>>;

/** The addresses that the scripts read from their environment. */
export interface Addresses {
  readonly MANDATE: string;
  readonly CONSOLE: string;
  readonly PORTAL: string;
}

export interface Glewlwyd {
  readonly issuer: string;
  readonly tokenUrl: string;
  /** Its SQLite file. */
  readonly database: string;
  /** Runs a script of the example in its folder. Resolves with the output. */
  runScript(name: string, ...args: readonly string[]): Promise<string>;
  addPerson(person: Person): Promise<void>;
  setEnabled(person: Person, enabled: boolean): Promise<void>;
  addClient(client: Json): Promise<void>;
  /** Given members replace those of the client. */
  changeClient(clientId: string, changes: Json): Promise<void>;
  /** Signs with a new key from now on. The key before stays published only with `keepFormer`. */
  rotateKeys(options?: { readonly keepFormer?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

export async function startGlewlwyd(addresses: Addresses): Promise<Glewlwyd> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const home = mkdtempSync(join(tmpdir(), 'mandate-glewlwyd-'));
  const environment = { ...process.env, ...addresses, GLEWLWYD: address, GLEWLWYD_PORT: String(port) };
  const child = spawn('sh', [glewlwydScript('start.sh')], { cwd: home, env: environment });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(home, { recursive: true });
  };
  const runScript: Glewlwyd['runScript'] = async (name, ...args) =>
    (await run('sh', [glewlwydScript(name), ...args], { cwd: home, env: environment })).stdout;
  try {
    await runScript('set-up.sh');
  } catch (error) {
    await stop();
    throw new Error(`Glewlwyd could not be set up. It said: ${said}`, { cause: error });
  }
  const admin = await administrator(address);
  let keys: readonly SigningKey[] = [];

  return {
    issuer: `${address}/api/oidc`,
    tokenUrl: `${address}/api/oidc/token`,
    database: join(home, 'glewlwyd.db'),
    runScript,
    async addPerson(person) {
      await admin('POST', '/user/', { ...asUser(person), password: person.password });
    },
    async setEnabled(person, enabled) {
      await admin('PUT', `/user/${person.username}`, { ...asUser(person), enabled });
    },
    async addClient(client) {
      await admin('POST', '/client/', client);
    },
    async changeClient(clientId, changes) {
      const path = `/client/${clientId}`;
      await admin('PUT', path, { ...(await admin('GET', path)), ...changes });
    },
    async rotateKeys({ keepFormer = false } = {}) {
      keys = [await makeSigningKey('ES256'), ...(keepFormer ? keys : [])];
      const plugin = await admin('GET', '/mod/plugin/oidc');
      // It signs with the first key of the set, which takes the place of the key from the script.
      const set = JSON.stringify({ keys: keys.map(({ privateJwk }) => privateJwk) });
      const parameters = { ...(plugin.parameters as Json), 'jwks-private': set };
      await admin('PUT', '/mod/plugin/oidc', { ...plugin, parameters });
      await admin('PUT', '/mod/plugin/oidc/reset');
    },
    stop,
  };
}

function asUser({ username, name, scopes, claims = {} }: Person): Json {
  return { username, name, scope: ['openid', ...scopes], roles: [], ...claims };
}

/** Signs in as its administrator, and returns a function that sends requests to its admin API. */
async function administrator(address: string) {
  let cookie = '';
  const send = async (method: string, path: string, body?: Json): Promise<Json> => {
    const answer = await fetch(`${address}/api${path}`, {
      method,
      headers: { cookie, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`Glewlwyd answered ${answer.status} to ${method} ${path}: ${text}`);
    const [session = cookie] = answer.headers.getSetCookie();
    cookie = session.split(';')[0] ?? '';
    return text === '' ? {} : JSON.parse(text);
  };
  await send('POST', '/auth/', ADMINISTRATOR);
  return send;
}
