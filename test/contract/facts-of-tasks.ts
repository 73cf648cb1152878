/** Facts about tasks that several tasks answer, or must not answer. */

import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { Answer, TaskSelection } from '../../application/decisions/fact.ts';
import { makeTaskId, type TaskId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { aDelegator, NOON } from '../support/domain-fixtures.ts';
import { aTask, end } from './effect-row.ts';
import { ended, type FactRows, given, idOf, KILLED, row, type Stored } from './fact-row.ts';
import { DUE, LATER } from './world.ts';

const EXPIRED = end('expired', 'task_ttl_elapsed');

/** Tasks of one person, agent and session, tasks delegated from them, and tasks that share one of these alone. */
function aTree() {
  const root = aTask();
  const { agentId, sponsorKey, sponsor, sessionId = '' } = root.task;
  const at = (micros: number) => ({ createdAt: instantFromMicros(NOON + micros) });
  const below = (parent: Stored, changes: Parameters<typeof aTask>[0] = {}) =>
    aTask({ delegatedBy: [aDelegator(idOf(parent))], ...at(9), ...changes });
  const upper = sponsor.toUpperCase();
  const foreign = below(root);
  const over = below(root, { expiresAt: LATER });
  const killed = below(root);
  const own = below(foreign, { agentId, sponsorKey, sponsor, sessionId, ...at(10) });
  const belowOver = below(over, at(12));
  const belowKilled = below(killed, at(11));
  const oldest = aTask({ agentId, sponsorKey, sponsor: upper, sessionId, ...at(-5) });
  const ofAgent = aTask({ agentId, sponsor: upper, sessionId: sessionId.toUpperCase(), ...at(20) });
  const ofPerson = aTask({ sponsorKey, sponsor, sessionId: undefined, ...at(21) });
  const stranger = aTask({ sponsor: sponsorKey, sessionId: sponsor });
  const all = [root, foreign, over, killed, own, belowOver, belowKilled, oldest, ofAgent, ofPerson, stranger];
  const delegated = [foreign, belowKilled, belowOver];
  /** The live tasks of a selection, in the order of their creation. */
  const found = (selected: readonly Stored[], sponsors: readonly string[], more: readonly Stored[] = delegated) => ({
    taskIds: [...selected, ...more]
      .toSorted((one, other) => one.task.createdAt - other.task.createdAt || (idOf(one) < idOf(other) ? -1 : 1))
      .map(idOf),
    delegated: new Set(more.map(idOf)),
    sponsors,
  });
  const both = [upper, sponsor].toSorted();
  const answers: readonly (readonly [TaskSelection, Answer<'live_tasks'>])[] = [
    [{ kind: 'task', taskId: idOf(root) }, found([root], [sponsor], [...delegated, own])],
    [{ kind: 'task', taskId: idOf(killed) }, found([], [], [belowKilled])],
    [{ kind: 'task', taskId: idOf(over) }, found([], [], [belowOver])],
    [{ kind: 'task', taskId: makeTaskId(ulid()) }, found([], [], [])],
    [{ kind: 'agent', agentId }, found([root, own, oldest, ofAgent], both)],
    [{ kind: 'sponsor', sponsorKey }, found([root, own, oldest, ofPerson], both)],
    [{ kind: 'sponsor_agent', sponsorKey, agentId }, found([root, own, oldest], both)],
    [{ kind: 'session', sessionId }, found([root, own, oldest], both)],
    [{ kind: 'session_or_none', sessionId, subject: sponsor }, found([root, own, oldest, ofPerson], both)],
    [{ kind: 'session_or_none', sessionId: 'x', subject: sponsor }, found([ofPerson], [sponsor], [])],
    [{ kind: 'subject', subject: sponsor }, found([root, own, ofPerson], [sponsor])],
    [{ kind: 'subject', subject: sponsorKey }, found([stranger], [sponsorKey], [])],
    [{ kind: 'session', sessionId: 'unknown' }, found([], [], [])],
  ];
  return { given: [...given(all), ended(KILLED, [killed])], answers, ofAgent };
}

export const factsOfTasks: FactRows = {
  'the live tasks of a selection, and those delegated from them': row('live_tasks', () => {
    const tree = aTree();
    return {
      given: tree.given,
      answers: tree.answers.map(([selection, answer]) => [{ selection, at: LATER }, answer]),
    };
  }),

  'some of all live tasks, and those delegated from them': row('some_live_tasks', () => {
    // Tasks of other tests have expired by then.
    const at = plusSeconds(LATER, 86_400);
    const expiresAt = instantFromMicros(at + 1);
    const stored = (changes: Parameters<typeof aTask>[0] = {}) => aTask({ expiresAt, ...changes });
    const [one, two, three] = [0, 1, 2].map(() => makeTaskId(ulid())).toSorted() as [TaskId, TaskId, TaskId];
    const child = stored({ taskId: three, delegatedBy: [aDelegator(one)], createdAt: LATER });
    const [killed, over] = [stored(), stored({ expiresAt: at })];
    return {
      given: [
        ...given([stored({ taskId: two }), stored({ taskId: one }), killed, over, child]),
        ended(KILLED, [killed]),
      ],
      sorted: ({ taskIds, areAll }) => ({ taskIds: taskIds.toSorted(), areAll }),
      answers: [
        [
          { limit: 1, at },
          { taskIds: [one, three], areAll: false },
        ],
        [
          { limit: 3, at },
          { taskIds: [one, two, three], areAll: false },
        ],
        [
          { limit: 4, at },
          { taskIds: [one, two, three], areAll: true },
        ],
        [
          { limit: 4, at: expiresAt },
          { taskIds: [], areAll: true },
        ],
      ],
    };
  }),

  'whether a task without a session is live': row('live_task_without_session', () => {
    const [live, over, killed, inSession] = [
      aTask({ sessionId: undefined }),
      aTask({ sessionId: undefined, expiresAt: LATER }),
      aTask({ sessionId: undefined }),
      aTask(),
    ];
    const all = [live, over, killed, inSession];
    return {
      given: [...given(all), ended(KILLED, [killed])],
      answers: all.map(({ task: { sponsor: subject } }) => [{ subject, at: LATER }, subject === live.task.sponsor]),
    };
  }),

  'a task that delegates, with its grant’s present scope': row('delegating_task', () => {
    const [live, killed] = [aTask(), aTask()];
    const { expiresAt, scope } = live.task;
    return {
      given: [
        ...given([live, killed]),
        {
          effect: 'update_grant',
          grantHash: live.grantHash,
          scope: scope.slice(1),
          renewals: 1,
          unrecorded: 0,
          renewedAt: LATER,
        },
        ended(KILLED, [killed]),
      ],
      answers: [
        [idOf(live), { state: 'live', expiresAt, scope: scope.slice(1) }],
        [idOf(killed), { state: 'revoked', expiresAt: killed.task.expiresAt, scope: killed.task.scope }],
        [makeTaskId(ulid()), undefined],
      ],
    };
  }),

  'how many tasks that one task delegated are live': row('live_children', () => {
    const parent = aTask();
    const child = (changes: Parameters<typeof aTask>[0] = {}) =>
      aTask({ delegatedBy: [aDelegator(idOf(parent))], ...changes });
    const [one, two, killed, over] = [child(), child(), child(), child({ expiresAt: LATER })];
    const grandchild = aTask({ delegatedBy: [aDelegator(idOf(one)), aDelegator(idOf(parent))] });
    return {
      given: [...given([parent, one, two, killed, over, grandchild]), ended(KILLED, [killed])],
      answers: [
        [{ taskId: idOf(parent), at: LATER }, 2],
        [{ taskId: idOf(parent), at: NOON }, 3],
        [{ taskId: idOf(one), at: NOON }, 1],
        [{ taskId: idOf(two), at: NOON }, 0],
      ],
    };
  }),

  'the tasks that are due, the earliest first, in the order of their creation': row('due_tasks', () => {
    const due = (micros: number, nth: number) =>
      aTask({ expiresAt: instantFromMicros(DUE + micros), createdAt: instantFromMicros(NOON + nth) });
    const all = [3, 1, 4, 0, 2].map(due);
    const killed = due(0, 9);
    const of = (...nths: readonly number[]) => nths.map((nth) => idOf(all[nth] as Stored));
    return {
      given: [...given([...all, killed]), ended(KILLED, [killed])],
      answers: [
        [{ overBy: instantFromMicros(DUE - 1), limit: 9 }, []],
        [{ overBy: instantFromMicros(DUE + 3), limit: 9 }, of(0, 1, 3, 4)],
        [{ overBy: instantFromMicros(DUE + 4), limit: 2 }, of(1, 3)],
      ],
    };
  }),

  'the tasks that may be deleted, the earliest end first': row('ended_tasks', () => {
    const early = plusSeconds(NOON, -1000);
    const at = (micros: number) => instantFromMicros(early + micros);
    const [last, first, parent, listed, expired, live] = [
      aTask(),
      aTask(),
      aTask(),
      aTask({ status: { listId: randomUUID(), index: 1 } }),
      aTask({ expiresAt: at(1) }),
      aTask(),
    ];
    const child = aTask({ delegatedBy: [aDelegator(idOf(parent))] });
    return {
      given: [
        ...given([last, first, parent, listed, expired, live, child]),
        ended(KILLED, [last], at(2)),
        ended(KILLED, [first, parent, listed], at(0)),
        ended(EXPIRED, [expired], LATER),
      ],
      answers: [
        [{ endedBy: at(-1), limit: 9 }, []],
        [{ endedBy: at(1), limit: 9 }, [first, expired].map(idOf)],
        [{ endedBy: at(9), limit: 2 }, [first, expired].map(idOf)],
        [{ endedBy: at(2), limit: 9 }, [first, expired, last].map(idOf)],
      ],
    };
  }),
};
