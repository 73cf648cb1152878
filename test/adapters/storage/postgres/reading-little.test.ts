/**
 * How much of a table is read to end a few tasks, or to forget what is over: it may not grow with all that is there,
 * whatever Postgres believes of the table. It was analysed here when it held one task, and a busy one is always more than
 * was known; and the connection has done the same things often since then, and may have kept how.
 */

import { expect } from 'chai';
import type { Storage } from '../../../../adapters/storage/storage.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { openedTask } from '../../../contract/scene.ts';
import { type FreshDatabase, freshDatabase, type Outside } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

const LIVE = 3000;
/** Of one task and what was delegated from it, looked up for one thing after the other. */
const FEW = 30;
/** From the sixth time on a statement's plan may be kept. */
const OFTEN = 12;
const at = `'${toMicrosecondText(plusSeconds(NOON, 3))}'::timestamptz`;
const later = `${at} + interval '1 day'`;
const FORGETTING = `select forget(${at} + interval '5 seconds', 100)`;

interface TheOne {
  readonly taskId: string;
  readonly agentId: string;
  readonly grantHash: string;
}
const person = ({ taskId }: TheOne) => `(select sponsor_key from tasks where task_id = '${taskId}')`;

const ENDINGS: Readonly<Record<string, (one: TheOne) => string>> = {
  'the end of a task': ({ taskId }) => `select end_task('${taskId}', ${at}, 'operator_kill_switch')`,
  'the end of a person’s tasks': (one) =>
    `select end_tasks_of_sponsor(${person(one)}, ${at}, 'operator_kill_switch', null)`,
  'the end of an agent’s tasks': ({ agentId }) =>
    `select end_tasks_of_agent('${agentId}', ${at}, 'operator_kill_switch')`,
  'a revocation by grant': ({ agentId, grantHash }) =>
    `select revoke_by_grant('${agentId}', '${grantHash}', ${at}, 'client_revoked', '${agentId}', 'jti', ${at})`,
  'a block': (one) => `select block_sponsor(${person(one)}, 'admin', 'disabled', ${at}, 'sponsor_blocked')`,
  'a logout of a session': () => `select accept_logout('issuer', 'jti', ${at}, ${at}, null, 'the-one', ${at}, ${at})`,
  'a logout of a person': ({ taskId }) =>
    `select accept_logout('issuer', 'jti', ${at}, ${at}, (select sponsor from tasks where task_id = '${taskId}'), null, ${at}, ${at})`,
  'a write of a provisioned user': (one) => `select lock_tasks_of_sponsors(array[${person(one)}], ${at}),
    end_tasks_of_sponsor(${person(one)}, ${at}, 'scim_deactivated', null)`,
  'a security event': (one) => `select accept_security_event('issuer', 'jti', ${at}, ${at}, ${person(one)}, ${at},
    'ssf_account_disabled', false, 'disabled', 'ssf_account_disabled')`,
};
/** The one task's time comes a day before that of all others. */
const SWEEPING = {
  'an expiry': { sql: `select expire_tasks(${later}, ${later}, 100)`, leaves: [{ state: 'expired' }] },
  'a deletion': {
    // What was delegated goes first.
    sql: `select expire_tasks(${later}, ${later}, 100), delete_ended_tasks(${later}, 100),
      delete_ended_tasks(${later}, 100)`,
    leaves: [],
  },
};

const TASKS = ['tasks', 'task_grants'];
const CHILD = `task_${'Z'.repeat(26)}`;

/** Each row is to be forgotten a second after the one before. */
const REMEMBERED = {
  spent_assertions: "select 'agent', 'jti-' || n, ",
  revoked_tokens: `select 'tok_' || n, 'task', ${at}, 'client_revoked', `,
  accepted_signals: "select 'ssf', 'issuer', 'jti-' || n, ",
  logouts: `select 'person', 'person-' || n, ${at}, `,
};

