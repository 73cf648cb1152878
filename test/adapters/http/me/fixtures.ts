/** Views of the person's page. */

import type { DelegationView } from '../../../../adapters/http/me/delegation-parts.ts';
import type { AgentView } from '../../../../adapters/http/me/pages/agent.ts';
import type { ApprovalView } from '../../../../adapters/http/me/pages/approval.ts';
import type { DelegationsView } from '../../../../adapters/http/me/pages/delegation.ts';
import type { EndedView } from '../../../../adapters/http/me/pages/ended.ts';
import type { MeView } from '../../../../adapters/http/me/pages/tasks.ts';
import type { PersonView } from '../../../../adapters/http/me/view.ts';
import type { MyAgent, MyAgents } from '../../../../application/me/my-agents.ts';
import type { MyTask, MyTasksPage } from '../../../../application/me/my-tasks.ts';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { makeApprovalId, makeRequestId, makeTaskId, type SponsorKey } from '../../../../domain/identifiers.ts';
import { instantFromMillis, plusSeconds } from '../../../../domain/instant.ts';
import type { TaskAuthorization } from '../../../../domain/tasks/task-authorization.ts';
import { agentIdOf } from '../../../support/domain-fixtures.ts';

export const now = instantFromMillis(Date.UTC(2026, 10, 23, 14, 5));

export function aTask(changes: Partial<MyTask> = {}): MyTask {
  return {
    taskId: makeTaskId('01JDCK0000000000000000TEST'),
    agentId: agentIdOf('jira-triage'),
    displayName: 'Jira triage',
    audience: 'https://jira.example/',
    scope: ['jira:read', 'jira:comment'],
    startedAt: plusSeconds(now, -15 * 60),
    expiresAt: plusSeconds(now, 45 * 60),
    state: 'live',
    endedAt: undefined,
    reason: undefined,
    renewedAt: plusSeconds(now, -4 * 60),
    renewals: 3,
    purpose: undefined,
    purposeDiffers: undefined,
    parentTaskId: undefined,
    liveBelow: 0,
    ...changes,
  };
}

/** Of a program on the person's computer that no key authenticates. */
export function anAuthorization(changes: Partial<TaskAuthorization> = {}): TaskAuthorization {
  return {
    requestId: makeRequestId('01JDCK0000000000000000TEST'),
    client: 'public',
    redirectUri: 'http://127.0.0.1:43117/callback',
    isRotating: true,
    ...changes,
  };
}

export function anEndedTask(changes: Partial<MyTask> = {}): MyTask {
  const endedAt = plusSeconds(now, -2 * 3600);
  return aTask({ state: 'revoked', reason: 'client_revoked', endedAt, ...changes });
}

/** The agents of these live tasks. @param tasks the newest first @param more how many more tasks each agent has */
export function agentsOf(tasks: readonly MyTask[], more = 0): MyAgents {
  const page = [...new Set(tasks.map(({ agentId }) => agentId))].map((id): MyAgent => {
    const [newest = aTask(), ...others] = tasks.filter(({ agentId }) => agentId === id);
    const { agentId, displayName, taskId, renewedAt, startedAt } = newest;
    const activeAt = renewedAt ?? startedAt;
    return { agentId, displayName, tasks: 1 + others.length + more, newestTask: taskId, activeAt };
  });
  const total = page.reduce((sum, agent) => sum + agent.tasks, 0);
  const listed = more === 0 ? tasks : undefined;
  return { tasks: total, agents: page.length, page, nextAfter: undefined, listed };
}

export function endedOf(tasks: readonly MyTask[]): MyTasksPage {
  return { tasks, nextAfter: undefined };
}

