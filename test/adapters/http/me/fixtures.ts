/** Views of the person's page. */

import type { MeView } from '../../../../adapters/http/me/view.ts';
import type { MyTask } from '../../../../application/me/my-tasks.ts';
import { makeTaskId } from '../../../../domain/identifiers.ts';
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
    ...changes,
  };
}

export function anEndedTask(changes: Partial<MyTask> = {}): MyTask {
  const endedAt = plusSeconds(now, -2 * 3600);
  return aTask({ state: 'revoked', reason: 'client_revoked', endedAt, ...changes });
}

export function aView(changes: Partial<MeView> = {}): MeView {
  return {
    base: '',
    person: 'ada',
    now,
    live: [aTask()],
    history: [anEndedTask()],
    next: undefined,
    isFirst: true,
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
    live: [
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
    ],
    history: [
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
    ],
    ...changes,
  });
}
