import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Connection, openConnection } from '../../../../adapters/storage/sqlite/connection.ts';
import { sqliteDecisions } from '../../../../adapters/storage/sqlite/decide.ts';
import { ENDED_AT_ONCE } from '../../../../adapters/storage/sqlite/limits.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { endTasks } from '../../../../application/decisions/end-tasks.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { parseAgentId } from '../../../../domain/identifiers.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

const AGENT = {
  kind: 'agent',
  agentId: parseAgentId('agent') as NonNullable<ReturnType<typeof parseAgentId>>,
} as const;
const KILL = { at: NOON, reason: 'operator_kill_switch' } as const;

describe('Ending very many tasks on SQLite', () => {
  let directory: string;
  let connection: Connection;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-ending-'));
    connection = await openConnection(join(directory, 'test.sqlite'));
    await migrateSqlite(connection);
  });
  afterEach(async () => {
    await connection.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Each task begins a second before the previous one, so the tasks end in the reverse order of their names. */
  const seed = (tasks: number) =>
    connection.write((run) => {
      run(
        `with recursive up (number) as (values (1) union all select number + 1 from up where number < ?)
          insert into tasks (task_id, agent_id, sponsor_key, sponsor, session_id, audience, scope, delegation_depth,
            created_at, expires_at)
          select 'task_' || printf('%06d', number), 'agent', 'key-' || number, 'sub-' || number, 'sid-' || number,
            'https://jira.example', 'jira:read', 1, ? - number * 1000000, ? from up`,
        [tasks, NOON, NOON + 1],
      );
      run(`insert into agents (agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl,
          max_token_ttl, max_delegation_depth, jwks, public_client, keys_since, enabled, revision, created_at, updated_at)
        values ('agent', 'Agent', '', '[]', '[]', 60, 60, 1, '{}', 0, 0, 1, 1, 0, 0)`);
      run(`insert into task_grants (grant_hash, task_id, scope, renewals, unrecorded)
        select 'grant-' || task_id, task_id, scope, 3, 2 from tasks`);
    });
  const end = (limitMs?: number) =>
    sqliteDecisions(connection, limitMs).decide(endTasks, { selection: AGENT, ...KILL });
  const contents = () =>
    connection.read((run) => [
      run('select state, end_reason, ended_at, count(*) from tasks group by state, end_reason, ended_at').rows,
      run('select revoked_at, count(*) from task_grants group by revoked_at').rows,
      run('select count(*) from ledger').rows,
    ]);

  it('is one decision, whose records have the order in which the tasks began', async () => {
    const count = ENDED_AT_ONCE + 2;
    await seed(count);
    expect(await end()).to.deep.equal({ kind: 'ended', tasks: count });
    const said = await connection.read((run) =>
      run<{ event: string; task_id: string }>('select event, task_id from ledger order by seq').rows.map(
        ({ event, task_id }) => `${event} ${task_id}`,
      ),
    );
    const names = Array.from({ length: count }, (_, nth) => `task_${String(count - nth).padStart(6, '0')}`);
    const expected = names.flatMap((name) => [`token.refreshed ${name}`, `task.revoked ${name}`]);
    expect(said.join()).to.equal(expected.join());
  });

  it('takes as many statements for hundreds of tasks as for one', async () => {
    await seed(301);
    await connection.write((run) => run("update tasks set agent_id = 'other' where task_id <> 'task_000001'"));
    const statements: number[] = [];
    const counting: Connection = {
      ...connection,
      write: (work) =>
        connection.write((run) => {
          let count = 0;
          const answer = work((query, values) => {
            count += 1;
            return run(query, values);
          });
          statements.push(count);
          return answer;
        }),
    };
    const { decide } = sqliteDecisions(counting);
    expect(await decide(endTasks, { selection: AGENT, ...KILL })).to.deep.equal({ kind: 'ended', tasks: 1 });
    await connection.write((run) => run("update tasks set agent_id = 'agent'"));
    expect(await decide(endTasks, { selection: AGENT, ...KILL })).to.deep.equal({ kind: 'ended', tasks: 300 });
    expect(statements[1]).to.equal(statements[0]);
  });

  it('is unavailable beyond its time limit, changes nothing, and is not retried', async () => {
    await seed(ENDED_AT_ONCE + 1);
    const before = await contents();
    let attempts = 0;
    const counted: typeof endTasks = {
      ...endTasks,
      judge: (input, facts) => {
        attempts += 1;
        return endTasks.judge(input, facts);
      },
    };
    const lift = (key: string) =>
      connection.write((run) => run('delete from sponsor_blocks where sponsor_key = ?', [key]).count);
    // The other two decisions of the same transaction are committed.
    const outcomes = await Promise.allSettled([
      lift('before'),
      sqliteDecisions(connection, 0).decide(counted, { selection: AGENT, ...KILL }),
      lift('after'),
    ]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).to.have.property('reason').that.is.instanceOf(StorageUnavailable);
    expect(attempts).to.equal(1);
    expect(await contents()).to.deep.equal(before);
  });

  it('has no time limit for tasks that one statement ends', async () => {
    const count = ENDED_AT_ONCE;
    await seed(count);
    expect(await end(0)).to.deep.equal({ kind: 'ended', tasks: count });
  });
});
