/** A record that is gone, and whose number another record has: as after a restore, or a failover that lost it. */

import { expect } from 'chai';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { eventually } from '../support/eventually.ts';
import { startTampering, type Tampering } from '../support/ledger/tampering.ts';
import type { Storage } from '../support/storage.ts';
import { anEntry } from './storage-fixtures.ts';

for (const database of databases) {
  describe(`a record of ${database.name} that is gone, and whose number was taken again`, () => {
    let fresh: FreshDatabase;
    let storage: Storage;
    let owner: OutsideConnection;
    let tampering: Tampering;

    before(async () => {
      fresh = await database.fresh();
      owner = await connectOutside(fresh, database.engine === 'postgres' ? 'superuser' : 'owner');
    });
    beforeEach(async () => {
      storage = await fresh.open({ clock: { now: () => NOON } });
      tampering ??= await startTampering(owner, database.engine);
      await storage.ledger.append(
        anEntry('sponsor.blocked', { sponsor: 'ada', detail: 'a', reason: 'sponsor_blocked', count: 2 }),
      );
    });
    afterEach(() => storage.close());
    after(async () => {
      await owner.close();
      await fresh.drop();
    });

    /** The storage learns on a new connection, or after another process's commit, what the database has become. */
    const noticed = async () => {
      const sessions = `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'mandate' and datname = current_database()`;
      if (database.engine === 'postgres') await owner.sql(sessions);
      let last: unknown;
      await eventually(async () => {
        last = await storage.ledger.append(anEntry('admin.denied')).then(
          () => 'appended',
          (error: unknown) => error,
        );
        return (
          last === 'appended' ||
          storage.readiness.check().then(({ detail }) => detail?.includes('newest record') === true)
        );
      });
      return last;
    };
    /** Replaces the newest record by one that differs in these columns. */
    const replace = (columns: string) =>
      tampering.sql(`update ledger set ${columns} where seq = (select max(seq) from ledger)`);

    for (const columns of [
      database.engine === 'sqlite' ? 'ts = ts + 1' : "ts = ts + interval '1 microsecond'",
      "sponsor = 'eve'",
      "event = 'token.issued'",
      "detail = 'b'",
      'detail = null',
      "reason = ''",
      'count = 3',
      "decision = 'deny'",
      "jti = 'tok_1', task_id = 'task_1'",
    ]) {
      it(`is noticed, also if it has the same time: ${columns}`, async () => {
        await replace(columns);
        expect(await noticed()).to.be.instanceOf(StorageUnavailable);
        const refused = await storage.ledger.append(anEntry('admin.denied')).catch((error: unknown) => error);
        expect(refused).to.be.instanceOf(StorageUnavailable);
        expect((await storage.readiness.check()).status).to.equal('Unhealthy');
      });
    }

    it('is the same record if nothing differs, and the storage goes on', async () => {
      await replace('reason = reason');
      expect(await noticed()).to.equal('appended');
    });
  });
}
