/** The owner of the database has a trigger pass over records. SQLite and Postgres then report no error. */

import { expect } from 'chai';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { allRows } from './failing-writes.ts';
import { anEntry, ledgerOf, openedTask, registeredAgent } from './storage-fixtures.ts';

for (const database of databases) {
  describe(`a record that ${database.name} does not store`, () => {
    let fresh: FreshDatabase;
    let storage: Storage;
    let owner: OutsideConnection;
    before(async () => {
      fresh = await database.fresh();
      storage = await fresh.open({ clock: { now: () => NOON } });
      owner = await connectOutside(fresh, 'owner');
    });
    after(async () => {
      await owner.close();
      await storage.close();
      await fresh.drop();
    });

    /** Expects that the decision fails, and changes nothing, while the ledger takes no record of this event. */
    async function refusedWithout(event: string, decide: () => Promise<unknown>): Promise<void> {
      const before = [await allRows(owner), await ledgerOf(storage)];
      if (database.engine === 'sqlite') {
        await owner.sql(
          `create trigger swallows before insert on ledger when new.event = '${event}' begin select raise(ignore); end`,
        );
      } else {
        await owner.sql(
          `create or replace function swallows() returns trigger language plpgsql as
            $$ begin if new.event = '${event}' then return null; end if; return new; end $$`,
        );
        await owner.sql('create trigger swallows before insert on ledger for each row execute function swallows()');
      }
      const failure = await decide().catch((error: unknown) => error);
      await owner.sql(`drop trigger swallows${database.engine === 'sqlite' ? '' : ' on ledger'}`);
      expect(failure, event).to.be.instanceOf(StorageUnavailable);
      expect([await allRows(owner), await ledgerOf(storage)]).to.deep.equal(before);
    }

    it('undoes the decision: no token without its record, and no task ends', async () => {
      const agent = await registeredAgent(storage);
      const { task } = await openedTask(storage, {}, agent);
      await refusedWithout('token.issued', () => openedTask(storage, {}, agent));
      await refusedWithout('admin.denied', () => storage.ledger.append(anEntry('admin.denied')));
      const at = plusSeconds(NOON, 60);
      const end = () =>
        storage.tasks.end({ kind: 'task', taskId: task.taskId }, { at, reason: 'operator_kill_switch' });
      await refusedWithout('task.revoked', end);
      await end();
      expect((await ledgerOf(storage)).at(-1)?.event).to.equal('task.revoked');
    });
  });
}
