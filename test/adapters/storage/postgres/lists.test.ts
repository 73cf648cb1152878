/** Counts the rows that Postgres reads for a page of tasks or blocks, or to count them: few, beside many others. */

import { expect } from 'chai';
import pg from 'pg';
import { postgresAsk, postgresChange } from '../../../../adapters/storage/postgres/ask.ts';
import { columnTypes } from '../../../../adapters/storage/postgres/column-types.ts';
import { BEGIN, type Run } from '../../../../adapters/storage/postgres/pool/transactions.ts';
import { queryPorts } from '../../../../adapters/storage/queries/ports.ts';
import type { LiveTasksQuestion, TasksQuestion } from '../../../../application/ports/tasks.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { taskStates } from '../../../../domain/tasks/task.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

/** Each name has an eighth of the tasks. Each of three states has a third, and few live tasks are past their time. */
const TASKS = 24_000;
const NAMES = 8;
const OVERDUE = 20;
const LIMIT = 10;
/** For each task of a page: its entry and its row, and the entries of its agent and its grant. */
const FEW = 6 * LIMIT + OVERDUE;
const MOST_READ = 500;
/** The agent of each counted task is read by its id at most. */
const AGENT_ENTRIES = 1;
const at = `'${toMicrosecondText(NOON)}'::timestamptz`;

