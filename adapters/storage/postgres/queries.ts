/** Reads agents, tasks, blocks and users on Postgres (application/ports/queries.ts). */

import type {
  Agents,
  OperatorActs,
  ProvisionedUsers,
  Sessions,
  Sponsors,
  StatusLists,
  Tasks,
} from '../../../application/ports/queries.ts';
import type { Sweeping } from '../../../application/ports/storage.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { type AgentRow, agentColumnNames, listAgents, toAgent } from '../rows/agent-row.ts';
import {
  BLOCK_COLUMNS,
  type BlockCountRow,
  type BlockRow,
  type OfSource,
  OLDEST_FIRST,
  pageOfBlocks,
  selectBlockCount,
  toBlockCount,
  toBlocks,
} from '../rows/block-row.ts';
import { type Bound, storable } from '../rows/column.ts';
import { type OperatorActRow, selectActs, toStoredAct } from '../rows/operator-act-row.ts';
import {
  type CountRow,
  countUsers,
  findUser,
  type ProvisionedUserRow,
  pageOfUsers,
  toProvisionedUser,
  usersOfPerson,
} from '../rows/provisioned-user-row.ts';
import { type SessionRow, sessionColumnNames, toSession } from '../rows/session-row.ts';
import {
  type StatusListRow,
  type StatusListUsageRow,
  selectStatusListUsage,
  statusListColumns,
  toStatusList,
  toStatusListUsage,
  unusedLists,
} from '../rows/status-list-row.ts';
import {
  countLiveTasks,
  type ListedTaskRow,
  type LiveTaskCountRow,
  type ShownTaskRow,
  selectListedTask,
  selectListedTasks,
  type TaskListReading,
  toLiveTaskCount,
  toShownTask,
  toTasksPage,
} from '../rows/task-list.ts';
import {
  GRANT_COLUMNS,
  type GrantRow,
  type OwnTaskRow,
  selectOwnTasks,
  TOKEN_FACTS_COLUMNS,
  type TokenFactsRow,
  toGrant,
  toOwnTask,
  toTokenFacts,
} from '../rows/task-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';
import { LOCK } from './locks.ts';
import { readInOrder } from './read-in-order.ts';
import { type RowLookup, setReader } from './set-reader.ts';

const findAgent = {
  name: 'find_agent',
  text: `select ${agentColumnNames.join(', ')} from agents where agent_id = $1`,
};

export function postgresAgents({ knex, run }: Connections): Agents {
  return {
    async find(agentId) {
      const { rows } = await run<AgentRow>(findAgent, [agentId]);
      return rows[0] && toAgent(rows[0]);
    },
    async list(page) {
      const { rows } = await run<AgentRow>(listAgents(knex, page));
      return rows.map(toAgent);
    },
  };
}

const grantLookup: RowLookup = {
  name: 'find_grants',
  keys: 'grant_hash text, agent_id text',
  found: `select ${GRANT_COLUMNS} from task_grants g join tasks t using (task_id)
    where g.grant_hash = q.grant_hash and t.agent_id = q.agent_id`,
};
const findSponsor = { name: 'find_sponsor', text: 'select sponsor_key from tasks where task_id = $1' };
const tokenLookup: RowLookup = {
  name: 'token_facts',
  keys: 'task_id text, jti text',
  found: `select ${TOKEN_FACTS_COLUMNS} from tasks t
    left join agents a using (agent_id) left join revoked_tokens r on r.jti = q.jti where t.task_id = q.task_id`,
};

/** As a page of the ledger does (`ledger.ts`): bounds replace equalities, or the planner may read all tasks in the order of ids. */
const taskListReading: TaskListReading = {
  start(select, first, state, before) {
    const keys: readonly Name[] = first === undefined ? [['lower(state)', state]] : [first, ['state', state]];
    const columns = keys.map(([key]) => key);
    const values = keys.map(([, value]) => value);
    const marks = values.map(() => '?').join(', ');
    select
      .whereRaw(`${columns[0]} >= ? and ${columns[0]} <= ?`, [values[0] ?? '', values[0] ?? ''])
      .whereRaw(`(${columns.join(', ')}) >= (${marks})`, values)
      .whereRaw(`(${columns.join(', ')}, task_id) < (${marks}, ?)`, [...values, before]);
    return [...columns, 'task_id'].map((column, nth) => [String(nth), column]);
  },
};

type Name = readonly [key: string, value: string];

