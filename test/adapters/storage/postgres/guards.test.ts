import { expect } from 'chai';
import { openPostgresCondition } from '../../../../adapters/storage/postgres/condition.ts';
import type { StorageCondition } from '../../../../application/ports/storage.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/databases.ts';

describe('a migrated schema on Postgres', () => {
  let database: FreshDatabase;
  let condition: StorageCondition;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    condition = openPostgresCondition(String(database.settings['Service:Database:ConnectionString']), capturedLog());
  });
  after(async () => {
    await condition.close();
    await database.drop();
  });

  it('refuses changes of the ledger, its archives, the checkpoints and each partition by trigger and privilege', async () => {
    const { tables, missing } = await condition.guards();
    expect(tables).to.be.greaterThan(5);
    expect(missing).to.deep.equal([]);
  });

  it('gives the serving role exactly the privileges that decisions need', async () => {
    expect(await condition.role()).to.deep.include({ isSuperuser: false, isOwner: false, surplus: [], missing: [] });
  });
});
