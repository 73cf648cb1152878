/** Tasks on SQLite: each decision is one synchronous function, run between BEGIN IMMEDIATE and COMMIT. */

import type { GrantHash, Obstacle, SpentAssertion, Tasks } from '../../../application/ports/tasks.ts';
import type { AgentId, SponsorKey } from '../../../domain/identifiers.ts';
import { scopeColumn } from '../sql/column.ts';
import {
  GRANT_COLUMNS,
  type GrantRow,
  insertedTaskColumns,
  TOKEN_FACTS_COLUMNS,
  type TokenFactsRow,
  taskValues,
  toGrant,
  toTokenFacts,
} from '../sql/task-row.ts';
import { isSpent, spend } from './assertions.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { endTasks } from './ending.ts';
import { append } from './ledger.ts';
import { findBlock } from './sponsors.ts';

const insertTask = `insert into tasks (${insertedTaskColumns.join(', ')})
  values (${insertedTaskColumns.map(() => '?').join(', ')})`;

const insertGrant = 'insert into task_grants (grant_hash, task_id, scope) values (?, ?, ?)';

const selectGrant = `select ${GRANT_COLUMNS} from task_grants g join tasks t using (task_id)
  where g.grant_hash = ? and t.agent_id = ?`;

/** Whatever ends a task revokes its grants in the same transaction, so the grant's row is all there is to check. */
const countRenewal = `update task_grants set renewals = renewals + 1, scope = ?
  where grant_hash = ? and task_id = ? and scope = ? and revoked_at is null returning renewals`;

const insertRevokedToken = `insert into revoked_tokens (jti, task_id, revoked_at, reason, expires_at)
  values (?, ?, ?, ?, ?) on conflict do nothing`;

const selectTokenFacts = `select ${TOKEN_FACTS_COLUMNS} from tasks t
  left join agents a using (agent_id) left join revoked_tokens r on r.jti = ? where t.task_id = ?`;

export function sqliteTasks({ read, decide }: Connections): Tasks {
  return {
    open: ({ task, grantHash, assertion, agentRevision, entry }) =>
      decide((run) => {
        const obstacle = findObstacle(run, task.agentId, agentRevision, task.sponsorKey, assertion);
        if (obstacle !== undefined) return obstacle;
        spend(run, assertion);
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

    renew: ({ taskId, agentId, sponsorKey, grantHash, grantScope, scope, assertion, agentRevision, entry }) =>
      decide((run) => {
        const obstacle = findObstacle(run, agentId, agentRevision, sponsorKey, assertion);
        if (obstacle !== undefined) return obstacle;
        const values = [scopeColumn(scope), grantHash, taskId, scopeColumn(grantScope)];
        const { rows } = run<{ renewals: number }>(countRenewal, values);
        if (rows[0] === undefined) return { kind: 'grant_changed' };
        spend(run, assertion);
        if (rows[0].renewals === 1) append(run, entry);
        return { kind: 'renewed' };
      }),

    revokeByGrant: (revocation, agentId, grantHash, assertion) =>
      decide((run) => {
        const row = findGrantRow(run, agentId, grantHash);
        if (row === undefined) return { kind: 'not_found' };
        if (!spend(run, assertion)) return { kind: 'replayed' };
        if (row.state !== 'live') return { kind: 'already_ended' };
        endTasks(run, [row.task_id], revocation);
        return { kind: 'revoked' };
      }),

    revokeToken: ({ tokenId, taskId, expiresAt }, { at, reason }, assertion, entry) =>
      decide((run) => {
        if (!spend(run, assertion)) return { kind: 'replayed' };
        const values = [tokenId, taskId, bindInstant(at), reason, bindInstant(expiresAt)];
        if (run(insertRevokedToken, values).count === 0) return { kind: 'already_revoked' };
        append(run, entry);
        return { kind: 'revoked' };
      }),

    tokenFacts: (tokenId, taskId) =>
      read((run) => {
        const { rows } = run<TokenFactsRow>(selectTokenFacts, [tokenId, taskId]);
        return rows[0] && toTokenFacts(rows[0]);
      }),
  };
}

const selectRevision = 'select revision from agents where agent_id = ?';

function findObstacle(
  run: Run,
  agentId: AgentId,
  agentRevision: number,
  sponsorKey: SponsorKey,
  assertion: SpentAssertion,
): Obstacle | undefined {
  const { rows } = run<{ revision: number }>(selectRevision, [agentId]);
  if (rows[0]?.revision !== agentRevision) return { kind: 'agent_changed' };
  if (isSpent(run, assertion)) return { kind: 'replayed' };
  const block = findBlock(run, sponsorKey);
  return block && { kind: 'sponsor_blocked', block: block.kind };
}

function findGrantRow(run: Run, agentId: AgentId, grantHash: GrantHash): GrantRow | undefined {
  return run<GrantRow>(selectGrant, [grantHash, agentId]).rows[0];
}
