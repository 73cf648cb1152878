/** Facts that several rows answer, or that rows must not answer: each with the effects that store the rows. */

import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { Effect, TaskEnd } from '../../application/decisions/effect.ts';
import type { About, Answer, FactName, TaskSelection } from '../../application/decisions/fact.ts';
import type { MayActName } from '../../domain/agents/may-act-name.ts';
import { makeTaskId, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { asked, aTask, end, inserted, newAgent } from './effect-row.ts';
import { anApproval, unrecorded } from './effects-of-approvals.ts';
import { newAgentId, newSponsorKey } from './storage-fixtures.ts';
import { aSession, aUser, DUE, LATER } from './world.ts';

interface FactRow<Name extends FactName> {
  readonly given: readonly Effect[];
  /** For answers whose order no decision uses. */
  sorted?(answer: Answer<Name>): Answer<Name>;
  readonly answers: readonly (readonly [about: About<Name>, answer: Answer<Name>])[];
}

const row =
  <Name extends FactName>(name: Name, made: () => FactRow<Name>) =>
  () => {
    asked.add(name);
    return { name, ...made() };
  };

type Stored = ReturnType<typeof aTask>;
const given = (stored: readonly Stored[]) => stored.flatMap((each): readonly Effect[] => each.given);
const idOf = ({ task }: Stored) => task.taskId;
const ended = (how: TaskEnd, stored: readonly Stored[], at = LATER): Effect => ({
  effect: 'end_tasks',
  tasks: stored.map((each) => ({ taskId: idOf(each), end: how })),
  at,
  renewalsEvent: 'token.refreshed',
  withdrawnEvent: 'approval.withdrawn',
});
const KILLED = end('revoked', 'operator_kill_switch');
const EXPIRED = end('expired', 'task_ttl_elapsed');

/** Tasks of one person, agent and session, tasks delegated from them, and tasks that share one of these alone. */
function aTree() {
  const root = aTask();
  const { agentId, sponsorKey, sponsor, sessionId = '' } = root.task;
  const at = (micros: number) => ({ createdAt: instantFromMicros(NOON + micros) });
  const below = (parent: Stored, changes: Parameters<typeof aTask>[0] = {}) =>
    aTask({ parentTaskId: idOf(parent), ...at(9), ...changes });
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

export const facts: Readonly<Record<string, () => FactRow<FactName> & { readonly name: FactName }>> = {
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
    const child = stored({ taskId: three, parentTaskId: one, createdAt: LATER });
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
    const child = aTask({ parentTaskId: idOf(parent) });
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

  'the last approval of a digest, by its round': row('last_approval', () => {
    const stored = aTask();
    const of = (round: number, digest: string) => anApproval({ round, digest }, stored);
    // The ids are in another order, as those of two replicas may be.
    const [third, first, second, other] = [of(3, 'digest'), of(1, 'digest'), of(2, 'digest'), of(9, 'Digest')];
    const { taskId } = stored.task;
    return {
      given: [...stored.given, ...[first, second, third, other].map(({ insert }) => insert)],
      answers: [
        [{ taskId, digest: 'digest' }, unrecorded(third.approval)],
        [{ taskId, digest: 'Digest' }, unrecorded(other.approval)],
        [{ taskId: idOf(aTask()), digest: 'digest' }, undefined],
      ],
    };
  }),

  'how many approvals wait for a person, and how many of them of an agent and of a task': row(
    'pending_approvals',
    () => {
      const sponsorKey = newSponsorKey();
      const [one, other, stranger] = [aTask({ sponsorKey }), aTask({ sponsorKey }), aTask()];
      const ofSameAgent = aTask({ sponsorKey, agentId: one.task.agentId });
      const waiting = [
        ...[one, one, other, stranger, ofSameAgent].map((stored) => anApproval({}, stored)),
        anApproval({ state: 'granted', decidedAt: NOON }, one),
        anApproval({ expiresAt: NOON }, one),
      ];
      return {
        given: [...given([one, other, stranger, ofSameAgent]), ...waiting.map(({ insert }) => insert)],
        answers: [
          [
            { taskId: idOf(one), at: NOON },
            { ofTask: 2, ofAgent: 3, ofPerson: 4 },
          ],
          [
            { taskId: idOf(other), at: NOON },
            { ofTask: 1, ofAgent: 1, ofPerson: 4 },
          ],
        ],
      };
    },
  ),

  'the approvals whose time is up, while that of their task is not': row('due_approvals', () => {
    const early = plusSeconds(NOON, -5000);
    const at = (micros: number) => instantFromMicros(early + micros);
    const stored = aTask();
    const ending = aTask({ expiresAt: at(1) });
    const of = (changes: Parameters<typeof anApproval>[0], task = stored) => anApproval(changes, task);
    const [pending, unused, later, ended, used] = [
      of({ expiresAt: at(1) }),
      of({ expiresAt: at(2), state: 'granted', decidedAt: NOON }),
      of({ expiresAt: at(3) }),
      of({ expiresAt: at(1) }, ending),
      of({ expiresAt: at(0), state: 'used', decidedAt: NOON, closedAt: NOON }),
    ] as const;
    const all = [pending, unused, later, ended, used];
    const due = ({ approval, stored: { task } }: ReturnType<typeof anApproval>) => ({
      approvalId: approval.approvalId,
      taskId: task.taskId,
      digest: approval.digest,
      commitment: approval.commitment,
      decidedAt: approval.decidedAt,
      agentId: task.agentId,
      sponsor: task.sponsor,
      audience: task.audience,
    });
    return {
      given: [...given([stored, ending]), ...all.map(({ insert }) => insert)],
      sorted: (found) => found.toSorted((a, b) => (a.approvalId < b.approvalId ? -1 : 1)),
      answers: [
        [{ overBy: at(0), limit: 9 }, []],
        [{ overBy: at(2), limit: 9 }, [pending, unused].map(due)],
        [{ overBy: at(9), limit: 9 }, [pending, unused, later].map(due)],
      ],
    };
  }),

  'whether an agent is enabled': row('agent_enabled', () => {
    const [on, off] = [aTask().agent, { ...aTask().agent, enabled: false }];
    return {
      given: [on, off].map((agent): Effect => ({ effect: 'insert_agent', ...agent })),
      answers: [
        [on.agentId, true],
        [off.agentId, false],
        [newAgentId(), false],
      ],
    };
  }),

  'the blocks of a person, whose key is compared exactly': row('blocks', () => {
    const key = newSponsorKey();
    const block = (source: StatedBlock['source'], micros: number): StatedBlock => {
      const at = instantFromMicros(NOON + micros);
      return { sponsorKey: key, source, kind: 'deleted', blockedAt: at, statedAt: LATER };
    };
    const [ssf, admin, scim] = [block('ssf', 1), block('admin', 2), block('scim', 2)];
    const others = [key.toUpperCase(), key.replace('é', 'e\u0301'), `${key}0`, key.slice(0, -2)] as SponsorKey[];
    return {
      given: [scim, admin, ssf].map((each) => ({ effect: 'put_block', ...each })),
      answers: [[key, [ssf, admin, scim]], ...others.map((other) => [other, []] as const)],
    };
  }),

  'the sessions that a logout names': row('sessions', () => {
    const one = aSession();
    const { subject, sessionId = '' } = one;
    const same = aSession({ subject: 'another', sessionId });
    const unnamed = aSession({ subject, sessionId: undefined });
    const elsewhere = aSession({ subject });
    const others = [aSession({ kind: 'me', roles: [], subject, sessionId }), aSession({ sessionId: undefined })];
    const all = [one, same, unnamed, elsewhere, ...others];
    const sorted = (sessions: readonly Session[]) =>
      sessions.toSorted((a, b) => (a.sessionHash < b.sessionHash ? -1 : 1));
    const found = (which: LoggedOut, ...sessions: readonly Session[]) =>
      [{ of: 'operator', which }, sorted(sessions)] as const;
    return {
      sorted,
      given: all.map((session) => ({ effect: 'insert_session', ...session })),
      answers: [
        found({ kind: 'session', sessionId, subject: undefined }, one, same),
        found({ kind: 'session', sessionId, subject }, one, same, unnamed),
        found({ kind: 'session', sessionId: 'unknown', subject }, unnamed),
        found({ kind: 'person', subject }, one, unnamed, elsewhere),
      ],
    };
  }),

  'whether an assertion may have been used before a restore': row('assertion_spent', () => {
    const agentId = newAgentId();
    const restored = { agentId: '' as typeof agentId, jti: '', forgetAt: NOON };
    return {
      given: [{ effect: 'spend_assertion', ...restored }],
      answers: [
        [{ agentId, jti: 'x', latestForgetAt: NOON }, true],
        [{ agentId, jti: 'x', latestForgetAt: instantFromMicros(NOON + 1) }, false],
      ],
    };
  }),

  'the indices of a status list that tasks hold': row('status_slot', () => {
    const [audience, listId] = [`https://${randomUUID()}.example`, randomUUID()];
    const list = { effect: 'insert_status_list', listId, audience, entries: 4, at: NOON } as const;
    const held = [0, 1, 2].map((index) => aTask({ status: { listId, index } }));
    const slot = { listId, entries: 4, free: [3] };
    return {
      given: [list, ...given(held), ended(KILLED, held)],
      answers: [0, 1, 2, 3].map((draw) => [{ audience, draws: [draw] }, slot]),
    };
  }),

  'whether another agent has a name in may_act, compared exactly': row('agent_name_taken', () => {
    const unique = randomUUID();
    const [agentId, other, third] = [newAgentId(), newAgentId(), newAgentId()];
    const mayActNames: readonly MayActName[] = [
      { sub: unique, clientId: 'é"\\😀' },
      { sub: undefined, clientId: unique },
      { sub: agentId.toUpperCase(), clientId: undefined },
    ];
    const named = newAgent({ agentId: third, mayActNames: [{ sub: other, clientId: 'any' }] });
    const ofNoName = newAgent({ mayActNames: undefined });
    const free = { sub: 'free', clientId: unique.toUpperCase() };
    const taken = (name: Partial<MayActName>, answer: boolean, asking = agentId) =>
      [{ agentId: asking, names: [free, { sub: undefined, clientId: undefined, ...name }] }, answer] as const;
    return {
      given: [inserted(newAgent({ agentId: other, mayActNames })), inserted(named), inserted(ofNoName)],
      answers: [
        [{ agentId, names: [] }, false],
        taken({ sub: unique, clientId: 'é"\\😀' }, true),
        taken({ sub: unique, clientId: 'é"\\😀' }, true, third),
        taken({ clientId: unique }, true),
        taken({ sub: unique }, false),
        taken({ sub: unique, clientId: 'É"\\😀' }, false),
        taken({ sub: unique.toUpperCase(), clientId: 'é"\\😀' }, false),
        taken({ sub: agentId.toUpperCase(), clientId: unique }, false),
        // The id of an agent is a name of that agent too.
        taken({ sub: other }, true),
        taken({ sub: other, clientId: 'more' }, true),
        taken({ clientId: other }, false),
        taken({ sub: third }, false, third),
        [{ agentId: other, names: [] }, true],
      ],
    };
  }),

  'the users of a person': row('inactive_users', () => {
    const users = [aUser({ active: false }), aUser(), aUser({ active: false })];
    const [{ sponsorKey } = aUser()] = users;
    const ids = users.flatMap(({ userId, active }) => (active ? [] : [userId])).sort();
    return {
      given: users.map((user) => ({ effect: 'insert_user', ...user, sponsorKey })),
      answers: [
        [sponsorKey, ids],
        [sponsorKey.toUpperCase() as SponsorKey, []],
      ],
    };
  }),
};
