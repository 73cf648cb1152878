/** The effects on tasks, their tokens and status lists. */

import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { TaskEnd } from '../../application/decisions/effect.ts';
import { makeTaskId, makeTokenId, type TaskId } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { Task } from '../../domain/tasks/task.ts';
import type { TaskTerms } from '../../domain/tasks/token-of-task.ts';
import { aDelegator, NOON } from '../support/domain-fixtures.ts';
import { aTask, type EffectRows, end, fact, type See } from './effect-row.ts';
import { anApproval, unrecorded } from './effects-of-approvals.ts';
import { newAgentId } from './storage-fixtures.ts';
import { LATER } from './world.ts';

const seenGrant =
  ({ task, grantHash }: Omit<ReturnType<typeof aTask>, 'given'>): See =>
  ({ tasks }) =>
    tasks.findGrant(task.agentId, grantHash);

const ownerOf = ({ agentId, taskId, sponsorKey }: Task) => ({ agentId, taskId, sponsorKey });

/** The values that the tokens of a task repeat. */
function termsOf({ taskId, agentId, sponsor, delegatedBy, audience, scope, expiresAt, status }: Task): TaskTerms {
  return { taskId, agentId, sponsor, delegatedBy, audience, scope, expiresAt, status };
}

export const effectsOfTasks = {
  spend_assertion() {
    const [agentId, jti, forgetAt] = [newAgentId(), `é 😀 ${randomUUID()}`, LATER];
    const spent = (changes: object) => fact('assertion_spent', { agentId, jti, latestForgetAt: NOON, ...changes });
    return {
      effect: { effect: 'spend_assertion', agentId, jti, forgetAt },
      seen: [
        [spent({}), false, true],
        [spent({ jti: 'another' }), false, false],
        [spent({ agentId: newAgentId() }), false, false],
      ],
    };
  },

  insert_task() {
    const status = { listId: 'list é', index: 413 };
    const stored = aTask({
      status,
      delegatedBy: [aDelegator(makeTaskId(ulid())), aDelegator(makeTaskId(ulid()), { instance: undefined })],
    });
    const { task, grantHash, agent, given } = stored;
    const { scope, taskId, expiresAt } = task;
    const grant = { task, taskState: { kind: 'live' }, revokedAt: undefined, scope, renewals: 0 };
    const { origin: _, ...fields } = task;
    const shown = { ...fields, state: { kind: 'live' }, displayName: agent.displayName, renewals: 0 };
    const differences = [{ what: 'scope', id: taskId, how: 'no_record', written: { at: task.createdAt } }];
    return {
      given: given.slice(0, 1),
      effect: given[1],
      seen: [
        [seenGrant(stored), undefined, grant],
        [({ tasks }) => tasks.findGrant(newAgentId(), grantHash), undefined, undefined],
        [
          ({ tasks }) => tasks.findListed(taskId, NOON),
          undefined,
          { ...shown, grantScope: scope, renewedAt: undefined, purpose: undefined, differences },
        ],
        [fact('grant', grantHash), undefined, { taskId, scope, renewals: 0, unrecorded: 0, revokedAt: undefined }],
        [fact('grant_owner', grantHash), undefined, ownerOf(task)],
        [fact('task_state', taskId), undefined, { state: 'live', expiresAt }],
        [fact('task_sponsor', taskId), undefined, task.sponsorKey],
        [fact('task_terms', taskId), undefined, termsOf(task)],
        [fact('agent_has_tasks', agent.agentId), false, true],
        [fact('agent_has_tasks', newAgentId()), false, false],
        [fact('taken_status_indices', { listId: status.listId, indices: [413, 5] }), [], [413]],
      ],
    };
  },

  insert_purpose() {
    const [{ task, given }, other] = [aTask(), aTask()];
    const purpose = { words: 'é 😀 "quoted" \\ \u202e \u2028', salt: 'salt <é>' };
    const person = { after: undefined, limit: 2, now: NOON };
    const shown =
      ({ taskId }: typeof task): See =>
      async ({ tasks }) =>
        (await tasks.findListed(taskId, NOON))?.differences.map(({ what, how }) => `${what}: ${how}`);
    return {
      given: [...given, ...other.given],
      effect: { effect: 'insert_purpose', taskId: task.taskId, ...purpose },
      seen: [
        // Without a record, neither is shown.
        [shown(task), ['scope: no_record'], ['purpose: no_record', 'scope: no_record']],
        [shown(other.task), ['scope: no_record'], ['scope: no_record']],
        [
          async ({ tasks }) => (await tasks.ofSponsor(task.sponsorKey, person))[0]?.purposeDiffers?.how,
          undefined,
          'no_record',
        ],
      ],
    };
  },

  update_grant() {
    const [{ grantHash, task, given }, other] = [aTask(), aTask()];
    const { taskId, scope } = task;
    const narrower = { scope: ['jira:read'], renewals: 7, unrecorded: 5 };
    const before = { taskId, scope, renewals: 0, unrecorded: 0, revokedAt: undefined };
    const ofOther = { ...before, taskId: other.task.taskId };
    const shown: See = async ({ tasks }) => {
      const found = await tasks.findListed(taskId, NOON);
      return [found?.scope, found?.grantScope, found?.renewedAt, found?.renewals];
    };
    return {
      given: [...given, ...other.given],
      effect: { effect: 'update_grant', grantHash, ...narrower, renewedAt: LATER },
      seen: [
        [fact('grant', grantHash), before, { ...before, ...narrower }],
        [shown, [scope, scope, undefined, 0], [scope, ['jira:read'], LATER, 7]],
        [fact('grant', other.grantHash), ofOther, ofOther],
      ],
    };
  },

  end_tasks() {
    const all = [aTask(), aTask(), aTask(), aTask()] as const;
    const [killed, below, expired, live] = all;
    const ended = (nth: 0 | 1 | 2, how: TaskEnd) => ({ taskId: all[nth].task.taskId, end: how });
    const state =
      (of: (typeof all)[number]): See =>
      async (storage) => {
        const grant = await storage.tasks.findGrant(of.task.agentId, of.grantHash);
        const { state: named } = (await storage.read('task_state', of.task.taskId)) ?? {};
        const { revokedAt } = (await storage.read('grant', of.grantHash)) ?? {};
        return [named, grant?.taskState, grant?.revokedAt, revokedAt];
      };
    const tokenState: See = async ({ tasks }) =>
      (await tasks.tokenFacts(makeTokenId(ulid()), killed.task.taskId))?.taskState;
    const isLive = ['live', { kind: 'live' }, undefined, undefined];
    const approvals = [
      anApproval({}, killed),
      anApproval({ state: 'granted', decidedAt: NOON }, below),
      anApproval({}, expired),
      anApproval({}, live),
      anApproval({ state: 'used', decidedAt: NOON, closedAt: NOON }, killed),
      anApproval({ state: 'refused', decidedAt: NOON }, killed),
    ];
    const isRevoked = (reason: string) => ['revoked', { kind: 'revoked', at: LATER, reason }, LATER, LATER];
    return {
      given: [...all.flatMap(({ given }) => given), ...approvals.map(({ insert }) => insert)],
      effect: {
        effect: 'end_tasks',
        at: LATER,
        renewalsEvent: 'token.refreshed',
        withdrawnEvent: 'approval.withdrawn',
        tasks: [
          ended(0, end('revoked', 'operator_kill_switch')),
          ended(1, end('revoked', 'parent_revoked')),
          ended(2, end('expired', 'task_ttl_elapsed')),
        ],
      },
      seen: [
        [state(killed), isLive, isRevoked('operator_kill_switch')],
        [state(below), isLive, isRevoked('parent_revoked')],
        [state(expired), isLive, ['expired', { kind: 'expired', at: expired.task.expiresAt }, LATER, LATER]],
        [state(live), isLive, isLive],
        [tokenState, { kind: 'live' }, { kind: 'revoked', at: LATER, reason: 'operator_kill_switch' }],
        [fact('agent_has_tasks', killed.agent.agentId), true, true],
        ...approvals.map(({ approval }, nth) => {
          const isWithdrawn = nth < 3;
          const after = isWithdrawn ? ({ ...approval, state: 'withdrawn', closedAt: LATER } as const) : approval;
          return [fact('approval', approval.approvalId), unrecorded(approval), unrecorded(after)] as const;
        }),
      ],
    };
  },

  delete_tasks() {
    const [deleted, other] = [aTask(), aTask()];
    const { task, grantHash } = deleted;
    const sponsorOf = (taskId: TaskId) => fact('task_sponsor', taskId);
    const approvals = [deleted, other].map((stored) => anApproval({}, stored));
    const dueAt = plusSeconds(NOON, -2000);
    const given = approvals.flatMap(({ given: of, insert, approval: { approvalId, sponsorKey } }) => [
      ...of,
      insert,
      { effect: 'insert_approval_notice', approvalId, sponsorKey, dueAt } as const,
    ]);
    const [gone, kept] = approvals.map(({ shown }) => unrecorded(shown));
    const notices: See = async ({ approvalNotices }) =>
      (await approvalNotices.due({ now: dueAt, limit: 9 })).map(({ approvalId }) => approvalId).toSorted();
    return {
      given,
      effect: { effect: 'delete_tasks', taskIds: [task.taskId] },
      seen: [
        [({ approvals: { find } }) => find(approvals[0]?.approval.approvalId as never), gone, undefined],
        [({ approvals: { find } }) => find(approvals[1]?.approval.approvalId as never), kept, kept],
        [notices, approvals.map(({ approval }) => approval.approvalId).toSorted(), [kept?.row.approvalId]],
        [sponsorOf(task.taskId), task.sponsorKey, undefined],
        [fact('grant_owner', grantHash), ownerOf(task), undefined],
        [fact('agent_has_tasks', task.agentId), true, false],
        [sponsorOf(other.task.taskId), other.task.sponsorKey, other.task.sponsorKey],
      ],
    };
  },

  revoke_token() {
    const { task, given } = aTask({ status: { listId: randomUUID(), index: 5 } });
    const { taskId, status } = task;
    const [tokenId, another] = [makeTokenId(ulid()), makeTokenId(ulid())];
    const live = { task: termsOf(task), taskState: { kind: 'live' }, agentEnabled: true };
    const revocation = { at: LATER, reason: 'client_revoked' } as const;
    const unrevoked = { ...live, tokenRevocation: undefined };
    const { listId = '' } = status ?? {};
    const list = { effect: 'insert_status_list', audience: task.audience, listId, entries: 16, at: NOON } as const;
    const onList: See = async ({ statusLists }) => (await statusLists.find(listId))?.withRevokedToken;
    return {
      given: [...given, list],
      effect: { effect: 'revoke_token', tokenId, taskId, ...revocation, forgetAt: plusSeconds(NOON, 420) },
      seen: [
        [fact('token_revoked', tokenId), false, true],
        [fact('token_revoked', another), false, false],
        [({ tasks }) => tasks.tokenFacts(tokenId, taskId), unrevoked, { ...live, tokenRevocation: revocation }],
        [({ tasks }) => tasks.tokenFacts(another, taskId), unrevoked, unrevoked],
        [({ tasks }) => tasks.tokenFacts(tokenId, makeTaskId(ulid())), undefined, undefined],
        [onList, [], [5]],
      ],
    };
  },

  insert_status_list() {
    const list = { listId: randomUUID(), audience: `https://é.example/${randomUUID()}`, entries: 16 };
    const { listId, audience, entries } = list;
    const found = { entries, ended: [], suspended: [], withRevokedToken: [] };
    return {
      effect: { effect: 'insert_status_list', ...list, at: NOON },
      seen: [
        [fact('open_status_list', audience), undefined, { listId, hasRoom: true, isOnly: true }],
        [fact('status_slot', { audience, draws: [35] }), undefined, { listId, entries, free: [3] }],
        [fact('status_slot', { audience: 'https://other.example', draws: [35] }), undefined, undefined],
        [({ statusLists }) => statusLists.find(listId), undefined, found],
      ],
    };
  },

  close_status_list() {
    const [first, second] = [randomUUID(), randomUUID()];
    const audience = `https://${randomUUID()}.example`;
    const list = (listId: string, at: typeof NOON) =>
      ({ effect: 'insert_status_list', listId, audience, entries: 16, at }) as const;
    const open = { hasRoom: true };
    return {
      given: [list(second, LATER), list(first, NOON)],
      effect: { effect: 'close_status_list', listId: first, at: LATER },
      seen: [
        [
          fact('open_status_list', audience),
          { ...open, listId: first, isOnly: false },
          { ...open, listId: second, isOnly: true },
        ],
        [async ({ statusLists }) => (await statusLists.list()).includes(first), true, true],
      ],
    };
  },
} satisfies Partial<EffectRows>;
