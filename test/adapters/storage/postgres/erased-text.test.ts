/** Where Postgres keeps the bytes of erased reasons and deleted purposes: docs/operators.md, "Where erased text stays". */

import { expect } from 'chai';
import { openTask } from '../../../../application/decisions/open-task.ts';
import { recordAct } from '../../../../application/decisions/operator-act.ts';
import { deleteEndedTasks } from '../../../../application/decisions/sweep.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { anOpening, aPurpose, registeredAgent } from '../../../contract/storage-fixtures.ts';
import { anAct } from '../../../contract/world.ts';
import { connectOutside, postgres } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

/** One of this number stays: the rest of its page is free space. */
const ROWS = 10;

describe('The data files of Postgres', () => {
  it('have erased reasons and deleted purposes after VACUUM, and have none of them after VACUUM FULL', async () => {
    const fresh = await postgres.fresh();
    const storage = await fresh.open();
    const agent = await registeredAgent(storage);
    for (let nth = 0; nth < ROWS; nth += 1) {
      const isErased = nth > 0;
      const at = plusSeconds(NOON, isErased ? 0 : 1);
      await storage.decide(recordAct, { ...anAct('DELETE /admin/tasks/{task_id}'), at, reason: `Incident <${nth}>` });
      const opening = anOpening(agent);
      const purpose = aPurpose(opening.task, { words: `Holiday <${nth}>`, salt: `salt<${nth}>` });
      await storage.decide(openTask, { ...opening, purpose });
      const { taskId } = opening.task;
      if (isErased) await storage.tasks.end({ kind: 'task', taskId }, { at: NOON, reason: 'operator_kill_switch' });
    }
    expect(await storage.sweeping.eraseReasons(NOON, ROWS)).to.equal(ROWS - 1);
    expect(await storage.decide(deleteEndedTasks, { endedBy: NOON, limit: ROWS })).to.equal(ROWS - 1);
    await storage.close();

    const superuser = await connectOutside(fresh, 'superuser');
    /** How many different texts the file of the table has. */
    const textsIn = async (table: string): Promise<number> => {
      await superuser.sql('checkpoint');
      const [row] = await superuser.sql(
        `select encode(pg_read_binary_file(pg_relation_filepath('${table}')), 'escape') as bytes`,
      );
      return new Set(String(row?.bytes).match(/(?:Incident|Holiday) <\d+>/g)).size;
    };
    for (const table of ['operator_acts', 'task_purposes']) {
      await superuser.sql(`vacuum ${table}`);
      expect(await textsIn(table), table).to.be.greaterThan(1);
      await superuser.sql(`vacuum full ${table}`);
      expect(await textsIn(table), table).to.equal(1);
    }
    await superuser.close();
    await fresh.drop();
  });
});
