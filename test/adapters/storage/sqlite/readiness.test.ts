import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Connections, openConnections } from '../../../../adapters/storage/sqlite/connections.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { sqliteReadiness } from '../../../../adapters/storage/sqlite/readiness.ts';
import { capturedLog } from '../../../support/captured-log.ts';

describe('the readiness check of SQLite', () => {
  let directory: string;
  let connections: Connections;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-readiness-'));
    connections = openConnections(join(directory, 'test.sqlite'), capturedLog());
    await migrateSqlite(connections.knex);
  });
  after(async () => {
    await connections.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('asks for one write transaction, however many wait for the answer, and for another one afterwards', async () => {
    let asked = 0;
    const check = sqliteReadiness({
      ...connections,
      decide: (work) => {
        asked += 1;
        return connections.decide(work);
      },
    });
    const answers = await Promise.all(Array.from({ length: 100 }, () => check.check()));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set(['Healthy']));
    expect(asked).to.equal(1);
    await check.check();
    expect(asked).to.equal(2);
  });
});
