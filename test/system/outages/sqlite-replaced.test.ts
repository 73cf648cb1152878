/** The file at Service:Database:Path is not the one that the service opened, or another process serves it too. */

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { FILE_CHECK_MS } from '../../../adapters/storage/sqlite/limits.ts';
import { openSqlite } from '../../../adapters/storage/sqlite/open.ts';
import { openSqliteCondition } from '../../../adapters/storage/sqlite/open-ledger.ts';
import { REPLACED } from '../../../adapters/storage/sqlite/opened-file.ts';
import { asProgram } from '../../../scripts/from-source.ts';
import { startMandate as startProcess } from '../../../scripts/mandate-process.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { connectOutside, type FreshDatabase, sqliteFile } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import {
  ADMIN_KEY,
  type Answer,
  environmentOf,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const MAIN = new URL('../../../composition/main.ts', import.meta.url);
const WITHIN_MS = 1_000;
const POLL_MS = 20;

/** The database outlives the services on it. */
const kept = (database: FreshDatabase) => ({
  ...sqliteFile,
  fresh: async () => ({ ...database, drop: async () => undefined }),
});

describe('A SQLite file under a running service', function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let path: string;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let issued: Answer;
  beforeEach(async () => {
    database = await sqliteFile.fresh();
    path = database.settings['Service:Database:Path'] ?? '';
    mandate = await startMandate({ database: kept(database) });
    agent = await mandate.agent();
    issued = await agent.exchange();
    expect(issued.status).to.equal(200);
    await mandate.untilReady();
  });
  afterEach(async () => {
    await mandate.stop();
    await database.drop();
  });

  const remove = () => {
    for (const ending of ['', '-wal', '-shm', '-serving']) rmSync(`${path}${ending}`, { force: true });
  };
  const migrateAgain = async () => {
    const storage = await database.open();
    await storage.migrate();
    await storage.close();
  };

  /** Exchanges until one is refused, for at most a second. */
  async function expectRefusedSoon() {
    let answer: Answer;
    const until = performance.now() + WITHIN_MS;
    do {
      await pause(POLL_MS);
      answer = await agent.exchange();
    } while (answer.status === 200 && performance.now() < until);
    await expectRefused();
  }

  async function expectRefused() {
    for (const refused of [
      await agent.exchange(),
      await agent.refresh(String(issued.body.refresh_token)),
      await mandate.admin('DELETE', `/admin/tasks/${issued.body.task_id}`),
    ]) {
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '5']);
    }
    const { body } = await agent.exchange();
    expect(body).to.include({ error: 'temporarily_unavailable' }).and.not.have.property('access_token');
    const unready = await mandate.get('/readyz', { accept: 'application/json' });
    expect(unready.status).to.equal(503);
    expect((unready.body.checks as Record<string, unknown>).database).to.deep.equal(REPLACED);
  }

  it('may be removed and made again: within a second nothing is decided, until a restart', async () => {
    remove();
    await migrateAgain();
    await expectRefusedSoon();
    // The service neither writes to the new file, nor serves it without a restart.
    const outside = await connectOutside(database);
    expect(await outside.sql('select count(*) as records from ledger')).to.deep.equal([{ records: 0 }]);
    await outside.close();
    const restarted = await mandate.another({});
    expect((await restarted.untilReady()).text).to.equal('Healthy');
    const another = await restarted.agent({ agent_id: 'after-the-restart' });
    expect((await another.exchange()).status).to.equal(200);
    await expectRefused();
    // SQLite removes the log of a file at its last close, by name: that must not be the log of the new file.
    await mandate.stop();
    await pause(FILE_CHECK_MS * 1.2);
    expect(existsSync(`${path}-wal`)).to.equal(true);
    expect((await another.exchange()).status).to.equal(200);
    mandate = restarted;
  });

  it('may be removed while no decision comes: the next one is refused, and /readyz says why', async () => {
    remove();
    await eventually(async () => (await mandate.get('/readyz')).status === 503, POLL_MS);
    await expectRefused();
    expect(existsSync(path)).to.equal(false);
  });
});

describe('A second service on a SQLite file', () => {
  it('works and says so in its log; after the first was killed, the next one says nothing', async function () {
    this.timeout(60_000);
    const database = await sqliteFile.fresh();
    const home = mkdtempSync(join(tmpdir(), 'mandate-second-'));
    const provider = await startIdentityProvider({ algorithm: 'ES256' });
    const settings = {
      ...database.settings,
      ...sharedSigningKey(),
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      NODE_ENV: 'development',
    };
    const warnings = ({ log }: Pick<Mandate, 'log'>) =>
      log.lines.filter((line) => line.includes('another process serves the same SQLite file')).length;
    const first = await startProcess(environmentOf(settings), home, asProgram(MAIN), 'applied');
    expect(readFileSync(first.logFile, 'utf8')).to.not.include('another process');
    // An audit command and the doctor read the file, and serve nothing.
    const reader = await openSqliteCondition(database.settings['Service:Database:Path'] ?? '');
    await withService(startMandate({ database: kept(database) }), async (second) => {
      expect(warnings(second)).to.equal(1);
      expect((await (await second.agent()).exchange()).status).to.equal(200);
      process.kill(first.pid, 'SIGKILL');
      await first.ended;
    });
    await withService(startMandate({ database: kept(database) }), async (third) => {
      expect(warnings(third)).to.equal(0);
    });
    await reader.close();
    await provider.stop();
    await database.drop();
    rmSync(home, { recursive: true });
  });
});

describe('A new SQLite file', () => {
  it('may be read by its owner only, with its log; the mode of a file that exists stays', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-mode-'));
    for (const [name, mode] of [
      ['new', 0o600],
      ['shared', 0o640],
    ] as const) {
      const path = join(folder, name);
      if (name === 'shared') writeFileSync(path, '', { mode });
      const storage = await openSqlite({ path, isServed: true }, { clock: movedClock(), log: capturedLog() });
      await storage.migrate();
      const modes = ['', '-wal', '-shm'].map((ending) => statSync(`${path}${ending}`).mode & 0o777);
      expect(modes, name).to.deep.equal([mode, mode, mode]);
      expect(statSync(`${path}-serving`).mode & 0o777).to.equal(0o600);
      await storage.close();
    }
    rmSync(folder, { recursive: true });
  });
});
