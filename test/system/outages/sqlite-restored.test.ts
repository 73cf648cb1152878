/** A backup is restored into a SQLite file: under a running service, or beside the log of the former file. */

import { closeSync, copyFileSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { WENT_BACK } from '../../../adapters/storage/ledger-memory.ts';
import { DAMAGED } from '../../../adapters/storage/sqlite/damaged-file.ts';
import { CHECKED_AT_ONCE_BYTES } from '../../../adapters/storage/sqlite/limits.ts';
import { runCommand } from '../../support/command-process.ts';
import { connectOutside, type FreshDatabase, sqliteFile } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import {
  ADMIN_KEY,
  type Answer,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const POLL_MS = 20;
/** As many that the tables have more than one page each. */
const MANY = 60;

const DAMAGED_FILE =
  'Service:Database:Path (Service__Database__Path) names a file that is damaged. The likely cause is the -wal of another file, left beside a restored one: remove the -wal and -shm beside it and restore the backup again. See docs/operating.md ("The SQLite file is damaged").';

/** Never garbage collected (adapters/storage/sqlite/handle.ts). */
const handles: Database.Database[] = [];

/** SQLite's backup, like `.backup` and `.restore` of its shell: the file at `to` stays the same file. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const handle = new Database(from);
  handles.push(handle);
  await handle.backup(to);
  handle.close();
}

describe('A backup of SQLite', function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let path: string;
  let backup: string;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let issued: Answer;
  const kept = () => ({ ...sqliteFile, fresh: async () => ({ ...database, drop: async () => undefined }) });

  beforeEach(async () => {
    database = await sqliteFile.fresh();
    path = database.settings['Service:Database:Path'] ?? '';
    backup = `${path}.backup`;
    mandate = await startMandate({ database: kept(), settings: { ...sharedSigningKey() } });
    agent = await mandate.agent();
    issued = await agent.exchange();
    await mandate.untilReady();
  });
  afterEach(async () => {
    await mandate.stop();
    await database.drop();
  });

  const databaseCheck = async (service: Mandate) => {
    const { status, body } = await service.get('/readyz', { accept: 'application/json' });
    return { status, check: (body.checks as Record<string, unknown>).database };
  };

  const needed = () => ({
    'Service:Issuer': mandate.issuer,
    'Service:UpstreamIdp:Issuer': mandate.provider.issuer,
    'Service:UpstreamIdp:Audience': mandate.provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:Admin:ApiKey': ADMIN_KEY,
    NODE_ENV: 'development',
  });

  async function records(): Promise<unknown> {
    const outside = await connectOutside(database);
    const [row] = await outside.sql('select count(*) as records from ledger');
    await outside.close();
    return row?.records;
  }

  async function expectStopped(): Promise<void> {
    const before = await records();
    for (const [what, refused] of [
      ['exchange', await agent.exchange()],
      ['refresh', await agent.refresh(String(issued.body.refresh_token))],
      ['kill', await mandate.admin('DELETE', `/admin/tasks/${issued.body.task_id}`)],
      ['audit', await mandate.admin('GET', '/audit')],
      ['introspection', await mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) })],
    ] as const) {
      expect([refused.status, refused.headers.get('retry-after')], what).to.deep.equal([503, '5']);
    }
    expect(await databaseCheck(mandate)).to.deep.equal({ status: 503, check: WENT_BACK });
    expect(await records()).to.equal(before);
  }

  it('restored under the service stops every decision and read until a restart', async () => {
    await copyDatabase(path, backup);
    const lost = await agent.exchange();
    const { ino } = statSync(path);
    await copyDatabase(backup, path);
    expect(statSync(path).ino).to.equal(ino);
    expect((await agent.exchange()).status).to.equal(503);
    await expectStopped();
    // A later backup, which has the record again, does not resume it: it does not know the answers that were given in
    // between.
    await withService(mandate.another({}), async (restarted) => {
      expect((await restarted.untilReady()).text).to.equal('Healthy');
      expect((await restarted.introspect(issued)).active).to.equal(true);
      expect((await restarted.introspect(lost)).active).to.equal(false);
      await expectStopped();
    });
  });

  it('may be made, and the file be compacted and written by other processes, while the service decides', async () => {
    await withService(mandate.another({}), async (other) => {
      const outside = await connectOutside(database);
      for (const change of [
        'vacuum',
        "insert into ledger (ts, event) values (1, 'task.created')",
        'pragma user_version = 7',
      ]) {
        await outside.sql(change);
        await copyDatabase(path, backup);
        expect((await (await other.agent()).exchange()).status, change).to.equal(200);
        expect((await agent.exchange()).status, change).to.equal(200);
        expect((await mandate.introspect(issued)).active, change).to.equal(true);
        expect((await databaseCheck(mandate)).status, change).to.equal(200);
      }
      await outside.close();
    });
  });

  it('beside the -wal of the killed service is refused by the start and by doctor, with the act that helps', async () => {
    await copyDatabase(path, backup);
    for (let nth = 0; nth < MANY; nth += 1) await agent.exchange();
    const outside = await connectOutside(database);
    await outside.sql('pragma wal_checkpoint(restart)');
    await outside.close();
    for (let nth = 0; nth < 5; nth += 1) await agent.exchange();
    // As after `kill -9`, and `cp backup mandate.db`.
    const restored = { ...database.settings, 'Service:Database:Path': `${path}.restored` };
    const target = restored['Service:Database:Path'];
    copyFileSync(backup, target);
    for (const ending of ['-wal', '-shm']) copyFileSync(`${path}${ending}`, `${target}${ending}`);

    const refusal = await mandate.another(restored).then(
      () => 'it started',
      (error: Error) => error.message,
    );
    expect(refusal).to.include(DAMAGED_FILE);
    const { code, out } = await runCommand(['doctor'], {
      ...restored,
      ...sharedSigningKey(),
      ...needed(),
    });
    expect(code, out).to.not.equal(0);
    expect(out.replace(/\s+/g, ' ')).to.include(DAMAGED_FILE);

    // The act that the sentence names.
    for (const ending of ['-wal', '-shm']) rmSync(`${target}${ending}`);
    copyFileSync(backup, target);
    await withService(mandate.another(restored), async (started) => {
      expect((await started.untilReady()).text).to.equal('Healthy');
    });
  });

  it('that is large and damaged is found while the service runs, which then decides and reads nothing', async () => {
    await mandate.stop();
    const handle = new Database(path);
    handles.push(handle);
    handle.exec(`create table filler (content); insert into filler values (zeroblob(${CHECKED_AT_ONCE_BYTES}))`);
    handle.close();
    // A page of the long value names a next page that does not exist.
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(4, 0xff), 0, 4, CHECKED_AT_ONCE_BYTES / 2);
    closeSync(file);
    mandate = await mandate.another({});
    await eventually(async () => JSON.stringify(await databaseCheck(mandate)).includes('damaged'), POLL_MS);
    expect(await databaseCheck(mandate)).to.deep.equal({ status: 503, check: DAMAGED });
    const before = await records();
    expect((await mandate.admin('DELETE', `/admin/tasks/${issued.body.task_id}`)).status).to.equal(503);
    // Reads from a damaged file may return wrong rows.
    expect((await mandate.post('/oauth2/introspect', { token: String(issued.body.access_token) })).status).to.equal(
      503,
    );
    expect(await records()).to.equal(before);
    expect(mandate.log.lines.join('\n')).to.include('The file at Service:Database:Path is damaged.');
  });
});