/** An approval that waits. */
export function anApproval(changes: Partial<TaskApproval> = {}): TaskApproval {
  const { taskId, agentId, displayName, audience } = aTask();
  return {
    approvalId: makeApprovalId('01JDCK0000000000000000TEST'),
    taskId,
    agentId,
    displayName,
    audience,
    sponsor: 'ada',
    sponsorKey: 'ada' as SponsorKey,
    round: 1,
    digest: 'RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o',
    title: 'Delete the issue PAY-7',
    lines: [
      { label: 'Issue', value: 'PAY-7: Refund of order 4711' },
      { label: 'Comments', value: '12, which are deleted too' },
    ],
    salt: 'a-salt',
    commitment: 'c'.repeat(64),
    state: 'pending',
    requestedAt: plusSeconds(now, -20),
    expiresAt: plusSeconds(now, 580),
    decidedAt: undefined,
    closedAt: undefined,
    wordsChanged: false,
    says: undefined,
    ...changes,
  };
}

/** Its task. */
const THE_TASK = new Map([[aTask().taskId, aTask({ purpose: 'Clean up the backlog of PAY' })]]);

/** One of each that a person answered or missed, the latest first. */
const FOUR_LINES = [
  { label: 'To', value: 'ACME' },
  { label: 'Amount', value: '30' },
  { label: 'Currency', value: 'EUR' },
  { label: 'For', value: 'November' },
];

export function someSettled(): readonly TaskApproval[] {
  const at = (minutes: number) => plusSeconds(now, -60 * minutes);
  const closed = (minutes: number) => ({ decidedAt: at(minutes + 1), closedAt: at(minutes) });
  const changes: readonly Partial<TaskApproval>[] = [
    { state: 'granted', decidedAt: at(1), lines: FOUR_LINES },
    {
      state: 'refused',
      decidedAt: at(2),
      title: 'Delete the issue PAY-8',
      lines: [],
      says: { text: 'Not “PAY-8”\u202e', salt: 'a salt' },
    },
    { state: 'used', ...closed(3) },
    { state: 'expired', closedAt: at(20), expiresAt: at(20) },
    { state: 'expired', ...closed(30) },
    { state: 'withdrawn', closedAt: at(40) },
    { state: 'withdrawn', ...closed(3000), displayName: undefined },
    { state: 'withdrawn', closedAt: at(3010), wordsChanged: true },
    { state: 'withdrawn', ...closed(3020), wordsChanged: true },
  ];
  return changes.map((change, nth) =>
    anApproval({ approvalId: makeApprovalId(`01JDCK0000000000000000SET${nth}`), ...change }),
  );
}

/** The page of one approval. */
export function anApprovalView(changes: Partial<ApprovalView> = {}): ApprovalView {
  const page = { ...aPersonView(), hearsApprovals: true, mayApprove: true };
  return { ...page, approval: anApproval(), tasks: THE_TASK, ...changes };
}

export const NO_AGENTS = agentsOf([]);

/** 1,000 live tasks: 993 of a bot, and one of each of seven other agents. */
export function aCrowdedView(changes: Partial<MeView> = {}): MeView {
  const others = [
    ...['Calendar assistant', 'Expense reports', 'Jira triage', 'Mail sorter'],
    ...['Release notes', 'Travel planner', 'Wiki gardener'],
  ];
  const agents = ['Nightly report bot', ...others].map((displayName, nth): MyAgent => {
    const newestTask = makeTaskId(`01JDCK0000000000000000AG0${nth}`);
    const agentId = agentIdOf(displayName.toLowerCase().replaceAll(' ', '-'));
    return { agentId, displayName, tasks: nth === 0 ? 993 : 1, newestTask, activeAt: plusSeconds(now, -nth * 130) };
  });
  const shown = { tasks: 1000, agents: agents.length, page: agents, nextAfter: undefined, listed: undefined };
  return aView({ agents: shown, signsOutEverywhere: true, ...changes });
}

/** The second page of the tasks of an agent with many. */
export function anAgentView(changes: Partial<AgentView> = {}): AgentView {
  const tasks = ['THR1', 'THR2'].map((end) => aTask({ taskId: makeTaskId(`01JDCK0000000000000000${end}`) }));
  const [first = aTask()] = tasks;
  const position = { of: first.taskId, after: first.taskId };
  const shown = { agent: first, live: 993, tasks, nextAfter: first.taskId };
  const delegation = undefined;
  return { ...aPersonView(), position, shown, delegation, ...changes };
}

