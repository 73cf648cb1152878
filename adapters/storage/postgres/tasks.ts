/** Tasks on Postgres: each decision is one of the functions of `migrations/0005-decisions.ts`, in one round trip. */

import type { Obstacle, TaskSelection, Tasks } from '../../../application/ports/tasks.ts';
import type { BlockKind } from '../../../domain/sponsors/block.ts';
import type { Task } from '../../../domain/tasks/task.ts';
import type { Bound } from '../rows/column.ts';
import { scopeColumn } from '../rows/column.ts';
import {
  GRANT_COLUMNS,
  type GrantRow,
  TOKEN_FACTS_COLUMNS,
  type TokenFactsRow,
  taskValues,
  toGrant,
  toTokenFacts,
} from '../rows/task-row.ts';
import { storable } from '../rows/text.ts';
import { spent, spentTogether } from './assertions.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Prepared, Run } from './connections.ts';
import { boundEntry, entryParameter, parameters } from './entry.ts';
import { PLACES_PER_AGENT, PLACES_PER_PERSON, SERVING_LIMITS } from './limits.ts';
import { places } from './places.ts';

const open = {
  name: 'open_task',
  text: `select open_task(${parameters(1, 20)}, ${entryParameter(21)}) as outcome`,
};

const renew = {
  name: 'renew_grant',
  text: `select renew_grant(${parameters(1, 11)}, ${entryParameter(12)}) as outcome`,
};

const revokeGrant = { name: 'revoke_by_grant', text: `select revoke_by_grant(${parameters(1, 7)}) as outcome` };

const endTask = { name: 'end_task', text: 'select end_task($1, $2, $3) as ended' };
const endOfAgent = { name: 'end_tasks_of_agent', text: 'select end_tasks_of_agent($1, $2, $3) as ended' };
const endOfSponsor = { name: 'end_tasks_of_sponsor', text: 'select end_tasks_of_sponsor($1, $2, $3, null) as ended' };

const revokeOne = {
  name: 'revoke_token',
  text: `select revoke_token(${parameters(1, 8)}, ${entryParameter(9)}) as outcome`,
};

const spend = { name: 'spend_assertion', text: 'select spend_assertion($1, $2, $3) as spent' };

const findGrant = {
  name: 'find_grant',
  text: `select ${GRANT_COLUMNS} from task_grants g join tasks t using (task_id)
    where g.grant_hash = $1 and t.agent_id = $2`,
};

const tokenFacts = {
  name: 'token_facts',
  text: `select ${TOKEN_FACTS_COLUMNS} from tasks t
    left join agents a using (agent_id) left join revoked_tokens r on r.jti = $2 where t.task_id = $1`,
};

/**
 * @param stopping connections with time for ending very many tasks
 * @param waitMs how long a place among the calls about the same agent or person is waited for
 */
export function postgresTasks(
  { run }: Connections,
  stopping: Pick<Connections, 'run'>,
  waitMs = SERVING_LIMITS.acquire,
): Tasks {
  const ofAgent = places(PLACES_PER_AGENT, waitMs);
  const ofPerson = places(PLACES_PER_PERSON, waitMs);
  /** For what waits for whoever ends the tasks of either. */
  const inPlace = <Answer>(
    { agentId, sponsorKey }: Pick<Task, 'agentId' | 'sponsorKey'>,
    call: () => Promise<Answer>,
  ) => ofAgent(agentId, () => ofPerson(sponsorKey, call));

  return {
    async open({ task, grantHash, assertion, agentRevision, refuseLoggedOut, entry }) {
      const issuedAt = refuseLoggedOut?.issuedAt;
      const values = [
        refuseLoggedOut !== undefined,
        issuedAt === undefined ? null : bindInstant(issuedAt),
        ...taskValues(task, bindInstant),
        grantHash,
        agentRevision,
        assertion.agentId,
        ...spentTogether(assertion),
        ...boundEntry(entry),
      ];
      const outcome = await inPlace(task, () => decide<Opened | ObstacleWord>(run, open, values));
      return isOpened(outcome) ? { kind: outcome } : toObstacle(outcome);
    },

    async findGrant(agentId, grantHash) {
      const { rows } = await run<GrantRow>(findGrant, [grantHash, agentId]);
      return rows[0] && toGrant(rows[0]);
    },

    async renew(renewal) {
      const values = [
        renewal.taskId,
        renewal.agentId,
        renewal.sponsorKey,
        renewal.grantHash,
        scopeColumn(renewal.grantScope),
        scopeColumn(renewal.scope),
        renewal.agentRevision,
        ...spent(renewal.assertion),
        renewal.recordEach,
        ...boundEntry(renewal.entry),
      ];
      const outcome = await inPlace(renewal, () =>
        decide<'renewed' | 'grant_changed' | ObstacleWord>(run, renew, values),
      );
      return outcome === 'renewed' || outcome === 'grant_changed' ? { kind: outcome } : toObstacle(outcome);
    },

    async revokeByGrant(revocation, agentId, grantHash, assertion) {
      const at = bindInstant(revocation.at);
      const values = [agentId, grantHash, at, revocation.reason, ...spent(assertion)];
      return { kind: await ofAgent(agentId, () => decide(run, revokeGrant, values)) };
    },

    async end(selection, { at, reason }) {
      const [statement, key] = endOf(selection);
      const { rows } = await stopping.run<{ ended: number | null }>(statement, [key, bindInstant(at), reason]);
      const ended = rows[0]?.ended ?? undefined;
      return ended === undefined ? { kind: 'not_found' } : { kind: 'ended', tasks: ended };
    },

    async revokeToken(token, revocation, assertion, entry) {
      const kind = await decide<'revoked' | 'already_revoked' | 'replayed'>(run, revokeOne, [
        token.tokenId,
        token.taskId,
        bindInstant(revocation.at),
        revocation.reason,
        bindInstant(token.forgetAt),
        ...spent(assertion),
        ...boundEntry(entry),
      ]);
      return { kind };
    },

    async spend(assertion) {
      const { rows } = await run<{ spent: boolean }>(spend, spent(assertion));
      return { kind: rows[0]?.spent === true ? 'spent' : 'replayed' };
    },

    async tokenFacts(tokenId, taskId) {
      const { rows } = await run<TokenFactsRow>(tokenFacts, [taskId, tokenId]);
      return rows[0] && toTokenFacts(rows[0]);
    },
  };
}

type Opened = 'opened' | 'parent_ended' | 'logged_out';

function isOpened(word: Opened | ObstacleWord): word is Opened {
  return word === 'opened' || word === 'parent_ended' || word === 'logged_out';
}

/** What the functions say of an obstacle; of a block, its kind. */
type ObstacleWord = Exclude<Obstacle['kind'], 'sponsor_blocked'> | BlockKind;

function toObstacle(word: ObstacleWord): Obstacle {
  return word === 'replayed' || word === 'agent_changed' ? { kind: word } : { kind: 'sponsor_blocked', block: word };
}

function endOf(selection: TaskSelection): readonly [Prepared, string] {
  switch (selection.kind) {
    case 'task':
      return [endTask, selection.taskId];
    case 'agent':
      return [endOfAgent, selection.agentId];
    case 'sponsor':
      return [endOfSponsor, storable('sponsor_key', selection.sponsorKey)];
  }
}

async function decide<Outcome extends string>(
  run: Run,
  statement: Prepared,
  values: readonly Bound[],
): Promise<Outcome> {
  const { rows } = await run<{ outcome: Outcome }>(statement, values);
  const outcome = rows[0]?.outcome;
  if (outcome === undefined) throw new Error('a decision was made without an outcome');
  return outcome;
}