const STATISTICS = { current: true, 'of empty tables': false };
for (const [which, isCurrent] of Object.entries(STATISTICS)) {
  describe(`The lists of tasks and blocks on Postgres, with statistics ${which}`, () => {
    let database: FreshDatabase;
    let client: pg.Client;

    before(async function () {
      this.timeout(60_000);
      database = await freshDatabase('postgres');
      const owner = await database.outside?.('owner');
      for (const table of ['agents', 'tasks', 'task_grants', 'sponsor_blocks']) {
        await owner?.sql(`alter table ${table} set (autovacuum_enabled = off)`);
      }
      if (!isCurrent) await owner?.sql('analyze');
      await owner?.sql(`insert into tasks (task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth,
          created_at, expires_at, state, ended_at, end_reason)
        select 'task_' || lpad(n::text, 26, '0'), 'agent-' || n % ${NAMES}, 'person-' || n % ${NAMES}, 'sub',
          'https://api-' || n % ${NAMES} || '.example', 'read', 1, ${at},
          case when n % (${TASKS} / ${OVERDUE}) = 0 then ${at} else ${at} + interval '1 day' end,
          s.state, case when s.state <> 'live' then ${at} end, case when s.state = 'revoked' then 'client_revoked' end
        from generate_series(0, ${TASKS - 1}) n
        cross join lateral (select (array['live', 'revoked', 'expired'])[1 + n / ${NAMES} % 3] as state) s`);
      await owner?.sql(
        `insert into task_grants (grant_hash, task_id, scope) select task_id, task_id, 'read' from tasks`,
      );
      await owner?.sql(`insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
        select 'person-' || n, case when n % 100 = 0 then 'admin' else 'scim' end, 'disabled',
          ${at} + n * interval '1 second', ${at} from generate_series(0, ${TASKS - 1}) n`);
      if (isCurrent) await owner?.sql('analyze');
      await owner?.close();
      client = new pg.Client({
        connectionString: String(database.settings['Service:Database:ConnectionString']),
        types: columnTypes,
      });
      await client.connect();
      await client.query("set time zone 'UTC'; set datestyle to 'ISO'");
    });
    after(async () => {
      await client.end();
      await database.drop();
    });

    const run: Run = async <Row>(query: Parameters<Run>[0], values: Parameters<Run>[1] = []) => {
      const result = await client.query({ text: query.text, values: [...values] });
      return { rows: result.rows as Row[], count: result.rowCount ?? 0 };
    };
    const connections = {
      run,
      readTogether: (work: (run: Run) => unknown) => work(run),
    };
    const { tasks, sponsors } = queryPorts(
      postgresAsk(connections as never, 1000),
      postgresChange(connections as never),
    );

    async function rowsReadBy<Answer>(read: () => Promise<Answer>): Promise<readonly [Answer, number]> {
      await client.query(BEGIN);
      try {
        const before = await rowsRead();
        const answer = await read();
        return [answer, (await rowsRead()) - before];
      } finally {
        await client.query('rollback');
      }
    }

    async function rowsRead(): Promise<number> {
      const { rows } = await client.query(
        'select sum(seq_tup_read + idx_tup_fetch)::integer as rows from pg_stat_xact_user_tables',
      );
      return rows[0]?.rows;
    }

    const filters: Readonly<Record<string, Partial<TasksQuestion>>> = {
      'all people': {},
      'an agent': { agentId: 'agent-1' as AgentId },
      'a person': { sponsorKey: 'person-1' as SponsorKey },
      'an audience': { audience: 'https://api-1.example' },
      'an agent, a person and an audience': {
        agentId: 'agent-1' as AgentId,
        sponsorKey: 'person-1' as SponsorKey,
        audience: 'https://api-1.example',
      },
    };
    const positions = { first: undefined, middle: `task_${String(TASKS / 2).padStart(26, '0')}` as TaskId };
    for (const [what, filter] of Object.entries(filters)) {
      for (const state of taskStates) {
        for (const [where, after] of Object.entries(positions)) {
          it(`reads at most ${FEW} rows for a ${where} page of ${LIMIT} ${state} tasks of ${what}`, async () => {
            const question = { state, after, limit: LIMIT, mostRead: MOST_READ, now: plusSeconds(NOON, 60), ...filter };
            const [page, rows] = await rowsReadBy(() => tasks.list(question));
            expect(page.tasks).to.have.length(LIMIT);
            // One in eight tasks has the audience, and no index has it.
            const others = filter.audience !== undefined && filter.sponsorKey === undefined ? LIMIT * NAMES : 0;
            expect(rows).to.be.within(LIMIT, FEW + others);
          });
        }
      }
    }

    for (const [what, filter] of Object.entries({
      'all people': {},
      'a person': { sponsorKey: 'person-1' as SponsorKey },
    })) {
      it(`reads few more than ${MOST_READ} rows for a page of tasks of ${what} for an audience that no task has, and says where the next one continues`, async () => {
        const question = { state: 'revoked', after: undefined, limit: LIMIT, mostRead: MOST_READ, now: NOON } as const;
        const audience = 'https://nobody.example';
        const [page, rows] = await rowsReadBy(() => tasks.list({ ...question, ...filter, audience }));
        expect(page.tasks).to.deep.equal([]);
        expect(page.readUpTo).to.match(/^task_/);
        expect(rows).to.be.within(MOST_READ, MOST_READ + FEW);
      });
    }

    // The overdue tasks are among these.
    const counted: Readonly<Record<string, readonly [of: LiveTasksQuestion['of'], live: number]>> = {
      'all people': [undefined, TASKS / 3 - OVERDUE],
      'an agent': [{ agentId: 'agent-0' as AgentId }, TASKS / 3 / NAMES - OVERDUE],
      'a person': [{ sponsorKey: 'person-0' as SponsorKey }, TASKS / 3 / NAMES - OVERDUE],
    };
    for (const [what, [of, live]] of Object.entries(counted)) {
      for (const most of [MOST_READ, TASKS]) {
        const expected = Math.min(live, most);
        it(`reads few more than ${expected} tasks to count at most ${most} live ones of ${what}`, async () => {
          const [count, rows] = await rowsReadBy(() => tasks.countLive({ of, now: plusSeconds(NOON, 60), most }));
          expect(count.tasks).to.equal(expected);
          expect(rows).to.be.within(expected, expected + OVERDUE + AGENT_ENTRIES * expected);
        });
      }
    }

    it(`reads at most ${FEW} rows to name ${NAMES} people with live tasks, however many tasks they have`, async () => {
      const [people, rows] = await rowsReadBy(() => tasks.livePeople(TASKS));
      expect(people).to.deep.equal(Array.from({ length: NAMES }, (_, nth) => `person-${nth}`));
      expect(rows).to.be.within(NAMES, FEW);
    });

    it(`reads ${MOST_READ} blocks to count at most ${MOST_READ}, and all only to count them all`, async () => {
      for (const most of [MOST_READ, TASKS]) {
        const [{ people }, rows] = await rowsReadBy(() => sponsors.countBlocks(most));
        expect([people, rows]).to.deep.equal([most, most]);
      }
    });

    for (const source of [undefined, 'admin', 'scim'] as const) {
      for (const after of [
        undefined,
        { blockedAt: plusSeconds(NOON, TASKS / 2), sponsorKey: 'p' as SponsorKey, source: 'ssf' },
      ] as const) {
        it(`reads at most ${FEW} rows for a ${after ? 'middle' : 'first'} page of ${LIMIT} blocks of ${source ?? 'every source'}`, async () => {
          const [page, rows] = await rowsReadBy(() => sponsors.list({ source, after, limit: LIMIT }));
          expect(page).to.have.length(LIMIT);
          expect(rows).to.be.within(LIMIT, FEW);
        });
      }
    }
  });
}