const KEPT = {
  'where they are kept when they seem good enough': 'auto',
  'where they are kept from the first time on': 'force_generic_plan',
};
for (const [where, mode] of Object.entries(KEPT)) {
  describe(`a few rows of many on Postgres, with plans ${where}`, () => {
    let database: FreshDatabase;
    let storage: Storage;
    let outside: Outside;
    let theOne: TheOne;
    before(async () => {
      database = await freshDatabase('postgres');
      storage = await database.open();
      const connection = await database.outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      outside = connection;
      const { task, grantHash } = await openedTask(storage, { sessionId: 'the-one' });
      const owner = await database.outside?.('owner');
      for (const table of [...TASKS, ...Object.keys(REMEMBERED)]) {
        await owner?.sql(`alter table ${table} set (autovacuum_enabled = off)`);
      }
      await owner?.sql('analyze');
      await owner?.close();
      await outside.sql(`set plan_cache_mode = ${mode}`);
      theOne = { taskId: task.taskId, agentId: task.agentId, grantHash };
      const statements = [
        ...Object.values(ENDINGS).map((ending) => ending(theOne)),
        ...Object.values(SWEEPING).map(({ sql }) => sql),
        FORGETTING,
      ];
      for (const statement of statements) {
        for (let time = 0; time < OFTEN; time++) {
          await outside.sql('begin');
          await outside.sql(statement);
          await outside.sql('rollback');
        }
      }
      await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
        jsonb_populate_record(t, jsonb_build_object('task_id', 'task_' || lpad(n::text, 26, '0'), 'agent_id', 'agent_' || n,
          'session_id', 'other-' || n, 'sponsor', 'person-' || n, 'sponsor_key', 'person-' || n,
          'parent_task_id', 'task_' || lpad((n - 1)::text, 26, '0'), 'expires_at', t.expires_at + interval '2 days')) copy`);
      await outside.sql(`insert into tasks select copy.* from tasks t,
        jsonb_populate_record(t, jsonb_build_object('task_id', '${CHILD}', 'parent_task_id', t.task_id)) copy
        where t.task_id = '${theOne.taskId}'`);
      await outside.sql(`insert into task_grants (grant_hash, task_id, scope)
        select 'grant-' || task_id, task_id, scope from tasks where task_id <> '${theOne.taskId}'`);
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

    /** What the statement reads of the tables, and from end to end of any; and what is said then. It is undone. */
    const reading = async (tables: readonly string[], statement: string, said: string) => {
      const named = tables.map((table) => `'${table}'::regclass`).join();
      const counted = async () => {
        // Also those of earlier transactions that nobody was told of yet.
        const [row] = await outside.sql(`select
            sum(seq_tup_read + idx_tup_fetch) filter (where relid in (${named}))::integer as rows, sum(seq_scan)::integer as scans
          from pg_stat_xact_user_tables`);
        return { rows: Number(row?.rows), scans: Number(row?.scans) };
      };
      await outside.sql('begin');
      const before = await counted();
      await outside.sql(statement);
      const after = await counted();
      const answer = await outside.sql(said);
      await outside.sql('rollback');
      return { rows: after.rows - before.rows, scans: after.scans - before.scans, answer };
    };
    const stateOf = ({ taskId }: TheOne) => `select state from tasks where task_id = '${taskId}'`;

    for (const [what, ending] of Object.entries(ENDINGS)) {
      it(`are all that is read by ${what}, and not all that are live`, async () => {
        const { rows, scans, answer } = await reading(TASKS, ending(theOne), stateOf(theOne));
        expect(answer).to.deep.equal([{ state: 'revoked' }]);
        expect(rows).to.be.at.most(FEW);
        expect(scans).to.equal(0);
      });
    }

    for (const [what, { sql, leaves }] of Object.entries(SWEEPING)) {
      it(`are all that is read by ${what}, and not all that are live`, async () => {
        const { rows, scans, answer } = await reading(TASKS, sql, stateOf(theOne));
        expect(answer).to.deep.equal(leaves);
        expect(rows).to.be.at.most(FEW);
        expect(scans).to.equal(0);
      });
    }

    it('are all that is read of the logouts to judge a subject token', async () => {
      const judged = `select is_logged_out('person-7', 'no-session', ${at}, ${at})`;
      const { rows, scans, answer } = await reading(['logouts'], judged, judged);
      expect(answer).to.deep.equal([{ is_logged_out: true }]);
      expect(rows).to.be.at.most(FEW);
      expect(scans).to.equal(0);
    });

    for (const table of Object.keys(REMEMBERED)) {
      it(`are all that is read of ${table} to forget them, and not all that is remembered`, async () => {
        const { rows, scans, answer } = await reading(
          [table],
          FORGETTING,
          `select count(*)::integer as left from ${table} where forget_at > ${at} and forget_at <= ${at} + interval '10 seconds'`,
        );
        expect(answer).to.deep.equal([{ left: 5 }]);
        expect(rows).to.be.at.most(FEW);
        expect(scans).to.equal(0);
      });
    }
  });
}

describe('functions on Postgres', () => {
  /** They read no table that grows. */
  const OTHERS = [
    ...['spend_assertion', 'remember_signal', 'end_tasks', 'last_number'],
    ...['create_ledger_partitions', 'refuse_ledger_change'],
  ];

  it('all look up by index, and compile nothing', async () => {
    const database = await freshDatabase('postgres');
    const outside = await database.outside?.();
    const functions = await outside?.sql(`select proname as name from pg_proc
      where pronamespace = current_schema()::regnamespace
        and not coalesce(proconfig @> array['enable_seqscan=off', 'jit=off'], false)`);
    expect(functions?.map(({ name }) => name)).to.have.members(OTHERS);
    await outside?.close();
    await database.drop();
  });
});
