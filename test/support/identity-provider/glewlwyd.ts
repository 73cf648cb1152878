/**
 * Glewlwyd, an OpenID provider written in C, where Debian's package `glewlwyd` is installed. It runs in a temporary
 * folder on its own port, with a SQLite file. Its admin API sets it up, as docs/providers/openid.md describes.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { freePort } from '../../../scripts/free-port.ts';
import { eventually } from '../eventually.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';
import { asUser, type GlewlwydSetup, type Json, oidcPlugin, pluginInstance, users } from './glewlwyd-setup.ts';
import type { Person } from './people.ts';

const GLEWLWYD = '/usr/bin/glewlwyd';
/** The package's own schema, with its first administrator. */
const SCHEMA = '/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3';
/** Its API finds people by their user names alone. */
const PERSON = `select gu_enabled from gpo_subject_identifier join g_user on gu_username = gposi_username
  where gposi_sub = ?`;
const ADMINISTRATOR = { username: 'admin', password: 'password' };
const MODULES = '/usr/lib/glewlwyd';
const PAGES = '/usr/share/glewlwyd/webapp';
const PAGES_SETTINGS = '/usr/share/glewlwyd/templates/config.json';

export const glewlwydIsInstalled = (): boolean =>
  [GLEWLWYD, SCHEMA, PAGES, PAGES_SETTINGS].every((file) => existsSync(file));

export interface Glewlwyd {
  readonly issuer: string;
  readonly tokenUrl: string;
  /** Changes a client. Given members replace those of the setup. */
  changeClient(clientId: string, changes: Json): Promise<void>;
  setEnabled(person: Person, enabled: boolean): Promise<void>;
  /** Whether the person is enabled, as its database says; `undefined` if no person has this `sub`. */
  isEnabled(sub: string): boolean | undefined;
  /** Signs with a new key from now on. The old key stays published only with `keepFormer`. */
  rotateKeys(options?: { readonly keepFormer?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

export async function startGlewlwyd(setup: GlewlwydSetup): Promise<Glewlwyd> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const home = mkdtempSync(join(tmpdir(), 'mandate-glewlwyd-'));
  const database = join(home, 'glewlwyd.db');
  const tables = new SQLite(database);
  tables.exec(readFileSync(SCHEMA, 'utf8'));
  tables.close();
  const pages = copyOfPages(home);
  const file = join(home, 'glewlwyd.conf');
  writeFileSync(file, configuration(port, database, pages));
  const child = spawn(GLEWLWYD, ['-c', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  await eventually(() => said.includes(`started on port ${port}`) || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`Glewlwyd ended: ${said}`);

  const admin = await administrator(address);
  const issuer = `${address}/api/oidc`;
  let keys: readonly SigningKey[] = [await makeSigningKey('ES256')];
  await admin('PUT', '/mod/user/database', users);
  await admin('PUT', '/mod/user/database/reset');
  for (const name of setup.scopes)
    await admin('POST', '/scope/', { name, display_name: name, password_required: true });
  await admin('POST', '/mod/plugin/', { ...pluginInstance, parameters: oidcPlugin(setup, issuer, keys) });
  for (const person of setup.people) await admin('POST', '/user/', { ...asUser(person), password: person.password });
  for (const client of setup.clients) await admin('POST', '/client/', client);

  return {
    ...{ issuer, tokenUrl: `${issuer}/token` },
    async changeClient(clientId, changes) {
      const client = setup.clients.find(({ client_id }) => client_id === clientId);
      await admin('PUT', `/client/${clientId}`, { ...client, ...changes });
    },
    setEnabled: (person, enabled) => admin('PUT', `/user/${person.username}`, { ...asUser(person), enabled }),
    isEnabled(sub) {
      const reader = new SQLite(database, { readonly: true });
      const row = reader.prepare(PERSON).get(sub) as { readonly gu_enabled: number } | undefined;
      reader.close();
      return row && row.gu_enabled === 1;
    },
    async rotateKeys({ keepFormer = false } = {}) {
      // It signs with the first key.
      keys = [await makeSigningKey('ES256'), ...(keepFormer ? keys : [])];
      await admin('PUT', '/mod/plugin/oidc', { ...pluginInstance, parameters: oidcPlugin(setup, issuer, keys) });
      await admin('PUT', '/mod/plugin/oidc/reset');
    },
    async stop() {
      if (child.exitCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      rmSync(home, { recursive: true });
    },
  };
}

/** In the package, the settings of the pages are a folder, which the pages cannot read. */
function copyOfPages(home: string): string {
  const pages = join(home, 'pages');
  cpSync(PAGES, pages, { recursive: true, dereference: true, filter: (file) => !file.endsWith('config.json') });
  cpSync(PAGES_SETTINGS, join(pages, 'config.json'));
  return pages;
}

function configuration(port: number, database: string, pages: string): string {
  return `port=${port}
bind_address="127.0.0.1"
external_url="http://127.0.0.1:${port}"
login_url="login.html"
static_files_path="${pages}/"
api_prefix="api"
log_mode="console"
log_level="INFO"
cookie_secure=0
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="${MODULES}/user"
client_module_path="${MODULES}/client"
user_auth_scheme_module_path="${MODULES}/scheme"
plugin_module_path="${MODULES}/plugin"
hash_algorithm="SHA512"
database={ type="sqlite3" path="${database}" };
static_files_mime_types=(
  { extension=".html" mime_type="text/html" },
  { extension=".css" mime_type="text/css" },
  { extension=".js" mime_type="application/javascript" },
  { extension=".json" mime_type="application/json" }
)
`;
}

/** Signs in as its administrator, and returns a function that sends requests to its admin API. */
async function administrator(address: string) {
  let cookie = '';
  const send = async (method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await fetch(`${address}/api${path}`, {
      method,
      headers: { cookie, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status !== 200) {
      throw new Error(`Glewlwyd answered ${answer.status} to ${method} ${path}: ${await answer.text()}`);
    }
    const [session = cookie] = answer.headers.getSetCookie();
    cookie = session.split(';')[0] ?? '';
  };
  await send('POST', '/auth/', ADMINISTRATOR);
  return send;
}
