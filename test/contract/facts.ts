/** Facts that several rows answer, or that rows must not answer: each with the effects that store the rows. */

import { randomUUID } from 'node:crypto';
import type { Effect } from '../../application/decisions/effect.ts';
import type { MayActName } from '../../domain/agents/may-act-name.ts';
import type { AgentId, SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import type { StatedBlock } from '../../domain/sponsors/block.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { aTask, inserted, newAgent } from './effect-row.ts';
import { anApproval, unrecorded } from './effects-of-approvals.ts';
import { ended, type FactRows, given, idOf, KILLED, row } from './fact-row.ts';
import { factsOfTasks } from './facts-of-tasks.ts';
import { aUser, newAgentId, newSponsorKey } from './storage-fixtures.ts';
import { aSession, LATER } from './world.ts';

export const facts: FactRows = {
  ...factsOfTasks,

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

  'whether a person is known, by a block, a provisioned user, a refusal, or a task that is live or ended': row(
    'person_known',
    () => {
      const [live, gone, user, blocked] = [aTask(), aTask(), aUser({ active: false }), newSponsorKey()];
      const refusal = { sponsorKey: newSponsorKey(), agentId: newAgentId(), refusedAt: NOON };
      const block = {
        sponsorKey: blocked,
        source: 'admin',
        kind: 'disabled',
        blockedAt: NOON,
        statedAt: NOON,
      } as const;
      const known = [live.task.sponsorKey, gone.task.sponsorKey, user.sponsorKey, blocked, refusal.sponsorKey];
      const others = [newSponsorKey(), blocked.toUpperCase(), `${live.task.sponsorKey}0`] as SponsorKey[];
      return {
        given: [
          ...given([live, gone]),
          ended(KILLED, [gone]),
          { effect: 'insert_user', ...user },
          { effect: 'put_block', ...block },
          { effect: 'put_delegation_refusal', ...refusal },
        ],
        answers: [...known.map((key) => [key, true] as const), ...others.map((key) => [key, false] as const)],
      };
    },
  ),

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
    const unique = `unique-${randomUUID()}`;
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

  'whether another agent has the document of a client, compared exactly': row('agent_document_taken', () => {
    const [agentId, other] = [newAgentId(), newAgentId()];
    const uri = `https://app.example/${agentId}.json`;
    return {
      given: [inserted(newAgent({ agentId: other, clientIdDocument: uri })), inserted(newAgent({ agentId }))],
      answers: [
        [{ agentId, uri }, true],
        [{ agentId: other, uri }, false],
        [{ agentId, uri: uri.toUpperCase() }, false],
        [{ agentId, uri: `${uri}/` }, false],
      ],
    };
  }),

  'which of these agents are registered, compared exactly': row('registered_agents', () => {
    const [agentId, other, unregistered] = [newAgentId(), newAgentId(), newAgentId()];
    return {
      given: [inserted(newAgent({ agentId })), inserted(newAgent({ agentId: other, enabled: false }))],
      answers: [
        [[], []],
        [[agentId], [agentId]],
        [[unregistered, other, `${agentId}x` as AgentId], [other]],
      ],
    };
  }),

  'whether another agent names the agent as one that it hands work to': row('agent_named_by_others', () => {
    const [agentId, other, third] = [newAgentId(), newAgentId(), newAgentId()];
    const delegatesTo = [third, agentId, other];
    return {
      given: [
        inserted(newAgent({ agentId, delegatesTo })),
        inserted(newAgent({ agentId: other, delegatesTo: undefined })),
        inserted(newAgent({ agentId: newAgentId(), delegatesTo: [newAgentId(), `${third}x` as AgentId] })),
      ],
      answers: [
        [agentId, false],
        [other, true],
        [third, true],
        [`${agentId}x` as AgentId, false],
        [third.slice(0, -1) as AgentId, false],
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
