/**
 * Every decision of the catalogue, with inputs that let it write. The matrices of this folder run each: whichever of its
 * writes fails (failing-writes.test.ts), and beside each decision that it excludes (exclusion.test.ts).
 */

import { activateKeys } from '../../application/decisions/activate-keys.ts';
import { answerApproval } from '../../application/decisions/answer-approval.ts';
import { answerRequest } from '../../application/decisions/answer-request.ts';
import { append } from '../../application/decisions/append.ts';
import { applySecurityEvent, type SecuritySignal } from '../../application/decisions/apply-security-event.ts';
import { askApproval } from '../../application/decisions/ask-approval.ts';
import { allowDelegation, refuseDelegation } from '../../application/decisions/delegation-refusal.ts';
import {
  endAllRequests,
  endOwnTasks,
  endSomeTasks,
  endTasks,
  type TasksEnd,
} from '../../application/decisions/end-tasks.ts';
import {
  findAgent,
  findGrantOwner,
  findOwnTaskSponsor,
  findTaskOfOffer,
  findTaskSponsor,
  userExists,
} from '../../application/decisions/find.ts';
import { keepRequest } from '../../application/decisions/keep-request.ts';
import { liftBlock } from '../../application/decisions/lift-block.ts';
import { type LogoutSignal, logOut } from '../../application/decisions/log-out.ts';
import { openStatusList } from '../../application/decisions/open-status-list.ts';
import { type Explained, recordAct, refuseOperator } from '../../application/decisions/operator-act.ts';
import { type BlockPlacement, placeBlock, placePause, refusePause } from '../../application/decisions/place-block.ts';
import { closeSession, openSession, useSession } from '../../application/decisions/sessions.ts';
import { deleteEndedTasks, expireDueApprovals, expireDueTasks } from '../../application/decisions/sweep.ts';
import { addUser, changeUser, deleteUser } from '../../application/decisions/write-user.ts';
import { makeRequestId } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { type Row, row } from './decision-row.ts';
import { decisionsOfAgents } from './decisions-of-agents.ts';
import { anEntry, aUser, ulid } from './storage-fixtures.ts';
import {
  anAct,
  answering,
  answeringRequest,
  aSession,
  asking,
  changedUser,
  choosing,
  DUE,
  keeping,
  LATER,
  lifting,
  REMEMBERED,
  ROOM,
  type World,
} from './world.ts';

const ending =
  (selection: (world: World) => TasksEnd['selection']) =>
  (world: World): TasksEnd & Explained => ({
    selection: selection(world),
    at: LATER,
    reason: 'operator_kill_switch',
    act: anAct('DELETE tasks'),
  });

const occurrence = (what: string, { jti }: World) => ({
  issuer: 'https://idp.example/realms/main',
  jti: `${what} ${jti}`,
  forgetAt: plusSeconds(LATER, 661),
  at: LATER,
});

const logout = (
  what: string,
  loggedOut: (world: World) => LogoutSignal['loggedOut'],
  changes: Partial<LogoutSignal> = {},
) =>
  row(logOut, ['task', 'session'], (world) => ({
    ...occurrence(what, world),
    loggedOut: loggedOut(world),
    closes: { operator: REMEMBERED },
    ...changes,
  }));

const placing =
  (source: SponsorBlock['source']) =>
  (world: World): BlockPlacement => ({
    block: { sponsorKey: world.sponsorKey, source, kind: 'disabled', blockedAt: LATER },
    reason: 'sponsor_blocked',
    act: source === 'admin' ? anAct('PUT block') : undefined,
  });

const event =
  (what: 'disabled' | 'enabled') =>
  (world: World): SecuritySignal => ({
    ...occurrence(what, world),
    action: {
      sponsorKey: world.sponsorKey,
      statedAt: plusSeconds(NOON, 60),
      reasons: [`ssf_account_${what}`],
      lift: what === 'enabled',
      block: what === 'enabled' ? undefined : 'disabled',
      end: what === 'enabled' ? undefined : 'ssf_account_disabled',
    },
  });

const revocation = (world: World): SecuritySignal => {
  const signal = event('enabled')(world);
  const reason = 'ssf_sessions_revoked';
  return { ...signal, action: { ...signal.action, reasons: [reason], lift: false, end: reason } };
};