/** @param waitMs how long a read may wait while Postgres does not answer */
export function postgresTasks({ knex, run, readTogether }: Connections, waitMs: number): Tasks {
  const readGrant = setReader<GrantRow>(run, grantLookup, waitMs);
  const readTokenFacts = setReader<TokenFactsRow>(run, tokenLookup, waitMs);
  return {
    async findGrant(agentId, grantHash) {
      const row = await readGrant({ grant_hash: grantHash, agent_id: agentId });
      return row && toGrant(row);
    },
    async findSponsor(taskId) {
      const { rows } = await run<{ sponsor_key: SponsorKey }>(findSponsor, [taskId]);
      return rows[0]?.sponsor_key;
    },
    async tokenFacts(tokenId, taskId) {
      const row = await readTokenFacts({ task_id: taskId, jti: tokenId });
      return row && toTokenFacts(row);
    },
    async ofSponsor(sponsorKey, question) {
      const values: Bound[] = [];
      const bind = (value: Bound) => `$${values.push(value)}`;
      const text = selectOwnTasks(sponsorKey, question, bind, bindInstant);
      // In a transaction (`readTogether`) the planner uses no sequential scan.
      const { rows } = await readTogether((read) => read<OwnTaskRow>({ name: 'own_tasks', text }, values));
      return rows.map(toOwnTask);
    },
    async list(question) {
      const select = selectListedTasks(knex, question, bindInstant, taskListReading);
      const { rows } = await readInOrder<ListedTaskRow>({ readTogether }, select);
      return toTasksPage(rows, question.now);
    },
    async findListed(taskId, now) {
      const { rows } = await readTogether((read) => read<ShownTaskRow>(selectListedTask(knex, taskId)));
      return rows[0] && toShownTask(rows[0], now);
    },
    async countLive(question) {
      const counted = countLiveTasks(knex, question, bindInstant);
      const { rows } = await readTogether((read) => read<LiveTaskCountRow>(counted));
      return toLiveTaskCount(rows[0]);
    },
  };
}

const findStatusList = {
  name: 'find_status_list',
  text: `select ${statusListColumns('json_agg')} from status_lists l where l.list_id = $1`,
};
const statusListUsage = { name: 'status_list_usage', text: selectStatusListUsage };
const listStatusLists = {
  name: 'list_status_lists',
  text: 'select list_id from status_lists order by created_at, list_id',
};

export function postgresStatusLists({ run, readTogether }: Pick<Connections, 'run' | 'readTogether'>): StatusLists {
  return {
    async find(listId) {
      // In a transaction (`readTogether`) the planner uses no sequential scan.
      const { rows } = await readTogether((read) => read<StatusListRow>(findStatusList, [listId]));
      return rows[0] && toStatusList(rows[0]);
    },
    async usage() {
      const { rows } = await readTogether((read) => read<StatusListUsageRow>(statusListUsage));
      return rows.map(toStatusListUsage);
    },
    async list() {
      return (await run<{ list_id: string }>(listStatusLists)).rows.map((row) => row.list_id);
    },
  };
}

const findSession = {
  name: 'find_session',
  text: `select ${sessionColumnNames.join(', ')} from sessions where kind = $1 and session_hash = $2`,
};

export function postgresSessions({ run }: Connections): Sessions {
  return {
    async find(kind, sessionHash) {
      const { rows } = await run<SessionRow>(findSession, [kind, sessionHash]);
      return rows[0] && toSession(rows[0]);
    },
  };
}

const findBlocks = {
  name: 'find_blocks',
  text: `select ${BLOCK_COLUMNS} from sponsor_blocks where sponsor_key = $1 ${OLDEST_FIRST}`,
};

const countBlocks = { name: 'count_blocks', text: selectBlockCount('$1') };

const selectPendingLift = {
  name: 'pending_lift',
  text: 'select forget_at from pending_unblocks where sponsor_key = $1 and forget_at > $2',
};

/** Two bounds replace an equality: with that, the planner may read the blocks of all sources in the order of time. */
const ofSource: OfSource = (select, source, after) =>
  select
    .whereRaw('source >= ? and source <= ?', [source, source])
    .whereRaw('(source, blocked_at, sponsor_key) < (?, ?, ?)', [source, ...after]);

export function postgresSponsors({
  knex,
  run,
  readTogether,
}: Pick<Connections, 'knex' | 'run' | 'readTogether'>): Sponsors {
  return {
    async findBlocks(sponsorKey) {
      return toBlocks((await run<BlockRow>(findBlocks, [storable('sponsor_key', sponsorKey)])).rows);
    },
    async list(question) {
      return toBlocks(
        (await readInOrder<BlockRow>({ readTogether }, pageOfBlocks(knex, question, bindInstant, ofSource))).rows,
      );
    },
    async countBlocks(most) {
      return toBlockCount((await run<BlockCountRow>(countBlocks, [most])).rows);
    },
    async liftPendingUntil(sponsorKey, now) {
      const values = [storable('sponsor_key', sponsorKey), bindInstant(now)];
      const { rows } = await run<{ forget_at: Instant }>(selectPendingLift, values);
      return rows[0]?.forget_at;
    },
  };
}

