/**
 * How much of a table is read to end a few tasks, or to forget what is over: it may not grow with all that is there,
 * whatever Postgres believes of the table. Nobody has analysed it here, and that is how the newest rows of a busy one always are.
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

describe('a few rows of many on Postgres', () => {
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

  /** What the statement reads of the table, and what it says; it is undone. */
  const reading = async (table: string, statement: string, said: string) => {
    await outside.sql('begin');
    await outside.sql(statement);
    const [row] = await outside.sql(
      `select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relid = '${table}'::regclass`,
    );
    const [answer] = await outside.sql(said);
    await outside.sql('rollback');
    return { rows: Number(row?.rows), answer };
  };
  const read = async (statement: string): Promise<number> => {
    const { rows, answer } = await reading('tasks', statement, `select state from tasks where task_id = '${taskId}'`);
    expect(answer).to.deep.equal({ state: 'revoked' });
    return rows;
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

  const REMEMBERED = {
    spent_assertions: "select 'agent', 'jti-' || n, ",
    revoked_tokens: `select 'tok_' || n, 'task', ${at}, 'client_revoked', `,
    accepted_signals: "select 'ssf', 'issuer', 'jti-' || n, ",
  };
  for (const [table, row] of Object.entries(REMEMBERED)) {
    it(`reads of ${table} what may be forgotten, and not all that is remembered`, async () => {
      await outside.sql(
        `insert into ${table} ${row} ${at} + n * interval '1 second' from generate_series(1, ${LIVE}) n`,
      );
      const { rows, answer } = await reading(
        table,
        `select forget(${at} + interval '5 seconds', 100)`,
        `select count(*)::integer as left from ${table} where forget_at > ${at} and forget_at <= ${at} + interval '10 seconds'`,
      );
      expect(rows).to.be.at.most(FEW);
      expect(answer).to.deep.equal({ left: 5 });
    });
  }
});
