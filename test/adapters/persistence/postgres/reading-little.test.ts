/**
 * How much of a table is read to end a few tasks, or to forget what is over: it may not grow with all that is there,
 * whatever Postgres believes of the table. Nobody has analysed it here, and that is how the newest rows of a busy one always
 * are; and the connection has done the same things often while there was nothing, and may have kept how.
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
/** From the sixth time on a statement's plan may be kept. */
const OFTEN = 12;
const SWEEPING = 'forgetting';
const at = `'${toMicrosecondText(plusSeconds(NOON, 3))}'::timestamptz`;

/** Each row is to be forgotten a second after the one before. */
const REMEMBERED = {
  spent_assertions: "select 'agent', 'jti-' || n, ",
  revoked_tokens: `select 'tok_' || n, 'task', ${at}, 'client_revoked', `,
  accepted_signals: "select 'ssf', 'issuer', 'jti-' || n, ",
};

describe('a few rows of many on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let outside: Outside;
  let taskId: string;
  let statements: Readonly<Record<string, string>>;
  before(async () => {
    database = await freshDatabase('postgres');
    storage = await database.open();
    const connection = await database.outside?.();
    if (connection === undefined) throw new Error('this database cannot be reached from outside');
    outside = connection;
    const { task, grantHash } = await openedTask(storage, { sessionId: 'the-one' });
    taskId = task.taskId;
    statements = statementsAbout({ taskId, agentId: task.agentId, grantHash });
    for (const statement of Object.values(statements)) {
      for (let time = 0; time < OFTEN; time++) {
        await outside.sql('begin');
        await outside.sql(statement);
        await outside.sql('rollback');
      }
    }
    await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
      jsonb_populate_record(t, jsonb_build_object('task_id', 'task_' || lpad(n::text, 26, '0'), 'session_id', 'other-' || n,
        'sponsor', 'person-' || n, 'sponsor_key', 'person-' || n)) copy`);
    await outside.sql(`insert into task_grants (grant_hash, task_id, scope)
      select 'grant-' || task_id, task_id, scope from tasks where task_id <> '${taskId}'`);
    for (const [table, row] of Object.entries(REMEMBERED)) {
      await outside.sql(
        `insert into ${table} ${row} ${at} + n * interval '1 second' from generate_series(1, ${LIVE}) n`,
      );
    }
  });
  after(async () => {
    await outside.close();
    await storage.close();
    await database.drop();
  });

  /** What the statement reads of the tables, and what is said then; it is undone. */
  const reading = async (tables: readonly string[], statement: string, said: string) => {
    const named = tables.map((table) => `'${table}'::regclass`).join();
    const rowsRead = async () => {
      // Also those of earlier transactions that nobody was told of yet.
      const counted = 'sum(seq_tup_read + idx_tup_fetch)::integer as rows from pg_stat_xact_user_tables';
      const [row] = await outside.sql(`select ${counted} where relid in (${named})`);
      return Number(row?.rows);
    };
    await outside.sql('begin');
    const before = await rowsRead();
    await outside.sql(statement);
    const rows = (await rowsRead()) - before;
    const [answer] = await outside.sql(said);
    await outside.sql('rollback');
    return { rows, answer };
  };

  for (const what of Object.keys(statementsAbout({ taskId: '', agentId: '', grantHash: '' })).filter(
    (one) => one !== SWEEPING,
  )) {
    it(`are all that is read by ${what}, and not all that are live`, async () => {
      const { rows, answer } = await reading(
        ['tasks', 'task_grants'],
        statements[what] ?? '',
        `select state from tasks where task_id = '${taskId}'`,
      );
      expect(answer).to.deep.equal({ state: 'revoked' });
      expect(rows).to.be.at.most(FEW);
    });
  }

  for (const table of Object.keys(REMEMBERED)) {
    it(`are all that is read of ${table} to forget them, and not all that is remembered`, async () => {
      const { rows, answer } = await reading(
        [table],
        statements[SWEEPING] ?? '',
        `select count(*)::integer as left from ${table} where forget_at > ${at} and forget_at <= ${at} + interval '10 seconds'`,
      );
      expect(rows).to.be.at.most(FEW);
      expect(answer).to.deep.equal({ left: 5 });
    });
  }
});

function statementsAbout({ taskId, agentId, grantHash }: Readonly<Record<'taskId' | 'agentId' | 'grantHash', string>>) {
  const person = `(select sponsor_key from tasks where task_id = '${taskId}')`;
  const statements: Readonly<Record<string, string>> = {
    'the end of a task': `select end_task('${taskId}', ${at}, 'operator_kill_switch')`,
    'the end of a person’s tasks': `select end_tasks_of_sponsor(${person}, ${at}, 'operator_kill_switch')`,
    'a revocation by grant': `select revoke_by_grant('${agentId}', '${grantHash}', ${at}, 'client_revoked', '${agentId}', 'jti', ${at})`,
    'a block': `select block_sponsor(${person}, 'admin', 'disabled', ${at}, 'sponsor_blocked')`,
    'a logout of a session': `select accept_logout('issuer', 'jti', ${at}, ${at}, null, 'the-one')`,
    'a logout of a person': `select accept_logout('issuer', 'jti', ${at}, ${at}, (select sponsor from tasks where task_id = '${taskId}'), null)`,
    'a security event': `select accept_security_event('issuer', 'jti', ${at}, ${at}, ${person}, ${at}, 'ssf_account_disabled', false, 'disabled', 'ssf_account_disabled')`,
    [SWEEPING]: `select forget(${at} + interval '5 seconds', 100)`,
  };
  return statements;
}