export function postgresOperatorActs({ knex, readTogether }: Connections): OperatorActs {
  return {
    async list(question) {
      const { rows } = await readInOrder<OperatorActRow>({ readTogether }, selectActs(knex, question));
      return rows.map(toStoredAct);
    },
  };
}

export function postgresProvisionedUsers({ knex, run }: Connections): ProvisionedUsers {
  return {
    async find(userId) {
      const { rows } = await run<ProvisionedUserRow>(findUser(knex, userId));
      return rows[0] && toProvisionedUser(rows[0]);
    },
    async list(question) {
      const { rows } = await run<ProvisionedUserRow>(pageOfUsers(knex, question));
      const counted = await run<CountRow>(countUsers(knex, question.match));
      return { users: rows.map(toProvisionedUser), total: counted.rows[0]?.users ?? 0 };
    },
    async ofPerson(sponsorKey) {
      const { rows } = await run<ProvisionedUserRow>(usersOfPerson(knex, sponsorKey));
      return rows.map(toProvisionedUser);
    },
  };
}

/** Deletes rows that are no longer needed on Postgres, some at a time (application/ports/storage.ts, Sweeping). */

const tryLock = { name: 'try_forgetting', text: `select pg_try_advisory_xact_lock(${LOCK.forgetting}, 0) as held` };

/**
 * Deletes by `ctid`: with keys the planner would join, and read the whole table for each batch. A concurrent logout may
 * postpone `forget_at` of a selected row, which must then stay. So the outer condition repeats the comparison: Postgres
 * before 17.7 does not check the `ctid` of a changed row again.
 */
const deletions = [
  ...['spent_assertions', 'revoked_tokens', 'accepted_signals', 'logouts', 'pending_unblocks'].map((table) => [
    table,
    'forget_at',
  ]),
  ['sessions', 'expires_at'],
].map(([table, until]) => ({
  name: `forget_${table}`,
  text: `delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${until} <= $1 order by ${until} limit $2)) and ${until} <= $1`,
}));

/** Skips rows that another transaction has locked, such as an exchange its parent task. The next pass frees them. */
const freeIndices = {
  name: 'release_status_indices',
  text: `with over as materialized (
      select task_id, status_list from tasks where status_list is not null and state <> 'live' and expires_at <= $1
        order by expires_at limit $2 for update skip locked
    ), opened as (
      update status_lists set closed_at = null
        where closed_at is not null and list_id = any (array(select status_list from over))
    )
    update tasks set status_list = null, status_index = null where task_id = any (array(select task_id from over))`,
};
const UNUSED = `not exists (
    select from tasks t where t.status_list = status_lists.list_id and t.status_index is not null offset 0)`;
const closeUnused = {
  name: 'close_unused_status_lists',
  text: `update status_lists set closed_at = $1 where created_at <= $2 and closed_at is null and ${UNUSED}`,
};
const deleteUnused = {
  name: 'delete_unused_status_lists',
  text: `delete from status_lists where created_at <= $1 and closed_at <= $2 and ${UNUSED}`,
};

const eraseReasons = {
  name: 'erase_reasons',
  text: `update operator_acts set reason = null, salt = null where seq = any (array(
    select seq from operator_acts where at <= $1 and reason is not null order by at limit $2))`,
};

export function postgresSweeping({ transact }: Connections): Sweeping {
  return {
    eraseReasons: (until, limit) =>
      transact(async (run) => (await run(eraseReasons, [bindInstant(until), limit])).count),
    // A serving role may not lock rows of all these tables, so an advisory lock lets one instance delete at a time.
    forget: (until, limit) =>
      transact(async (run) => {
        const { rows } = await run<{ held: boolean }>(tryLock);
        if (rows[0]?.held !== true) return 0;
        let forgotten = 0;
        for (const deletion of [...deletions, freeIndices]) {
          forgotten += (await run(deletion, [bindInstant(until), limit])).count;
        }
        const { createdBy, closedBy } = unusedLists(until);
        forgotten += (await run(deleteUnused, [bindInstant(createdBy), bindInstant(closedBy)])).count;
        forgotten += (await run(closeUnused, [bindInstant(until), bindInstant(createdBy)])).count;
        return forgotten;
      }),
  };
}
