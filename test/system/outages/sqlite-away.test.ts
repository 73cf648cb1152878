/** A SQLite file that cannot be written: a full disk, another process that keeps it locked, a file that may only be read. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { variableOf } from '../../../composition/startup-error.ts';
import { asProgram } from '../../../scripts/from-source.ts';
import { type MandateProcess, startMandate as startProcess } from '../../../scripts/mandate-process.ts';
import { databases, type FreshDatabase } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import {
  ADMIN_KEY,
  type Answer,
  encodeForm,
  type Form,
  type RegisteredAgent,
  registerAgent,
  startMandate,
} from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { connectionTo } from '../../support/replicas/connection.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const MAIN = fileURLToPath(new URL('../../../composition/main.ts', import.meta.url));

async function aFile(): Promise<{ database: FreshDatabase; path: string }> {
  const [sqlite] = databases.filter(({ engine }) => engine === 'sqlite');
  const database = await sqlite?.fresh();
  if (database === undefined) throw new Error('there is no SQLite file to test on');
  return { database, path: database.settings['Service:Database:Path'] ?? '' };
}

function environmentOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), value]));
}

describe('a SQLite file on a full disk', function () {
  this.timeout(60_000);
  let provider: IdentityProvider;
  let home: string;
  let service: MandateProcess;
  let agent: RegisteredAgent;
  let path: string;
  let drop: () => Promise<void>;

  /** Asks once: what is answered 503 is not asked again. */
  const send = async (form: Form, where = '/oauth2/token'): Promise<Answer> => {
    const body = encodeForm(form);
    const answer = await fetch(`${service.issuer}${where}`, { method: 'POST', headers: FORM, body });
    return { status: answer.status, headers: answer.headers, text: '', body: JSON.parse(await answer.text()) };
  };
  /** What the process may write to one file, as if the disk ended there. */
  const limitFiles = (bytes: number | 'unlimited') =>
    execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);

  before(async () => {
    provider = await startIdentityProvider({ algorithm: 'ES256' });
    home = mkdtempSync(join(tmpdir(), 'mandate-full-'));
    const file = await aFile();
    path = file.path;
    drop = file.database.drop;
    const settings = {
      ...file.database.settings,
      ...sharedSigningKey(),
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      NODE_ENV: 'development',
    };
    service = await startProcess(environmentOf(settings), home, asProgram(MAIN), 'applied');
    const { admin, post, close } = connectionTo(service.issuer);
    agent = await registerAgent({ admin, post, issuer: service.issuer, provider, clock: movedClock() }, {});
    close();
  });
  after(async () => {
    await service.stop();
    await provider.stop();
    await drop();
    rmSync(home, { recursive: true, force: true });
  });

  it('refuses what it cannot record, goes on reading, and decides again once there is room', async function () {
    if (process.platform !== 'linux') this.skip();
    const issued = await send(agent.exchangeForm());
    expect(issued.status).to.equal(200);
    // The log must still find room: it is far shorter than this.
    limitFiles(statSync(`${path}-wal`).size);
    for (const form of [agent.exchangeForm(), agent.refreshForm(String(issued.body.refresh_token))]) {
      const refused = await send(form);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '5']);
      expect(refused.body.error).to.equal('temporarily_unavailable');
    }
    const introspected = await send({ token: String(issued.body.access_token) }, '/oauth2/introspect');
    expect(introspected.body.active).to.equal(true);
    limitFiles('unlimited');
    expect((await send(agent.refreshForm(String(issued.body.refresh_token)))).status).to.equal(200);
    const { admin, close } = connectionTo(service.issuer);
    const { body } = await admin('GET', '/audit');
    close();
    const events = (body.records as { event: string }[]).map(({ event }) => event);
    expect(events).to.deep.equal(['agent.registered', 'token.issued', 'token.refreshed']);
  });
});

describe('a SQLite file that another process keeps locked from before the start', () => {
  it('is healthy, refuses to decide, and decides without a restart once it is let go', async function () {
    this.timeout(30_000);
    const { database } = await aFile();
    const other = await database.outside?.();
    if (other === undefined) throw new Error('the file cannot be reached from outside');
    await other.sql('begin immediate');
    const mandate = await startMandate({
      database: { name: 'a locked file', engine: 'sqlite', fresh: async () => database },
    });
    expect((await mandate.get('/healthz')).status).to.equal(200);
    const blocked = await mandate.admin('PUT', '/admin/sponsors/somebody/block');
    expect([blocked.status, blocked.headers.get('retry-after')]).to.deep.equal([503, '5']);
    await other.sql('rollback');
    await other.close();
    const agent = await mandate.agent();
    expect((await agent.exchange()).status).to.equal(200);
    await mandate.stop();
  });
});

describe('a SQLite file that may only be read', () => {
  it('is not served: nothing could be recorded', async function () {
    this.timeout(30_000);
    const { database, path } = await aFile();
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o555);
    const { command, args } = withoutSuperpowers([process.execPath, ...asProgram(MAIN), 'serve']);
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, ...environmentOf({ ...database.settings, ...unreachable, PORT: '0' }) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    child.stderr.on('data', (chunk) => {
      complaint += chunk;
    });
    const [code] = await once(child, 'close');
    expect([code, complaint]).to.deep.equal([
      1,
      'mandate: Service:Database:Path (Service__Database__Path) names a file that this user may not write to, or whose directory this user may not write to.\n',
    ]);
    chmodSync(dirname(path), 0o755);
    await database.drop();
  });
});

const unreachable = {
  'Service:Issuer': 'https://mandate.test',
  'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
  'Service:UpstreamIdp:Audience': 'https://mandate.test',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  NODE_ENV: 'development',
};

/** The superuser may write what nobody may, unless that right is taken away. */
function withoutSuperpowers([command = '', ...args]: readonly string[]): { command: string; args: readonly string[] } {
  if (process.getuid?.() !== 0) return { command, args };
  return { command: 'setpriv', args: ['--bounding-set', '-dac_override', command, ...args] };
}
