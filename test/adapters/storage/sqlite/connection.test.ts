import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { FAILING_MS } from '../../../../adapters/storage/decision-outcomes.ts';
import { type Connection, openConnection } from '../../../../adapters/storage/sqlite/connection.ts';
import { type Handle, openHandle } from '../../../../adapters/storage/sqlite/handle.ts';
import { BATCH_SIZE, FILE_CHECK_MS, WRITE_PROBE_MS } from '../../../../adapters/storage/sqlite/limits.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { sqliteReadiness } from '../../../../adapters/storage/sqlite/readiness.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { errorOf } from '../../../support/thrown-by.ts';

describe('The connection to SQLite', () => {
  let directory: string;
  let path: string;
  let connection: Connection;
  let outside: Handle;
  let now = 0;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-connection-'));
    path = join(directory, 'test.sqlite');
    connection = await openConnection(path, 'write', { now: () => now });
    await connection.write((run) => run('create table kept (name text primary key) strict'));
    outside = openHandle(path, { timeout: 0 });
  });
  afterEach(async () => {
    outside.close();
    await connection.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const keep = (name: string) => connection.write((run) => run('insert into kept values (?)', [name]).count);
  const kept = () =>
    outside
      .prepare('select name from kept order by name')
      .all()
      .map((row) => Object.values(row as object)[0]);

  it('uses write-ahead logging, synchronous=FULL and foreign keys, and does not wait for locks', async () => {
    const setting = (name: string) => connection.read((run) => run<Record<string, unknown>>(`pragma ${name}`).rows[0]);
    expect(await setting('journal_mode')).to.deep.equal({ journal_mode: 'wal' });
    expect(await setting('synchronous')).to.deep.equal({ synchronous: 2 });
    expect(await setting('foreign_keys')).to.deep.equal({ foreign_keys: 1 });
    expect(await setting('busy_timeout')).to.deep.equal({ timeout: 0 });
  });

  it('answers a decision only after its commit', async () => {
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        await keep(name);
        expect(kept()).to.include(name);
      }),
    );
  });

  it('commits waiting decisions in batches of at most BATCH_SIZE', async () => {
    const transactions = new Set<unknown>();
    await connection.write((run) => run('create table batches (batch integer)'));
    let largest = 0;
    await Promise.all(
      Array.from({ length: 100 }, (_, nth) =>
        connection.write((run) => {
          // The outside connection sees only committed batches.
          const visible = kept().length;
          transactions.add(visible);
          run('insert into kept values (?)', [`n${nth}`]);
          const { rows } = run<{ count: number }>('select count(*) as count from kept');
          largest = Math.max(largest, (rows[0]?.count ?? 0) - visible);
        }),
      ),
    );
    expect(largest).to.equal(BATCH_SIZE);
    expect([...transactions]).to.deep.equal(
      Array.from({ length: Math.ceil(100 / BATCH_SIZE) }, (_, nth) => nth * BATCH_SIZE),
    );
  });

  it('rolls back only the failed decision of a batch', async () => {
    const failing = connection.write((run) => {
      run('insert into kept values (?)', ['half']);
      throw new Error('our own');
    });
    const outcomes = await Promise.allSettled([keep('before'), failing, keep('after'), keep('before')]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(kept()).to.deep.equal(['after', 'before']);
  });

  it('throws another error than StorageUnavailable for a wrong statement', async () => {
    for (const text of ['select nothing from nowhere', "insert into kept values ('a'), ('a')"]) {
      const thrown = await errorOf(() => connection.write((run) => run(text)));
      expect(thrown).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
    }
  });

  it('waits for a write lock of another process without blocking reads or the event loop', async () => {
    outside.exec('begin immediate');
    const writing = keep('patient');
    let turns = 0;
    for (let round = 0; round < 20; round++) {
      await connection.read((run) => run('select 1'));
      await pause(2);
      turns++;
    }
    expect(turns).to.equal(20);
    outside.exec('commit');
    expect(await writing).to.equal(1);
  });

  it('waits for another process that locks a new file before write-ahead logging is set', async () => {
    const fresh = join(directory, 'begun-twice.sqlite');
    const first = openHandle(fresh, { timeout: 0 });
    first.exec('create table begun (name text) strict; begin immediate');
    const opening = openConnection(fresh);
    await pause(10);
    first.exec('commit');
    const second = await opening;
    const mode = await second.read((run) => run<{ journal_mode: string }>('pragma journal_mode').rows[0]?.journal_mode);
    expect(mode).to.equal('wal');
    first.close();
    await second.close();
  });

  it('is unavailable when another process holds the write lock for a second, writes nothing, and works again later', async () => {
    outside.exec('begin immediate');
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 5);
    const outcomes = await Promise.all([errorOf(() => keep('a')), errorOf(() => keep('b'))]);
    clearInterval(ticking);
    for (const thrown of outcomes) expect(thrown).to.be.instanceOf(StorageUnavailable);
    // The event loop runs during each retry pause, and fourteen pauses are longer than the interval.
    expect(ticks).to.be.at.least(10);
    outside.exec('commit');
    expect(kept()).to.deep.equal([]);
    expect(await keep('a')).to.equal(1);
  });

  it('is unavailable while the disk is full, writes nothing of that batch, and works again afterwards', async () => {
    const { rows } = await connection.read((run) => run<{ page_count: number }>('pragma page_count'));
    const limit = (pages: number) => connection.read((run) => run(`pragma max_page_count = ${pages}`));
    await limit((rows[0]?.page_count ?? 0) + 4);
    const outcomes = await Promise.all([
      errorOf(() => keep('small')),
      errorOf(() => keep('x'.repeat(100_000))),
      errorOf(() => keep('other')),
    ]);
    expect(outcomes[1]).to.be.instanceOf(StorageUnavailable);
    for (const [nth, name] of [
      [0, 'small'],
      [2, 'other'],
    ] as const) {
      expect(kept().includes(name)).to.equal(outcomes[nth] === undefined);
      if (outcomes[nth] !== undefined) expect(outcomes[nth]).to.be.instanceOf(StorageUnavailable);
    }
    await limit(1_000_000);
    expect(await keep('later')).to.equal(1);
  });

  it('has a readiness check that is Degraded after a write on a full disk, and recovers with a write or in ten seconds', async () => {
    await migrateSqlite(connection);
    const { check } = sqliteReadiness(connection);
    const limit = (pages: number) => connection.read((run) => run(`pragma max_page_count = ${pages}`));
    const fill = async () => {
      const { rows } = await connection.read((run) => run<{ page_count: number }>('pragma page_count'));
      await limit(rows[0]?.page_count ?? 0);
      expect(await errorOf(() => keep('x'.repeat(100_000)))).to.be.instanceOf(StorageUnavailable);
      expect(await check()).to.deep.equal({
        status: 'Degraded',
        detail: "Decisions fail: the SQLite file's disk is full (SQLITE_FULL). Introspection and key sets are served.",
      });
      await limit(1_000_000);
    };
    expect((await check()).status).to.equal('Healthy');
    await fill();
    now += FAILING_MS - 1;
    // A decision without effects proves nothing.
    await connection.write(() => undefined);
    expect((await check()).status).to.equal('Degraded');
    now += 1;
    expect((await check()).status).to.equal('Healthy');
    await fill();
    expect(await keep('later')).to.equal(1);
    expect((await check()).status).to.equal('Healthy');
  });

  it('has a readiness check that writes a row at most once a second, and leaves none', async () => {
    await migrateSqlite(connection);
    const { check } = sqliteReadiness(connection);
    const changes = async () =>
      (await connection.read((run) => run<{ changes: number }>('select total_changes() as changes').rows))[0]
        ?.changes ?? 0;
    const rows = () => outside.prepare('select name from schema_migrations').all();
    const before = [await changes(), rows()] as const;
    for (const step of [WRITE_PROBE_MS, 0, WRITE_PROBE_MS - 1, 1]) {
      now += step;
      expect((await check()).status).to.equal('Healthy');
    }
    expect([await changes(), rows()]).to.deep.equal([before[0] + 4, before[1]]);
  });

  it('rolls back a decision if the file was removed or replaced, also while it waited for a lock', async () => {
    expect(await keep('before')).to.equal(1);
    outside.exec('begin immediate');
    const waiting = errorOf(() => keep('waiting'));
    await pause(10);
    renameSync(path, `${path}.away`);
    now += FILE_CHECK_MS;
    outside.exec('rollback');
    expect(await waiting).to.be.instanceOf(StorageUnavailable);
    renameSync(`${path}.away`, path);
    now += FILE_CHECK_MS;
    expect(await errorOf(() => keep('after'))).to.be.instanceOf(StorageUnavailable);
    expect(kept()).to.deep.equal(['before']);
  });

  it('finishes waiting decisions before it closes, and is unavailable afterwards', async () => {
    const writing = Promise.all(Array.from({ length: 70 }, (_, nth) => keep(`n${nth}`)));
    await connection.close();
    expect(await writing).to.have.length(70);
    expect(kept()).to.have.length(70);
    expect(await errorOf(() => keep('late'))).to.be.instanceOf(StorageUnavailable);
  });

  it('has a readiness check that shares one write transaction among concurrent callers', async () => {
    await migrateSqlite(connection);
    let asked = 0;
    const check = sqliteReadiness({
      ...connection,
      write: (work) => {
        asked += 1;
        return connection.write(work);
      },
    });
    const answers = await Promise.all(Array.from({ length: 100 }, () => check.check()));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set(['Healthy']));
    expect(asked).to.equal(1);
    await check.check();
    expect(asked).to.equal(2);
  });
});