/** Of an agent whose handing-over the person may refuse. */
export function aDelegation(changes: Partial<DelegationView> = {}): DelegationView {
  return { isRefused: false, mayAllow: true, isAllowable: true, ...changes };
}

/** The agents whose handing-over the person refuses, the latest refusal first. */
export function aDelegationsView(changes: Partial<DelegationsView> = {}): DelegationsView {
  const refusals = ['Nightly report bot', 'Jira triage'].map((displayName, nth) => ({
    agentId: agentIdOf(displayName.toLowerCase().replaceAll(' ', '-')),
    displayName,
    refusedAt: plusSeconds(now, -3600 * (1 + nth)),
  }));
  return { ...aPersonView(), refused: { refusals, areMore: false }, mayAllow: true, ...changes };
}

/** Page after page of ended tasks. */
export function anEndedView(changes: Partial<EndedView> = {}): EndedView {
  const { tasks } = aBusyView().ended ?? { tasks: [] };
  const nextAfter = { taskId: aTask().taskId, endedAt: now };
  return { ...aPersonView(), ended: { tasks, nextAfter }, ...changes };
}

/** How long a yes and a no hold, in seconds. */
export const HOLDS = { yes: 600, no: 3600 };

/** What every page shows. */
function aPersonView(): PersonView {
  return {
    base: '',
    person: 'ada',
    sponsorKey: 'ada',
    now,
    formToken: 'a-form-token',
    sessionTtl: 900,
    notice: undefined,
    holds: HOLDS,
    hearsApprovals: false,
    handsOver: false,
    scopeWords: new Map<string, string | { en: string; de: string }>([
      ['jira:read', { en: 'Read your issues', de: 'Ihre Vorgänge lesen' }],
      ['jira:comment', { en: 'Comment in your name', de: 'In Ihrem Namen kommentieren' }],
      ['calendar:read', { en: 'See your calendar', de: 'Ihren Kalender sehen' }],
    ]),
  };
}

export function aView(changes: Partial<MeView> = {}): MeView {
  return {
    ...aPersonView(),
    waiting: [],
    altered: 0,
    tasks: THE_TASK,
    settled: [],
    mayApprove: true,
    agents: agentsOf([aTask()]),
    isFirst: true,
    ended: endedOf([anEndedTask()]),
    pausedAt: undefined,
    blockedByOthers: false,
    canPause: true,
    isPauseLiftable: true,
    mayResume: true,
    delegation: undefined,
    signsOutEverywhere: false,
    reach: { acceptedFor: 240, statusLists: undefined },
    ...changes,
  };
}

/** A person with several agents, of which one has two tasks. */
export function aBusyView(changes: Partial<MeView> = {}): MeView {
  const travel = { agentId: agentIdOf('travel-planner'), displayName: 'Travel planner' };
  return aView({
    agents: agentsOf([
      aTask(),
      aTask({
        taskId: makeTaskId('01JDCK0000000000000000WIK1'),
        audience: 'https://wiki.example/engineering',
        scope: ['wiki:read'],
        startedAt: plusSeconds(now, -65 * 60),
        expiresAt: plusSeconds(now, 95),
        renewals: 0,
        renewedAt: undefined,
      }),
      aTask({
        ...travel,
        taskId: makeTaskId('01JDCK0000000000000000TRAV'),
        audience: 'https://calendar.example/',
        scope: ['calendar:read'],
        startedAt: plusSeconds(now, -40),
        expiresAt: plusSeconds(now, 8 * 3600),
        renewals: 1,
        renewedAt: plusSeconds(now, -10),
      }),
    ]),
    ended: endedOf([
      anEndedTask({ reason: 'sponsor_stopped', endedAt: plusSeconds(now, -3 * 60) }),
      anEndedTask({ ...travel, audience: 'https://hotels.example/', scope: ['calendar:read'] }),
      anEndedTask({
        displayName: undefined,
        agentId: agentIdOf('old-bot'),
        scope: ['files:read'],
        state: 'expired',
        reason: 'task_ttl_elapsed',
        endedAt: plusSeconds(now, -3 * 86_400),
      }),
    ]),
    ...changes,
  });
}
