/** Reads agents, tasks, blocks and users on SQLite (application/ports/queries.ts). */

import createKnex from 'knex';
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
import type { SponsorBlock } from '../../../domain/sponsors/block.ts';
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
import type { Bound } from '../rows/column.ts';
import { silentKnex } from '../rows/migrations.ts';
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
import { bindInstant, type Connection } from './connection.ts';
import type { Run } from './handle.ts';

/** Builds the queries that are not hot, and never connects. */
export const queryBuilder = createKnex({ client: 'better-sqlite3', useNullAsDefault: true, log: silentKnex });

const selectAgent = `select ${agentColumnNames.join(', ')} from agents where agent_id = ?`;

export function sqliteAgents({ read }: Connection): Agents {
  return {
    find: (agentId) =>
      read((run) => {
        const row = run<AgentRow>(selectAgent, [agentId]).rows[0];
        return row && toAgent(row);
      }),

    list: (page) => read((run) => run<AgentRow>(listAgents(queryBuilder, page)).rows.map(toAgent)),
  };
}

const selectGrant = `select ${GRANT_COLUMNS} from task_grants g join tasks t using (task_id)
  where g.grant_hash = ? and t.agent_id = ?`;

const selectSponsor = 'select sponsor_key from tasks where task_id = ?';

const selectTokenFacts = `select ${TOKEN_FACTS_COLUMNS} from tasks t
  left join agents a using (agent_id) left join revoked_tokens r on r.jti = ? where t.task_id = ?`;

const taskListReading: TaskListReading = {
  start(select, first, state, before) {
    if (first !== undefined) select.where(...first);
    select.whereRaw(`${first === undefined ? 'lower(state)' : 'state'} = ?`, [state]).where('task_id', '<', before);
    return [['id', 'task_id']];
  },
};

export function sqliteTasks({ read }: Connection): Tasks {
  return {
    findGrant: (agentId, grantHash) =>
      read((run) => {
        const row = run<GrantRow>(selectGrant, [grantHash, agentId]).rows[0];
        return row && toGrant(row);
      }),

    findSponsor: (taskId) =>
      read((run) => run<{ sponsor_key: SponsorKey }>(selectSponsor, [taskId]).rows[0]?.sponsor_key),

    tokenFacts: (tokenId, taskId) =>
      read((run) => {
        const row = run<TokenFactsRow>(selectTokenFacts, [tokenId, taskId]).rows[0];
        return row && toTokenFacts(row);
      }),

    ofSponsor: (sponsorKey, question) =>
      read((run) => {
        const values: Bound[] = [];
        const bind = (value: Bound) => {
          values.push(value);
          return '?';
        };
        const query = selectOwnTasks(sponsorKey, question, bind, (instant) => instant);
        return run<OwnTaskRow>(query, values).rows.map(toOwnTask);
      }),

    list: (question) =>
      read((run) =>
        toTasksPage(
          run<ListedTaskRow>(selectListedTasks(queryBuilder, question, bindInstant, taskListReading)).rows,
          question.now,
        ),
      ),

    findListed: (taskId, now) =>
      read((run) => {
        const row = run<ShownTaskRow>(selectListedTask(queryBuilder, taskId)).rows[0];
        return row && toShownTask(row, now);
      }),

    countLive: (question) =>
      read((run) =>
        toLiveTaskCount(run<LiveTaskCountRow>(countLiveTasks(queryBuilder, question, bindInstant)).rows[0]),
      ),
  };
}

const selectStatusList = `select ${statusListColumns('json_group_array')} from status_lists l where l.list_id = ?`;
const selectStatusLists = 'select list_id from status_lists order by created_at, list_id';

export function sqliteStatusLists({ read }: Connection): StatusLists {
  return {
    find: (listId) =>
      read((run) => {
        const row = run<StatusListRow>(selectStatusList, [listId]).rows[0];
        return row && toStatusList(row);
      }),

    usage: () => read((run) => run<StatusListUsageRow>(selectStatusListUsage).rows.map(toStatusListUsage)),
    list: () => read((run) => run<{ list_id: string }>(selectStatusLists).rows.map((row) => row.list_id)),
  };
}

const selectSession = `select ${sessionColumnNames.join(', ')} from sessions where kind = ? and session_hash = ?`;

export function sqliteSessions({ read }: Connection): Sessions {
  return {
    find: (kind, sessionHash) =>
      read((run) => {
        const row = run<SessionRow>(selectSession, [kind, sessionHash]).rows[0];
        return row && toSession(row);
      }),
  };
}

