import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type Connection, openConnection } from '../../../../adapters/storage/sqlite/connection.ts';
import { type Handle, openHandle } from '../../../../adapters/storage/sqlite/handle.ts';
import { FILE_CHECK_MS, IDLE_CHECKPOINT_MS } from '../../../../adapters/storage/sqlite/limits.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { openedFile } from '../../../../adapters/storage/sqlite/opened-file.ts';
import { overwrittenFile } from '../../../../adapters/storage/sqlite/overwritten-file.ts';
import { sqliteReadiness } from '../../../../adapters/storage/sqlite/readiness.ts';
import { memoryOfThreads, overwrittenFlag } from '../../../../adapters/storage/sqlite/remembered-ledger.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { byLength } from '../../../support/length.ts';
import { errorOf } from '../../../support/thrown-by.ts';

const DRIVER = createRequire(import.meta.url).resolve('better-sqlite3');

/** A program in another process, whose locks are its own. */
const opening = (path: string) =>
  `const D = require(${JSON.stringify(DRIVER)}); const d = new D(${JSON.stringify(path)});`;
/** Adds rows of a size. */
const ADD = "const add = d.prepare('insert into kept values (?, hex(randomblob(?)))');";
/** Writes more pages than the cache holds, so that SQLite puts them into the log before the commit. */
const SPILL = `d.pragma('cache_size = 1'); ${ADD} d.exec('begin immediate'); for (let n = 0; n < 500; n++) add.run('e' + n, 900);`;

function inProcess(path: string, script: string) {
  return spawnSync(process.execPath, ['-e', `${opening(path)} ${script}`], { encoding: 'utf8' });
}

function elsewhere(path: string, script: string): void {
  const { status, stderr } = inProcess(path, script);
  expect(status, stderr).to.equal(0);
}

function overwrite(path: string, at: number, bytes: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(bytes), 0, bytes, at);
  closeSync(file);
}