const denied = anEntry('admin.denied', { decision: 'deny', detail: 'é 😀' });

export const everyDecision: Readonly<Record<string, Row>> = {
  ...decisionsOfAgents,

  'the end of a task': row(
    endTasks,
    ['task'],
    ending(({ live: { task }, sponsorKey }) => ({ kind: 'task', taskId: task.taskId, sponsorKey })),
  ),
  "the end of an agent's tasks": row(
    endTasks,
    ['task'],
    ending(({ owner }) => ({ kind: 'agent', agentId: owner.agentId })),
  ),
  "the end of a person's tasks": row(
    endTasks,
    ['task'],
    ending(({ sponsorKey }) => ({ kind: 'sponsor', sponsorKey })),
  ),
  'the end of an agent for a person': row(
    endTasks,
    ['task'],
    ending(({ sponsorKey, owner }) => ({ kind: 'sponsor_agent', sponsorKey, agentId: owner.agentId })),
  ),
  'the end of some tasks': row(endSomeTasks, ['alone', 'task'], () => ({
    limit: 1000,
    at: LATER,
    reason: 'operator_kill_switch' as const,
    act: anAct('DELETE all tasks'),
  })),
  "a person's own end": row(endOwnTasks, ['task'], ({ sponsorKey }) => ({
    selection: { kind: 'sponsor' as const, sponsorKey },
    at: LATER,
    reason: 'sponsor_stopped' as const,
  })),

  'a request that a person must answer': row(keepRequest, ['counted'], (world) =>
    keeping(world, { ...world.request, requestId: makeRequestId(ulid()) }),
  ),
  'the permission of a request': row(answerRequest, ['request'], (world) => answeringRequest(world, 'allow')),
  'the refusal of a request': row(answerRequest, ['request'], (world) => answeringRequest(world, 'refuse')),
  'the end of all requests': row(endAllRequests, ['request'], () => ({
    at: LATER,
    reason: 'operator_kill_switch' as const,
  })),

  'a request for an approval': row(askApproval, ['task'], (world) => asking(world, 'new')),
  'a request after an approval has expired': row(askApproval, ['lapsed'], (world) =>
    asking(world, 'lapsed', {}, LATER),
  ),
  'the use of an approval': row(askApproval, ['approved'], (world) => asking(world, 'waiting', {}, LATER)),
  'a yes': row(answerApproval, ['waiting'], (world) => answering(world, 'approve')),
  'a no': row(answerApproval, ['waiting'], (world) => answering(world, 'refuse')),
  'an expiry of approvals': row(expireDueApprovals, ['lapsed'], () => ({ overBy: DUE, at: DUE, limit: 1000 })),
  'the end of a task with approvals': row(
    endTasks,
    ['approved', 'lapsed'],
    ending(({ live: { task }, sponsorKey }) => ({ kind: 'task', taskId: task.taskId, sponsorKey })),
  ),

  "the refusal of an agent's handing-over": row(refuseDelegation, ['idle'], (world) => ({
    ...choosing(world),
    entry: anEntry('delegation.refused'),
  })),
  "the permission of an agent's handing-over": row(allowDelegation, ['refusal'], (world) => ({
    ...choosing(world),
    entry: anEntry('delegation.allowed'),
  })),

  "an operator's block": row(placeBlock, ['task'], placing('admin')),
  'a pause': row(placePause, ['task'], placing('self')),
  'the lift of a block': row(liftBlock, ['block'], (world) => lifting(world, 'olga')),
  'the first request of two for a lift': row(liftBlock, ['block'], (world) =>
    lifting(world, 'olga', { earliest: NOON }),
  ),
  'the second request of two for a lift': row(liftBlock, ['asked'], (world) =>
    lifting(world, 'olga', { earliest: NOON }),
  ),
  'a security event that disables': row(applySecurityEvent, ['task'], event('disabled')),
  'a security event that enables': row(applySecurityEvent, [], event('enabled')),
  'a security event that ends the tasks': row(applySecurityEvent, ['task'], revocation),

  'a logout of the session': logout('of session', ({ sessionId }) => ({
    kind: 'session',
    sessionId,
    subject: undefined,
  })),
  'a remembered logout of the session': logout(
    'of session, remembered',
    ({ sessionId }) => ({ kind: 'session', sessionId, subject: undefined }),
    { remember: REMEMBERED },
  ),
  'a logout of the person': logout('of person', ({ subject }) => ({ kind: 'person', subject })),
  'a remembered logout of the person': logout('of person, remembered', ({ subject }) => ({ kind: 'person', subject }), {
    remember: REMEMBERED,
  }),
  'a remembered logout of the person and another session': logout(
    'of both',
    ({ subject, name }) => ({ kind: 'session', sessionId: name, subject }),
    { remember: REMEMBERED, endsTasksWithoutSession: true },
  ),
  'a sign-in': row(openSession, ['session'], ({ subject, sessionId, session }) => ({
    session: aSession({ subject, sessionId }),
    issuedAt: NOON,
    replaces: session.sessionHash,
  })),
  'a use of a session': row(useSession, ['session'], ({ session: { sessionHash } }) => ({
    sessionHash,
    lastUsedAt: plusSeconds(NOON, 61),
    expiresAt: plusSeconds(NOON, 961),
  })),
  'a sign-out': row(closeSession, ['session'], ({ session: { kind, sessionHash } }) => ({
    kind,
    sessionHash,
    at: LATER,
  })),

  'the creation of a user': row(addUser, ['task'], ({ sponsorKey, name: userName }) => {
    const user = aUser({ sponsorKey, userName, active: false });
    return { user, statements: statementsOf(undefined, user), at: LATER, maxUsers: ROOM };
  }),
  'the creation of a user of another person with that name': row(addUser, [], ({ name }) => {
    const user = aUser({ userName: name.toUpperCase() });
    return { user, statements: statementsOf(undefined, user), at: LATER, maxUsers: ROOM };
  }),
  'the deactivation of a user': row(changeUser, ['user', 'task'], ({ user: stored, name: userName }) => {
    const user = changedUser(stored, { active: false, userName });
    return { stored, user, statements: statementsOf(stored, user), at: LATER };
  }),
  'the reactivation of a user': row(changeUser, ['away'], ({ away: stored }) => {
    const user = changedUser(stored, { active: true });
    return { stored, user, statements: statementsOf(stored, user), at: LATER };
  }),
  'a change of a user to another person': row(changeUser, ['user', 'task'], ({ user: stored, subject }) => {
    const user = changedUser(stored, { sponsorKey: `new ${subject}` as SponsorBlock['sponsorKey'] });
    return { stored, user, statements: statementsOf(stored, user), at: LATER };
  }),
  'the removal of a user': row(deleteUser, ['user', 'task'], ({ user: stored }) => ({
    stored,
    statements: statementsOf(stored, undefined),
    at: LATER,
  })),

  'the opening of a status list': row(openStatusList, ['list'], ({ list: { audience }, jti }) => ({
    audience,
    listId: jti,
    entries: 2,
    at: LATER,
  })),
  'a change of the keys': row(activateKeys, ['key'], ({ keys: [, second] }) => ({
    active: [second],
    earlier: [],
    at: LATER,
  })),
  'an expiry': row(expireDueTasks, ['due'], () => ({ overBy: DUE, at: DUE, limit: 1000 })),
  'a deletion of ended tasks': row(deleteEndedTasks, ['expired'], () => ({ endedBy: DUE, limit: 1000 })),
  'a record': row(append, [], () => denied),
  'a record of an act': row(recordAct, [], () => anAct('POST nothing')),
  'a refusal of an operator': row(refuseOperator, [], () => denied),
  'a refusal of a pause': row(refusePause, [], () => denied),

  'a look-up of an agent': row(findAgent, ['owner'], ({ owner }) => owner),
  'a look-up of a grant': row(findGrantOwner, ['task'], ({ live: { task, grantHash } }) => ({
    agentId: task.agentId,
    grantHash,
  })),
  'a look-up of a person': row(findTaskSponsor, ['task'], ({ live }) => live.task),
  'a look-up of a person by a person': row(findOwnTaskSponsor, ['task'], ({ live }) => live.task),
  'a look-up of the task of an offer': row(findTaskOfOffer, ['task'], ({ live }) => live.task),
  'a look-up of a user': row(userExists, ['user'], ({ user }) => user),
};
