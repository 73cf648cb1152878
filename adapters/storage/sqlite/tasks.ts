/** Tasks on SQLite: each decision is one synchronous function, run between BEGIN IMMEDIATE and COMMIT. */

import type { GrantHash, Obstacle, SpentAssertion, TaskSelection, Tasks } from '../../../application/ports/tasks.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { BlockKind } from '../../../domain/sponsors/block.ts';
import type { Task } from '../../../domain/tasks/task.ts';
import { OLDEST_FIRST } from '../rows/block-row.ts';
import { scopeColumn } from '../rows/column.ts';
import {
  GRANT_COLUMNS,
  type GrantRow,
  insertedTaskColumns,
  TOKEN_FACTS_COLUMNS,
  type TokenFactsRow,
  taskValues,
  toGrant,
  toTokenFacts,
} from '../rows/task-row.ts';
import { storable } from '../rows/text.ts';
import { isSpent, spend } from './assertions.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { endTasks } from './ending.ts';
import { append } from './ledger.ts';
import { isLoggedOut } from './logouts.ts';

const insertTask = `insert into tasks (${insertedTaskColumns.join(', ')})
  values (${insertedTaskColumns.map(() => '?').join(', ')})`;

const insertGrant = 'insert into task_grants (grant_hash, task_id, scope) values (?, ?, ?)';

const selectGrant = `select ${GRANT_COLUMNS} from task_grants g join tasks t using (task_id)
  where g.grant_hash = ? and t.agent_id = ?`;

/** Whatever ends a task revokes its grants in the same transaction, so the grant's row is all there is to check. */
const countRenewal = `update task_grants set renewals = renewals + 1, scope = ?,
    unrecorded = unrecorded + (renewals > 0 and not ?)
  where grant_hash = ? and task_id = ? and scope = ? and revoked_at is null returning renewals`;

const insertRevokedToken = `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at)
  values (?, ?, ?, ?, ?) on conflict do nothing`;

const selectTokenFacts = `select ${TOKEN_FACTS_COLUMNS} from tasks t
  left join agents a using (agent_id) left join revoked_tokens r on r.jti = ? where t.task_id = ?`;

export function sqliteTasks({ read, decide }: Connections): Tasks {
  return {
    open: ({ task, grantHash, assertion, agentRevision, refuseLoggedOut, entry }) =>
      decide((run) => {
        const obstacle = findObstacle(run, task.agentId, agentRevision, task.sponsorKey, assertion);
        if (obstacle !== undefined) return obstacle;
        const { sponsor: subject, sessionId, createdAt } = task;
        if (refuseLoggedOut && isLoggedOut(run, { subject, sessionId, ...refuseLoggedOut }, createdAt)) {
          return { kind: isSpent(run, assertion) ? 'replayed' : 'logged_out' };
        }
        if (!parentIsLive(run, task)) return { kind: isSpent(run, assertion) ? 'replayed' : 'parent_ended' };
        if (!spend(run, assertion)) return { kind: 'replayed' };
        run(insertTask, taskValues(task, bindInstant));
        run(insertGrant, [grantHash, task.taskId, scopeColumn(task.scope)]);
        append(run, entry);
        return { kind: 'opened' };
      }),

    findGrant: (agentId, grantHash) =>
      read((run) => {
        const row = findGrantRow(run, agentId, grantHash);
        return row && toGrant(row);
      }),

    renew: (renewal) =>
      decide((run) => {
        const { taskId, agentId, sponsorKey, grantHash, assertion, agentRevision, recordEach, entry } = renewal;
        const obstacle = findObstacle(run, agentId, agentRevision, sponsorKey, assertion);
        if (obstacle !== undefined) return obstacle;
        // Looked up, and spent only below: where the grant has changed nothing may be written.
        if (isSpent(run, assertion)) return { kind: 'replayed' };
        const [from, to] = [scopeColumn(renewal.grantScope), scopeColumn(renewal.scope)];
        const values = [to, recordEach, grantHash, taskId, from];
        const { rows } = run<{ renewals: number }>(countRenewal, values);
        if (rows[0] === undefined) return { kind: 'grant_changed' };
        spend(run, assertion);
        if (recordEach || rows[0].renewals === 1) append(run, entry);
        return { kind: 'renewed' };
      }),

    revokeByGrant: (revocation, agentId, grantHash, assertion) =>
      decide((run) => {
        const row = findGrantRow(run, agentId, grantHash);
        if (row === undefined) return { kind: 'not_found' };
        if (!spend(run, assertion)) return { kind: 'replayed' };
        if (row.state !== 'live') return { kind: 'already_ended' };
        return { kind: endTasks(run, [row.task_id], revocation) > 0 ? 'revoked' : 'already_ended' };
      }),

    end: (selection, revocation) =>
      decide((run) => {
        const roots = findRoots(run, selection);
        return roots === undefined ? { kind: 'not_found' } : { kind: 'ended', tasks: endTasks(run, roots, revocation) };
      }),

    revokeToken: ({ tokenId, taskId, forgetAt }, { at, reason }, assertion, entry) =>
      decide((run) => {
        if (!spend(run, assertion)) return { kind: 'replayed' };
        const values = [tokenId, taskId, bindInstant(at), reason, bindInstant(forgetAt)];
        if (run(insertRevokedToken, values).count === 0) return { kind: 'already_revoked' };
        append(run, entry);
        return { kind: 'revoked' };
      }),

    spend: (assertion) => decide((run) => ({ kind: spend(run, assertion) ? 'spent' : 'replayed' })),

    tokenFacts: (tokenId, taskId) =>
      read((run) => {
        const { rows } = run<TokenFactsRow>(selectTokenFacts, [tokenId, taskId]);
        return rows[0] && toTokenFacts(rows[0]);
      }),
  };
}

