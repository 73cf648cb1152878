/**
 * How much of `tasks` is read to end a few: it may not grow with all that are live, whatever Postgres believes of the
 * table. Nobody has analysed it here, and that is how the newest rows of a busy one always are.
 */

import { expect } from 'chai';
import type { Storage } from '../../../../adapters/persistence/storage.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { openedTask } from '../../../contract/scene.ts';
import { type FreshDatabase, freshDatabase, type Outside } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

const LIVE = 3000;
/** Of one task, looked up for one thing after the other. */
const FEW = 20;
const at = `'${toMicrosecondText(plusSeconds(NOON, 3))}'::timestamptz`;

describe('ending a few of many tasks on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let outside: Outside;
  let taskId: string;
  before(async () => {
    database = await freshDatabase('postgres');
    storage = await database.open();
    const connection = await database.outside?.();
    if (connection === undefined) throw new Error('this database cannot be reached from outside');
    outside = connection;
    const { task } = await openedTask(storage, { sessionId: 'the-one' });
    taskId = task.taskId;
    await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
      jsonb_populate_record(t, jsonb_build_object('task_id', 'task_' || lpad(n::text, 26, '0'), 'session_id', 'other-' || n,
        'sponsor', 'person-' || n, 'sponsor_key', 'person-' || n)) copy`);
  });
  after(async () => {
    await outside.close();
    await storage.close();
    await database.drop();
  });

  const read = async (statement: string): Promise<number> => {
    await outside.sql('begin');
    await outside.sql(statement);
    const [row] = await outside.sql(
      "select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relid = 'tasks'::regclass",
    );
    const [ended] = await outside.sql(`select state from tasks where task_id = '${taskId}'`);
    await outside.sql('rollback');
    expect(ended?.state).to.equal('revoked');
    return Number(row?.rows);
  };

  it('reads a task that is killed, and not all that are live', async () => {
    expect(await read(`select end_task('${taskId}', ${at}, 'operator_kill_switch')`)).to.be.at.most(FEW);
  });

  it('reads the tasks of a person who is blocked, and not all that are live', async () => {
    expect(
      await read(
        `select end_tasks_of_sponsor((select sponsor_key from tasks where task_id = '${taskId}'), ${at}, 'x')`,
      ),
    ).to.be.at.most(FEW);
  });

  it('reads the tasks of a session that is logged out of, and not all that are live', async () => {
    expect(await read(`select accept_logout('issuer', 'jti', ${at}, ${at}, null, 'the-one')`)).to.be.at.most(FEW);
  });
});