const selectBlocks = `select ${BLOCK_COLUMNS} from sponsor_blocks where sponsor_key = ? ${OLDEST_FIRST}`;

export function findBlocks(run: Run, sponsorKey: SponsorKey): readonly SponsorBlock[] {
  return toBlocks(run<BlockRow>(selectBlocks, [sponsorKey]).rows);
}

const ofSource: OfSource = (select, source, after) =>
  select.whereRaw('source = ? and (blocked_at, sponsor_key) < (?, ?)', [source, ...after]);

const countBlocks = selectBlockCount('?');
const selectPendingLift = 'select forget_at from pending_unblocks where sponsor_key = ? and forget_at > ?';

export function sqliteSponsors({ read }: Connection): Sponsors {
  return {
    findBlocks: (sponsorKey) => read((run) => findBlocks(run, sponsorKey)),
    list: (question) =>
      read((run) => toBlocks(run<BlockRow>(pageOfBlocks(queryBuilder, question, bindInstant, ofSource)).rows)),
    countBlocks: (most) => read((run) => toBlockCount(run<BlockCountRow>(countBlocks, [most]).rows)),
    liftPendingUntil: (sponsorKey, now) =>
      read((run) => run<{ forget_at: Instant }>(selectPendingLift, [sponsorKey, now]).rows[0]?.forget_at),
  };
}

export function sqliteOperatorActs({ read }: Connection): OperatorActs {
  return {
    list: (question) => read((run) => run<OperatorActRow>(selectActs(queryBuilder, question)).rows.map(toStoredAct)),
  };
}

export function sqliteProvisionedUsers({ read }: Connection): ProvisionedUsers {
  return {
    find: (userId) =>
      read((run) => {
        const row = run<ProvisionedUserRow>(findUser(queryBuilder, userId)).rows[0];
        return row && toProvisionedUser(row);
      }),

    list: (question) =>
      read((run) => ({
        users: run<ProvisionedUserRow>(pageOfUsers(queryBuilder, question)).rows.map(toProvisionedUser),
        total: run<CountRow>(countUsers(queryBuilder, question.match)).rows[0]?.users ?? 0,
      })),

    ofPerson: (sponsorKey) =>
      read((run) => run<ProvisionedUserRow>(usersOfPerson(queryBuilder, sponsorKey)).rows.map(toProvisionedUser)),
  };
}

/** Deletes rows that are no longer needed, a limited number at a time (application/ports/storage.ts, Sweeping). */

const deletions = [
  deleteFrom('spent_assertions', 'agent_id, jti'),
  deleteFrom('revoked_tokens', 'jti'),
  deleteFrom('accepted_signals', 'receiver, issuer, jti'),
  deleteFrom('logouts', 'kind, name'),
  deleteFrom('sessions', 'session_hash', 'expires_at'),
  deleteFrom('pending_unblocks', 'sponsor_key'),
];

function deleteFrom(table: string, key: string, until = 'forget_at'): string {
  return `delete from ${table} where (${key}) in (
    select ${key} from ${table} where ${until} <= ? order by ${until} limit ?)`;
}

const OVER = `from tasks where status_list is not null and state <> 'live' and expires_at <= ? order by expires_at limit ?`;
/** The lists first: afterwards the tasks no longer name them. */
const openLists = `update status_lists set closed_at = null
  where closed_at is not null and list_id in (select status_list ${OVER})`;
const freeIndices = `update tasks set status_list = null, status_index = null where task_id in (select task_id ${OVER})`;
const UNUSED = `not exists (
    select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null)`;
const closeUnused = `update status_lists set closed_at = ? where created_at <= ? and closed_at is null and ${UNUSED}`;
const deleteUnused = `delete from status_lists where created_at <= ? and closed_at <= ? and ${UNUSED}`;

const eraseReasons = `update operator_acts set reason = null, salt = null where seq in (
  select seq from operator_acts where at <= ? and reason is not null order by at limit ?)`;

export function sqliteSweeping({ write }: Connection): Sweeping {
  return {
    eraseReasons: (until, limit) => write((run) => run(eraseReasons, [until, limit]).count),
    forget: (until, limit) =>
      write((run) => {
        run(openLists, [until, limit]);
        const { createdBy, closedBy } = unusedLists(until);
        return [
          ...[...deletions, freeIndices].map((deletion) => run(deletion, [until, limit])),
          run(deleteUnused, [createdBy, closedBy]),
          run(closeUnused, [until, createdBy]),
        ].reduce((sum, { count }) => sum + count, 0);
      }),
  };
}