const findTask = 'select task_id from tasks where task_id = ?';
const findAgent = 'select agent_id from agents where agent_id = ?';
const liveOfAgent = "select task_id from tasks where agent_id = ? and state = 'live'";
const liveOfSponsor = "select task_id from tasks where sponsor_key = ? and state = 'live'";

/** `undefined` when there is no such task or agent. */
function findRoots(run: Run, selection: TaskSelection): readonly TaskId[] | undefined {
  const taskIds = (query: string, key: string) => run<{ task_id: TaskId }>(query, [key]).rows.map((row) => row.task_id);
  switch (selection.kind) {
    case 'task': {
      const found = taskIds(findTask, selection.taskId);
      return found.length === 0 ? undefined : found;
    }
    case 'agent':
      return run(findAgent, [selection.agentId]).count === 0 ? undefined : taskIds(liveOfAgent, selection.agentId);
    case 'sponsor':
      return taskIds(liveOfSponsor, storable('sponsor_key', selection.sponsorKey));
  }
}

/** One statement, since every exchange and refresh asks it. */
const selectStanding = `select (select revision from agents where agent_id = ?) as revision,
  (select kind from sponsor_blocks where sponsor_key = ? ${OLDEST_FIRST} limit 1) as block`;

/** What stands in a decision's way, but for an assertion that was used before; that outranks a block. */
function findObstacle(
  run: Run,
  agentId: AgentId,
  agentRevision: number,
  sponsorKey: SponsorKey,
  assertion: SpentAssertion,
): Obstacle | undefined {
  const { rows } = run<{ revision: number | null; block: BlockKind | null }>(selectStanding, [agentId, sponsorKey]);
  const [standing] = rows;
  if (standing === undefined || standing.revision !== agentRevision) return { kind: 'agent_changed' };
  if (standing.block === null) return undefined;
  return isSpent(run, assertion) ? { kind: 'replayed' } : { kind: 'sponsor_blocked', block: standing.block };
}

const findLive = "select 1 from tasks where task_id = ? and state = 'live' and expires_at > ?";

/** Also where the task is delegated from none. */
function parentIsLive(run: Run, { parentTaskId, createdAt }: Task): boolean {
  return parentTaskId === undefined || run(findLive, [parentTaskId, bindInstant(createdAt)]).count === 1;
}

function findGrantRow(run: Run, agentId: AgentId, grantHash: GrantHash): GrantRow | undefined {
  return run<GrantRow>(selectGrant, [grantHash, agentId]).rows[0];
}
