import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Connection, openConnection } from '../../../../adapters/storage/sqlite/connection.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { sqliteReadiness } from '../../../../adapters/storage/sqlite/readiness.ts';

describe('the readiness check of SQLite', () => {
  let directory: string;
  let connection: Connection;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-readiness-'));
    connection = await openConnection(join(directory, 'test.sqlite'));
    await migrateSqlite(connection);
  });
  after(async () => {
    await connection.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('asks for one write transaction, however many wait for the answer, and for another one afterwards', async () => {
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
