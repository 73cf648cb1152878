import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Connections, openConnections, type Run } from '../../../../adapters/storage/sqlite/connections.ts';
import { endTasks } from '../../../../adapters/storage/sqlite/ending.ts';
import { ENDED_AT_ONCE } from '../../../../adapters/storage/sqlite/limits.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { StorageUnavailable } from '../../../../application/ports/storage.ts';
import type { TaskId } from '../../../../domain/identifiers.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

const KILL = { at: NOON, reason: 'operator_kill_switch' } as const;

describe('ending very many tasks on SQLite', () => {
  let directory: string;
  let connections: Connections;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-ending-'));
    connections = openConnections(join(directory, 'test.sqlite'), capturedLog());
    await migrateSqlite(connections.knex);
  });
  afterEach(async () => {
    await connections.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Each begun a second before the last, so that they end in the opposite order of their names. */
  const seed = (tasks: number) =>
    connections.decide((run) => {
      run(
        `with recursive up (number) as (values (1) union all select number + 1 from up where number < ?)
          insert into tasks (task_id, agent_id, sponsor_key, sponsor, session_id, audience, scope, delegation_depth,
            created_at, expires_at)
          select 'task_' || printf('%06d', number), 'agent', 'key-' || number, 'sub-' || number, 'sid-' || number,
            'https://jira.example', 'jira:read', 1, ? - number * 1000000, ? from up`,
        [tasks, NOON, NOON + 1],
      );
      run(`insert into task_grants (grant_hash, task_id, scope, renewals, unrecorded)
        select 'grant-' || task_id, task_id, scope, 3, 2 from tasks`);
    });
  const roots = (run: Run) => run<{ task_id: TaskId }>('select task_id from tasks').rows.map((row) => row.task_id);
  const contents = () =>
    connections.read((run) => [
      run('select state, end_reason, ended_at, count(*) from tasks group by state, end_reason, ended_at').rows,
      run('select revoked_at, count(*) from task_grants group by revoked_at').rows,
      run('select count(*) from ledger').rows,
    ]);

  it('is one decision, however many statements it takes, recorded in the order in which they began', async () => {
    const count = ENDED_AT_ONCE + 2;
    await seed(count);
    expect(await connections.decide((run) => endTasks(run, roots(run), KILL))).to.equal(count);
    const said = await connections.read((run) =>
      run<{ event: string; task_id: string }>('select event, task_id from ledger order by seq').rows.map(
        ({ event, task_id }) => `${event} ${task_id}`,
      ),
    );
    const names = Array.from({ length: count }, (_, nth) => `task_${String(count - nth).padStart(6, '0')}`);
    const expected = names.flatMap((name) => [`token.refreshed ${name}`, `task.revoked ${name}`]);
    expect(said.join()).to.equal(expected.join());
  });

  it('that takes longer than it may is unavailable, changes nothing, and is not made again', async () => {
    await seed(ENDED_AT_ONCE + 1);
    const before = await contents();
    let attempts = 0;
    const lift = (key: string) =>
      connections.decide((run) => run('delete from sponsor_blocks where sponsor_key = ?', [key]).count);
    // Three decisions of one transaction: the others are made all the same.
    const outcomes = await Promise.allSettled([
      lift('before'),
      connections.decide((run) => {
        attempts += 1;
        return endTasks(run, roots(run), KILL, 0);
      }),
      lift('after'),
    ]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).to.have.property('reason').that.is.instanceOf(StorageUnavailable);
    expect(attempts).to.equal(1);
    expect(await contents()).to.deep.equal(before);
  });

  it('is never cut off where they are no more than one statement’s', async () => {
    await seed(ENDED_AT_ONCE);
    expect(await connections.decide((run) => endTasks(run, roots(run), KILL, 0))).to.equal(ENDED_AT_ONCE);
  });
});
