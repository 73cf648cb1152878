/** Views of the person's page. */

import type { AgentView, ApprovalView, EndedView, MeView } from '../../../../adapters/http/me/view.ts';
import type { MyAgent, MyAgents } from '../../../../application/me/my-agents.ts';
import type { MyTask, MyTasksPage } from '../../../../application/me/my-tasks.ts';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import { makeApprovalId, makeTaskId, type SponsorKey } from '../../../../domain/identifiers.ts';
import { instantFromMillis, plusSeconds } from '../../../../domain/instant.ts';
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
    ...changes,
  };
}

/** The page of one approval. */
export function anApprovalView(changes: Partial<ApprovalView> = {}): ApprovalView {
  const { base, person, formToken, sessionTtl, notice, scopeWords, mayApprove } = aView();
  const page = { base, person, now, formToken, sessionTtl, notice, scopeWords, hearsApprovals: true };
  return { ...page, mayApprove, approval: anApproval(), ...changes };
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
  const { base, person, formToken, sessionTtl, notice, scopeWords, hearsApprovals } = aView();
  const tasks = ['THR1', 'THR2'].map((end) => aTask({ taskId: makeTaskId(`01JDCK0000000000000000${end}`) }));
  const [first = aTask()] = tasks;
  const position = { of: first.taskId, after: first.taskId };
  const shown = { agent: first, live: 993, tasks, nextAfter: first.taskId };
  return { base, person, now, formToken, sessionTtl, notice, scopeWords, hearsApprovals, position, shown, ...changes };
}

/** Page after page of ended tasks. */
export function anEndedView(changes: Partial<EndedView> = {}): EndedView {
  const { base, person, formToken, sessionTtl, notice, scopeWords, hearsApprovals } = aView();
  const { tasks } = aBusyView().ended ?? { tasks: [] };
  const nextAfter = { taskId: aTask().taskId, endedAt: now };
  return {
    base,
    person,
    now,
    formToken,
    sessionTtl,
    notice,
    scopeWords,
    hearsApprovals,
    ended: { tasks, nextAfter },
    ...changes,
  };
}

export function aView(changes: Partial<MeView> = {}): MeView {
  return {
    base: '',
    person: 'ada',
    now,
    waiting: [],
    altered: 0,
    mayApprove: true,
    hearsApprovals: false,
    agents: agentsOf([aTask()]),
    isFirst: true,
    ended: endedOf([anEndedTask()]),
    pausedAt: undefined,
    blockedByOthers: false,
    canPause: true,
    isPauseLiftable: true,
    mayResume: true,
    formToken: 'a-form-token',
    signsOutEverywhere: false,
    sessionTtl: 900,
    notice: undefined,
    reach: { tokenTtl: 240, statusLists: undefined },
    scopeWords: new Map<string, string | { en: string; de: string }>([
      ['jira:read', { en: 'Read your issues', de: 'Ihre Vorgänge lesen' }],
      ['jira:comment', { en: 'Comment in your name', de: 'In Ihrem Namen kommentieren' }],
      ['calendar:read', { en: 'See your calendar', de: 'Ihren Kalender sehen' }],
    ]),
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
