/** A SQLite file that the service cannot write: on a full disk, locked by another process, or read-only. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { asProgram } from '../../../scripts/from-source.ts';
import { type MandateProcess, startMandate as startProcess } from '../../../scripts/mandate-process.ts';
import { connectOutside, type FreshDatabase, sqliteFile } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import {
  ADMIN_KEY,
  type Answer,
  encodeForm,
  environmentOf,
  type Form,
  type RegisteredAgent,
  registerAgent,
  sendTo,
  startMandate,
  withService,
} from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { connectionTo } from '../../support/replicas/connection.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const MAIN = new URL('../../../composition/main.ts', import.meta.url);

const pathOf = ({ settings }: FreshDatabase) => settings['Service:Database:Path'] ?? '';

describe('A SQLite file on a full disk', function () {
  this.timeout(60_000);
  let provider: IdentityProvider;
  let home: string;
  let service: MandateProcess;
  let agent: RegisteredAgent;
  let path: string;
  let drop: () => Promise<void>;

  /** Sends a request without a retry. */
  const send = (form: Form, where = '/oauth2/token'): Promise<Answer> =>
    sendTo(`${service.issuer}${where}`, { method: 'POST', headers: FORM, body: encodeForm(form) });
  /** The status of `/readyz`, and its sentence about the database. */
  const readiness = async () => {
    const { status, body } = await sendTo(`${service.issuer}/readyz`, { headers: { accept: 'application/json' } });
    return [status, (body.checks as Record<string, { detail: string }>).database?.detail];
  };
  /** Limits the size of files that the service may write, as a full disk does. */
  const limitFiles = (bytes: number | 'unlimited') =>
    execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);

  before(async () => {
    provider = await startIdentityProvider({ algorithm: 'ES256' });
    home = mkdtempSync(join(tmpdir(), 'mandate-full-'));
    const database = await sqliteFile.fresh();
    path = pathOf(database);
    drop = database.drop;
    const settings = {
      ...database.settings,
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

  it('makes the service refuse decisions and answer reads until there is space again', async function () {
    if (process.platform !== 'linux') this.skip();
    const issued = await send(agent.exchangeForm());
    expect(issued.status).to.equal(200);
    // The log file of the service is far smaller, so it can still grow.
    limitFiles(statSync(`${path}-wal`).size);
    for (const form of [agent.exchangeForm(), agent.refreshForm(String(issued.body.refresh_token))]) {
      const refused = await send(form);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '5']);
      expect(refused.body.error).to.equal('temporarily_unavailable');
    }
    expect(await readiness()).to.deep.equal([200, FULL]);
    const introspected = await send({ token: String(issued.body.access_token) }, '/oauth2/introspect');
    expect(introspected.body.active).to.equal(true);
    limitFiles('unlimited');
    expect((await send(agent.refreshForm(String(issued.body.refresh_token)))).status).to.equal(200);
    expect(await readiness()).to.deep.equal([200, 'The database answers.']);
    const { admin, close } = connectionTo(service.issuer);
    const { body } = await admin('GET', '/audit');
    close();
    const events = (body.records as { event: string }[]).map(({ event }) => event);
    expect(events).to.deep.equal(['agent.registered', 'token.issued', 'token.refreshed']);
  });

  it('makes the service Degraded even without decisions, and Healthy again without a restart', async function () {
    if (process.platform !== 'linux') this.skip();
    // Room for one page in the log, and for the service's own log file.
    limitFiles(8_192);
    await eventually(async () => (await readiness())[1] === FULL, 20);
    limitFiles('unlimited');
    await eventually(async () => (await readiness())[1] === 'The database answers.', 20);
  });
});

/** A limit on the size of files is reported as a failed write. */
const FULL =
  "Decisions fail: the SQLite file's disk failed (SQLITE_IOERR_WRITE). Introspection and key sets are served.";

describe('A SQLite file that another process locked before the start', () => {
  it('makes the service healthy but unable to decide until the other process releases the lock', async function () {
    this.timeout(30_000);
    const database = await sqliteFile.fresh();
    const other = await connectOutside(database);
    await other.sql('begin immediate');
    await withService(startMandate({ database: { ...sqliteFile, fresh: async () => database } }), async (mandate) => {
      expect((await mandate.get('/healthz')).status).to.equal(200);
      const blocked = await mandate.admin('PUT', '/admin/sponsors/somebody/block');
      expect([blocked.status, blocked.headers.get('retry-after')]).to.deep.equal([503, '5']);
      await other.sql('rollback');
      await other.close();
      const agent = await mandate.agent();
      expect((await agent.exchange()).status).to.equal(200);
    });
  });
});

describe('A read-only SQLite file', () => {
  for (const [title, command, isThere] of [
    ['makes mandate serve exit with 1, one sentence and no stack', 'serve', true],
    ['makes mandate migrate exit with 1, one sentence and no stack', 'migrate', true],
    ['that does not exist yet, in a read-only folder, makes mandate migrate exit so', 'migrate', false],
  ] as const) {
    it(title, async function () {
      this.timeout(30_000);
      const database = await sqliteFile.fresh();
      const path = pathOf(database);
      if (isThere) chmodSync(path, 0o444);
      else rmSync(path);
      chmodSync(dirname(path), 0o555);
      const settings = { ...database.settings, ...unreachable, PORT: '0' };
      const { command: program, args } = withoutSuperpowers([process.execPath, ...asProgram(MAIN), command]);
      const child = spawn(program, args, {
        env: { PATH: process.env.PATH, ...environmentOf(settings) },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let [log, complaint] = ['', ''];
      child.stdout.on('data', (chunk) => {
        log += chunk;
      });
      child.stderr.on('data', (chunk) => {
        complaint += chunk;
      });
      const [code] = await once(child, 'close');
      expect([code, complaint]).to.deep.equal([
        1,
        'mandate: Service:Database:Path (Service__Database__Path) names a file that this user may not write to, or whose directory this user may not write to.\n',
      ]);
      expect(log).not.to.match(/"stack"|"level":"error"/);
      chmodSync(dirname(path), 0o755);
      await database.drop();
    });
  }
});

const unreachable = {
  'Service:Issuer': 'https://mandate.test',
  'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
  'Service:UpstreamIdp:Audience': 'https://mandate.test',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  NODE_ENV: 'development',
};

/** Runs the command without root's right to write to any file. */
function withoutSuperpowers([command = '', ...args]: readonly string[]): { command: string; args: readonly string[] } {
  if (process.getuid?.() !== 0) return { command, args };
  return { command: 'setpriv', args: ['--bounding-set', '-dac_override', command, ...args] };
}