describe('A SQLite file that is written to while it is open', () => {
  let directory: string;
  let path: string;
  let backup: string;
  let connection: Connection;
  let outside: Handle;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-overwritten-'));
    path = join(directory, 'test.sqlite');
    backup = join(directory, 'backup.sqlite');
    connection = await openConnection(path, 'write', { memory: memoryOfThreads() });
    await migrateSqlite(connection);
    await connection.write((run) => run('create table kept (name text primary key, size text) strict'));
    outside = openHandle(path, { timeout: 0 });
    for (let nth = 0; nth < 20; nth++) await keep(`before-${nth}`);
    moveLog();
    outside.exec(`vacuum into '${backup}'`);
    for (let nth = 0; nth < 20; nth++) await keep(`later-${nth}`);
  });
  afterEach(async () => {
    outside.close();
    await connection.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const keep = (name: string) =>
    connection.write((run) => run('insert into kept values (?, ?)', [name, 'x'.repeat(500)]).count);
  const count = () => connection.read((run) => run<{ n: number }>('select count(*) as n from kept').rows[0]?.n);
  /** Waits until the connection has moved its log into the file by itself. */
  const idle = () => pause(IDLE_CHECKPOINT_MS + 100);
  const moveLog = () => outside.exec('pragma wal_checkpoint(passive)');
  const page = () => 4096;
  let copies = 1;

  const KINDS: Readonly<Record<string, () => void>> = {
    'a backup that is copied over it': () => copyFileSync(backup, path),
    'a backup that is copied over it, and an emptied log': () => {
      copyFileSync(backup, path);
      truncateSync(`${path}-wal`);
    },
    'an emptied log': () => truncateSync(`${path}-wal`),
    'a log of another file, copied over its own': () => {
      const other = openHandle(join(directory, 'other.sqlite'));
      other.exec("pragma journal_mode = wal; create table other (name text); insert into other values ('x')");
      copyFileSync(join(directory, 'other.sqlite-wal'), `${path}-wal`);
      other.close();
    },
    'a log that was cut': () => truncateSync(`${path}-wal`, 3 * page()),
    'zeros over its first page': () => overwrite(path, 0, page()),
    'zeros over a page in its middle': () => overwrite(path, 5 * page(), page()),
    'zeros over the head of its log': () => overwrite(`${path}-wal`, 0, 32),
    // SQLite would pass over the whole log after a crash.
    'zeros over the first bytes of its log': () => overwrite(`${path}-wal`, 0, 4),
    'zeros over the checksum in the head of its log': () => overwrite(`${path}-wal`, 24, 8),
    'the loss of its last page': () => truncateSync(path, statSync(path).size - page()),
    'the loss of all its pages': () => truncateSync(path),
    'a byte behind its end': () => writeFileSync(path, 'x', { flag: 'a' }),
    'the same bytes again, by another program': () => copyFileSync(path, backup) ?? copyFileSync(backup, path),
    'another process that moves its log, after its -shm was removed': () => {
      rmSync(`${path}-shm`);
      elsewhere(path, "d.exec('pragma wal_checkpoint(truncate)');");
    },
  };

  for (const [kind, change] of Object.entries(KINDS)) {
    it(`is not served after ${kind}, by a read or a decision, for good`, async () => {
      change();
      expect(await errorOf(count)).to.be.instanceOf(StorageUnavailable);
      expect(await errorOf(() => keep('lost'))).to.be.instanceOf(StorageUnavailable);
      expect((await sqliteReadiness(connection).check()).status).to.equal('Unhealthy');
      expect(await errorOf(() => keep('lost'))).to.be.instanceOf(StorageUnavailable);
      expect(await errorOf(count)).to.be.instanceOf(StorageUnavailable);
    });
  }

  it('decides nothing if the decision is the first that comes after the change', async () => {
    copyFileSync(backup, path);
    let began = 0;
    expect(await errorOf(() => connection.write(() => ++began))).to.be.instanceOf(StorageUnavailable);
    expect([began, connection.wasOverwritten()]).to.deep.equal([0, true]);
  });

  it('does not answer a decision during whose transaction the file was overwritten', async () => {
    const during = (change: () => void) =>
      errorOf(() =>
        connection.write((run) => {
          run("insert into kept values ('during', '')");
          change();
        }),
      );
    expect(await during(() => copyFileSync(backup, path))).to.be.instanceOf(StorageUnavailable);
  });

  it('does not answer a decision during whose transaction the log was emptied', async () => {
    const emptied = connection.write((run) => {
      truncateSync(`${path}-wal`);
      run("insert into kept values ('during', '')");
    });
    expect(await errorOf(() => emptied)).to.be.instanceOf(StorageUnavailable);
  });

  it('is not served by an idle service whose log is in the file', async () => {
    await idle();
    copyFileSync(backup, path);
    expect(await errorOf(count)).to.be.instanceOf(StorageUnavailable);
    const { status, detail } = await sqliteReadiness(connection).check();
    expect(status).to.equal('Unhealthy');
    expect(detail).to.include('Something other than SQLite wrote to the file at Service:Database:Path');
  });

  it('does not move its log into a file that was overwritten', async () => {
    copyFileSync(backup, path);
    const size = statSync(path).size;
    expect(await errorOf(() => keep('lost'))).to.be.instanceOf(StorageUnavailable);
    await idle();
    expect(statSync(path).size).to.equal(size);
  });

  it('is not served by the next thread of the process either', async () => {
    const shared = memoryOfThreads();
    const first = await openConnection(path, 'write', { memory: shared });
    // Its content stays whole, so that SQLite itself would serve it.
    utimesSync(path, 1, 1);
    expect(await errorOf(() => first.read((run) => run('select 1')))).to.be.instanceOf(StorageUnavailable);
    const second = await openConnection(path, 'write', { memory: shared });
    expect(await errorOf(() => second.read((run) => run('select 1')))).to.be.instanceOf(StorageUnavailable);
    await second.close();
    expect(overwrittenFlag(shared)[0]).to.equal(1);
    await first.close();
  });

  it('keeps the locks of other connections of its process when it is closed', async () => {
    outside.exec('begin; select count(*) from kept');
    const second = await openConnection(path, 'write', { memory: memoryOfThreads() });
    await second.close();
    const { stdout } = inProcess(path, "console.log(d.pragma('wal_checkpoint(truncate)')[0].busy);");
    outside.exec('rollback');
    expect(stdout).to.equal('1\n');
  });

  for (const ending of ['-wal', '-shm']) {
    it(`is replaced once its ${ending} is gone`, () => {
      let now = 0;
      const file = openedFile(path, () => now);
      now += 2 * FILE_CHECK_MS;
      expect(file.wasReplaced()).to.equal(false);
      rmSync(`${path}${ending}`);
      now += 2 * FILE_CHECK_MS;
      expect(file.wasReplaced()).to.equal(true);
    });
  }

  const HONEST: Readonly<Record<string, () => void>> = {
    'commits and moves the log': () =>
      elsewhere(path, "d.exec(\"insert into kept values ('e', '')\"); d.pragma('wal_checkpoint(passive)');"),
    'moves the log': () => elsewhere(path, "d.pragma('wal_checkpoint(passive)');"),
    'moves the log and begins it again': () =>
      elsewhere(path, "d.pragma('wal_checkpoint(restart)'); d.exec(\"insert into kept values ('e', '')\");"),
    'moves the log and empties it': () => elsewhere(path, "d.pragma('wal_checkpoint(truncate)');"),
    'commits in many rounds of the log': () =>
      elsewhere(
        path,
        `${ADD} for (let n = 0; n < 9; n++) { add.run('e' + n, 1); d.pragma('wal_checkpoint(truncate)'); }`,
      ),
    'rebuilds the file (VACUUM)': () =>
      elsewhere(
        path,
        "d.exec('delete from kept where name > \\'later-1\\'; vacuum'); d.pragma('wal_checkpoint(full)');",
      ),
    'writes many pages and takes them back': () => elsewhere(path, `${SPILL} d.exec('rollback');`),
    'is killed while it writes': () => {
      const { signal } = inProcess(path, `${SPILL} process.kill(process.pid, 'SIGKILL');`);
      expect(signal).to.equal('SIGKILL');
    },
    'copies it (VACUUM INTO)': () => elsewhere(path, `d.exec("vacuum into '${backup}-${++copies}'");`),
    'reads it': () => elsewhere(path, "d.prepare('select count(*) from kept').get();"),
    'changes its permissions': () => {
      chmodSync(path, 0o640);
      chmodSync(`${path}-wal`, 0o640);
    },
  };

  for (const [nth, [kind, change]] of Object.entries(HONEST).entries()) {
    it(`is served on after another process ${kind}`, async () => {
      // Otherwise with the log moved before it, or not, in turn.
      for (const round of byLength({ short: [nth % 2], full: [0, 1, 2] })) {
        if (round === 1) moveLog();
        change();
        if (kind.includes('commits') || kind.includes('again')) outside.exec("delete from kept where name like 'e%'");
        expect(await count()).to.be.greaterThan(20);
        expect(await keep(`more-${round}`)).to.equal(1);
        expect(connection.wasOverwritten()).to.equal(false);
      }
      expect((await sqliteReadiness(connection).check()).status).to.equal('Healthy');
    });
  }

  // A reader keeps the log from being begun again, so the log grows although the whole of it was in the file.
  it('is served on after another process commits beside a reader, moves the log, and commits in its next round', async () => {
    await keep('seen-by-reader');
    const reader = openHandle(path, { timeout: 0 });
    reader.exec('begin; select count(*) from kept');
    moveLog();
    await count();
    elsewhere(path, `${ADD} add.run('e1', 1);`);
    reader.exec('rollback');
    reader.close();
    elsewhere(path, `${ADD} d.pragma('wal_checkpoint(passive)'); add.run('e2', 1);`);
    expect(await count()).to.be.greaterThan(20);
    expect(connection.wasOverwritten()).to.equal(false);
  });

  it('is opened while another process commits and moves the log', async function () {
    this.timeout(60_000);
    const program = `${opening(path)} d.pragma('synchronous = off'); console.log('begun');
      ${ADD} for (let n = 0; ; n++) { add.run('e' + n, 1); d.pragma('wal_checkpoint(passive)'); }`;
    const other = spawn(process.execPath, ['-e', program]);
    try {
      await once(other.stdout, 'data');
      for (let nth = 0; nth < byLength({ short: 100, full: 5_000 }); nth++) {
        const file = overwrittenFile(path, new Float64Array(1));
        try {
          for (let look = 0; look < 5; look++) file.refuse();
        } finally {
          file.close();
        }
      }
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('is served on while another process moves the log, and is killed at it', async function () {
    this.timeout(60_000);
    const program = `${opening(path)} d.pragma('synchronous = off'); console.log('begun');
      for (;;) d.pragma('wal_checkpoint(passive)');`;
    for (let round = 0; round < byLength({ short: 2, full: 8 }); round++) {
      const other = spawn(process.execPath, ['-e', program]);
      const over = once(other, 'exit');
      await once(other.stdout, 'data');
      for (let nth = 0; nth < 40; nth++) {
        await keep(`round-${round}-${nth}`);
        await count();
        if (nth === 30) other.kill('SIGKILL');
      }
      await over;
      expect(connection.wasOverwritten()).to.equal(false);
    }
  });
});
