/** A backup is copied over the SQLite file while the service runs, or its log is changed by another program. */

import { execFileSync } from 'node:child_process';
import { closeSync, copyFileSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { IDLE_CHECKPOINT_MS } from '../../../../adapters/storage/sqlite/limits.ts';
import { OVERWRITTEN } from '../../../../adapters/storage/sqlite/opened-file.ts';
import { runCommand } from '../../../support/command-process.ts';
import { type FreshDatabase, sqliteFile } from '../../../support/databases.ts';
import { ADMIN_KEY, type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../../support/mandate.ts';
import { sharedSigningKey } from '../../../support/shared-signing-key.ts';

const BEFORE = 20;
const SINCE = 20;
const AFTER = 30;
const PAGE = 4096;

describe('A SQLite file that is overwritten under the running service', function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let path: string;
  let backup: string;
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let killed: Answer;
  let live: Answer;
  beforeEach(async () => {
    database = await sqliteFile.fresh();
    path = database.settings['Service:Database:Path'] ?? '';
    backup = `${path}.backup`;
    mandate = await startMandate({
      database: { ...sqliteFile, fresh: async () => database },
      settings: sharedSigningKey(),
    });
    agent = await mandate.agent();
    killed = await agent.exchange();
    live = await agent.exchange();
    for (let nth = 0; nth < BEFORE; nth++) expect((await agent.exchange()).status).to.equal(200);
    await copyOf();
    for (let nth = 0; nth < SINCE; nth++) expect((await agent.exchange()).status).to.equal(200);
    expect((await mandate.admin('DELETE', `/admin/tasks/${killed.body.task_id}`)).status).to.equal(200);
  });
  afterEach(() => mandate.stop());

  const copyOf = async () => {
    const source = new Database(path);
    await source.backup(backup);
    source.close();
  };
  /** The command of an operator, in another process. */
  const sh = (command: string) => execFileSync('sh', ['-c', command]);
  const zeros = (at: number) => {
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(PAGE), 0, PAGE, at);
    closeSync(file);
  };
  const elsewhere = (script: string) =>
    execFileSync(process.execPath, [
      '-e',
      `const d = new (require('better-sqlite3'))(${JSON.stringify(path)}); ${script}`,
    ]);

  const KINDS: Readonly<Record<string, () => void>> = {
    'cp over the file': () => sh(`cp '${backup}' '${path}'`),
    'cp over the file, and : > -wal': () => sh(`cp '${backup}' '${path}'; : > '${path}-wal'`),
    ': > -wal': () => sh(`: > '${path}-wal'`),
    'zeros in the file': () => zeros(7 * PAGE),
    'zeros at its beginning': () => zeros(0),
    'the loss of half of the file': () => truncateSync(path, Math.floor(statSync(path).size / 2 / PAGE) * PAGE),
    'rm -shm, and a checkpoint of another process': () => {
      rmSync(`${path}-shm`);
      elsewhere("d.pragma('wal_checkpoint(truncate)');");
    },
  };

  async function expectNothingAnswered() {
    for (let nth = 0; nth < AFTER; nth++) {
      for (const answer of [
        await agent.exchange(),
        await mandate.post('/oauth2/introspect', { token: String(killed.body.access_token) }),
        await mandate.post('/oauth2/introspect', { token: String(live.body.access_token) }),
        await mandate.admin('DELETE', `/admin/tasks/${live.body.task_id}`),
      ]) {
        expect(answer.status, answer.text).to.equal(503);
        expect(answer.headers.get('retry-after')).to.equal('5');
      }
    }
    const unready = await mandate.get('/readyz', { accept: 'application/json' });
    expect(unready.status).to.equal(503);
    expect((unready.body.checks as Record<string, unknown>).database).to.deep.equal(OVERWRITTEN);
  }

  for (const [kind, overwrite] of Object.entries(KINDS)) {
    it(`answers nothing after ${kind} under load`, async () => {
      let isOver = false;
      let changedAt = Number.POSITIVE_INFINITY;
      const answered: number[] = [];
      const load = Array.from({ length: 4 }, async () => {
        while (!isOver) {
          const began = performance.now();
          const { status } = await agent.exchange();
          if (status === 200) answered.push(began);
        }
      });
      await pause(300);
      overwrite();
      changedAt = performance.now();
      await pause(300);
      isOver = true;
      await Promise.all(load);
      expect(answered.length).to.be.greaterThan(3);
      expect(answered.filter((began) => began > changedAt)).to.deep.equal([]);
      await expectNothingAnswered();
    });

    it(`answers nothing after ${kind} on an idle service`, async () => {
      await pause(IDLE_CHECKPOINT_MS * 1.5);
      overwrite();
      // The whole log is in the file by now: another process has nothing to move, and the index is gone all the same.
      if (!kind.startsWith('rm')) await expectNothingAnswered();
    });
  }

  it('is named by doctor, and answers nothing for good', async () => {
    copyFileSync(backup, path);
    await expectNothingAnswered();
    const { out } = await runCommand(['doctor'], {
      ...database.settings,
      ...sharedSigningKey(),
      'Service:Issuer': mandate.url,
      'Service:UpstreamIdp:Issuer': mandate.provider.issuer,
      'Service:UpstreamIdp:Audience': mandate.provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      NODE_ENV: 'development',
    });
    expect(out).to.include('Something other than SQLite wrote to the file');
    await expectNothingAnswered();
  });

  it('is served on while other processes use it through SQLite', async () => {
    for (const script of [
      "d.pragma('wal_checkpoint(passive)');",
      "d.pragma('wal_checkpoint(truncate)');",
      "d.exec('vacuum');",
      "d.prepare('select count(*) from ledger').get();",
      `d.exec("vacuum into '${path}.copy'");`,
    ]) {
      elsewhere(script);
      expect((await agent.exchange()).status, script).to.equal(200);
      expect((await mandate.introspect(live)).active, script).to.equal(true);
      expect((await mandate.introspect(killed)).active, script).to.equal(false);
    }
    expect((await mandate.get('/readyz')).status).to.equal(200);
  });
});
