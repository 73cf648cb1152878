import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type Connection, openConnection } from '../../../../adapters/storage/sqlite/connection.ts';
import { openHandle } from '../../../../adapters/storage/sqlite/handle.ts';
import { CHANGES_BETWEEN_CHECKPOINTS, IDLE_CHECKPOINT_MS } from '../../../../adapters/storage/sqlite/limits.ts';

describe('The write-ahead log of SQLite', () => {
  let directory: string;
  let path: string;
  let connection: Connection;
  beforeEach(async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    directory = mkdtempSync(join(tmpdir(), 'mandate-log-'));
    path = join(directory, 'test.sqlite');
    connection = await openConnection(path);
    await connection.write((run) => run('create table kept (text text not null) strict'));
    mock.timers.tick(IDLE_CHECKPOINT_MS);
  });
  afterEach(async () => {
    await connection.close();
    mock.timers.reset();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Each row takes a quarter of a page. */
  const insert = (rows: number) =>
    connection.write((run) => {
      for (let nth = 0; nth < rows; nth++) run('insert into kept values (?)', ['x'.repeat(1000)]);
    });
  const fileSize = () => statSync(path).size;
  const logSize = () => statSync(`${path}-wal`).size;

  it('is copied into the file after enough rows have changed, and after the answer', async () => {
    const before = fileSize();
    await insert(CHANGES_BETWEEN_CHECKPOINTS);
    expect(fileSize()).to.equal(before);
    await nextTurn();
    expect(fileSize()).to.be.greaterThan(before + CHANGES_BETWEEN_CHECKPOINTS * 1000);
  });

  it('does not grow when ten times as many rows are written', async () => {
    await insert(CHANGES_BETWEEN_CHECKPOINTS);
    await nextTurn();
    const once = logSize();
    for (let nth = 0; nth < 10; nth++) await insert(CHANGES_BETWEEN_CHECKPOINTS);
    expect(logSize()).to.be.at.most(once * 1.1);
  });

  it('is copied into the file when nothing was written for a while', async () => {
    const before = fileSize();
    await insert(10);
    mock.timers.tick(IDLE_CHECKPOINT_MS - 1);
    await insert(10);
    mock.timers.tick(IDLE_CHECKPOINT_MS - 1);
    expect(fileSize()).to.equal(before);
    mock.timers.tick(1);
    expect(fileSize()).to.be.greaterThan(before);
  });

  it('is not copied while another process reads an older state, and is copied later', async () => {
    const reader = openHandle(path, { readonly: true });
    reader.exec('begin; select * from kept');
    const before = fileSize();
    await insert(CHANGES_BETWEEN_CHECKPOINTS);
    await nextTurn();
    expect(fileSize()).to.equal(before);
    reader.exec('commit');
    reader.close();
    await insert(CHANGES_BETWEEN_CHECKPOINTS);
    await nextTurn();
    expect(fileSize()).to.be.greaterThan(before + 2 * CHANGES_BETWEEN_CHECKPOINTS * 1000);
  });
});
