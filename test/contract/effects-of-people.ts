/** The effects on people: signals, blocks, logouts and sessions. */

import { randomUUID } from 'node:crypto';
import type { Agent } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { type EffectRows, fact, inserted, newAgent, type See } from './effect-row.ts';
import { newAgentId, newSponsorKey } from './storage-fixtures.ts';
import { aSession, LATER } from './world.ts';

type Of = Pick<Agent, 'agentId' | 'displayName'>;

export const effectsOfPeople = {
  accept_signal() {
    const name = { receiver: 'logout', issuer: 'https://idp.example/é', jti: `jti-${randomUUID()}` } as const;
    const accepted = (changes: object) => fact('signal_accepted', { ...name, ...changes });
    return {
      effect: { effect: 'accept_signal', ...name, forgetAt: LATER },
      seen: [
        [accepted({}), false, true],
        [accepted({ receiver: 'ssf' }), false, false],
        [accepted({ issuer: 'https://other.example' }), false, false],
        [accepted({ jti: name.jti.toUpperCase() }), false, false],
      ],
    };
  },

  put_block() {
    const block = { sponsorKey: newSponsorKey(), source: 'ssf', kind: 'disabled', blockedAt: NOON } as const;
    const [first, other] = [
      { ...block, statedAt: instantFromMicros(NOON - 7) },
      { ...block, source: 'admin', statedAt: NOON } as const,
    ];
    const next = { ...first, kind: 'deleted', blockedAt: instantFromMicros(NOON + 1), statedAt: LATER } as const;
    const [before, after] = [
      [other, first],
      [other, next],
    ].map((blocks) => blocks.map(({ statedAt: _, ...shown }) => shown));
    return {
      given: [first, other].map((each) => ({ effect: 'put_block', ...each })),
      effect: { effect: 'put_block', ...next },
      seen: [
        [fact('blocks', block.sponsorKey), [other, first], [other, next]],
        [({ sponsors }) => sponsors.findBlocks(block.sponsorKey), before, after],
      ],
    };
  },

  remove_block() {
    const block = { sponsorKey: newSponsorKey(), kind: 'disabled', blockedAt: NOON, statedAt: LATER } as const;
    const [self, scim] = [{ ...block, source: 'self' } as const, { ...block, source: 'scim' } as const];
    const stranger = { ...self, sponsorKey: newSponsorKey() };
    return {
      given: [self, scim, stranger].map((each) => ({ effect: 'put_block', ...each })),
      effect: { effect: 'remove_block', sponsorKey: block.sponsorKey, source: 'self' },
      seen: [
        [fact('blocks', block.sponsorKey), [scim, self], [scim]],
        [fact('blocks', stranger.sponsorKey), [stranger], [stranger]],
      ],
    };
  },

  put_pending_unblock() {
    const sponsorKey = newSponsorKey();
    const first = { issuer: 'https://idp.example', subject: 'rita é', operatorKey: 'key 😀', forgetAt: LATER };
    const next = { issuer: 'https://b.example', subject: 'olga', operatorKey: 'b', forgetAt: plusSeconds(LATER, 1) };
    return {
      given: [{ effect: 'put_pending_unblock', sponsorKey, ...first }],
      effect: { effect: 'put_pending_unblock', sponsorKey, ...next },
      seen: [
        [fact('pending_unblock', sponsorKey), first, next],
        [fact('pending_unblock', newSponsorKey()), undefined, undefined],
        [
          ({ sponsors }) => sponsors.pendingLift(sponsorKey, LATER),
          undefined,
          {
            issuer: next.issuer,
            subject: next.subject,
            askedAt: plusSeconds(next.forgetAt, -3600),
            until: next.forgetAt,
          },
        ],
      ],
    };
  },

  remove_pending_unblock() {
    const [sponsorKey, other] = [newSponsorKey(), newSponsorKey()];
    const request = { issuer: 'https://idp.example', subject: 'rita', operatorKey: 'key', forgetAt: LATER };
    return {
      given: [sponsorKey, other].map((key) => ({ effect: 'put_pending_unblock', sponsorKey: key, ...request })),
      effect: { effect: 'remove_pending_unblock', sponsorKey },
      seen: [
        [fact('pending_unblock', sponsorKey), request, undefined],
        [fact('pending_unblock', other), request, request],
      ],
    };
  },

  put_delegation_refusal() {
    const sponsorKey = newSponsorKey();
    const agents = ['A é', 'B 😀', 'C'].map((displayName) => newAgent({ displayName }));
    const [one, other, third] = agents.map(({ agentId, displayName }) => ({ agentId, displayName })) as [Of, Of, Of];
    const { agentId } = one;
    const put = (of: Of, refusedAt = NOON) =>
      ({ effect: 'put_delegation_refusal', sponsorKey, agentId: of.agentId, refusedAt }) as const;
    const refused = (changes: object) => fact('delegation_refused', { sponsorKey, agentId, ...changes });
    const listed =
      (limit: number, among?: readonly AgentId[]): See =>
      ({ sponsors }) =>
        sponsors.delegationRefusals({ sponsorKey, among, limit });
    const [old, earlier, later] = [
      { ...other, refusedAt: NOON },
      { ...one, refusedAt: NOON },
      { ...one, refusedAt: LATER },
    ];
    return {
      given: [...agents.map(inserted), put(other), put(one)],
      // The same refusal again has another time.
      effect: put(one, LATER),
      seen: [
        [refused({}), true, true],
        [refused({ agentId: third.agentId }), false, false],
        [listed(9), [old, earlier].toSorted((a, b) => (a.agentId < b.agentId ? -1 : 1)), [later, old]],
        [listed(1), [agentId < other.agentId ? earlier : old], [later]],
        [listed(9, [other.agentId, third.agentId]), [old], [old]],
        [listed(9, []), [], []],
        [refused({ agentId: newAgentId() }), false, false],
        [refused({ sponsorKey: newSponsorKey() }), false, false],
        [refused({ sponsorKey: sponsorKey.toUpperCase() }), false, false],
      ],
    };
  },

  remove_delegation_refusal() {
    const [sponsorKey, other, agentId, another] = [newSponsorKey(), newSponsorKey(), newAgentId(), newAgentId()];
    const [one, sameAgent, samePerson] = [
      { sponsorKey, agentId },
      { sponsorKey: other, agentId },
      { sponsorKey, agentId: another },
    ] as const;
    return {
      given: [one, sameAgent, samePerson].map((each) => ({
        effect: 'put_delegation_refusal',
        ...each,
        refusedAt: NOON,
      })),
      effect: { effect: 'remove_delegation_refusal', ...one },
      seen: [
        [fact('delegation_refused', one), true, false],
        [fact('delegation_refused', sameAgent), true, true],
        [fact('delegation_refused', samePerson), true, true],
      ],
    };
  },

  put_logout() {
    const name = { kind: 'person', name: `ada é 😀 ${randomUUID()}` } as const;
    const [first, next] = [
      { statedAt: NOON, forgetAt: LATER },
      { statedAt: LATER, forgetAt: plusSeconds(LATER, 9) },
    ];
    const logout = (changes: object) => fact('logout', { ...name, ...changes });
    return {
      given: [{ effect: 'put_logout', ...name, ...first }],
      effect: { effect: 'put_logout', ...name, ...next },
      seen: [
        [logout({}), first, next],
        [logout({ kind: 'session' }), undefined, undefined],
        [logout({ name: name.name.toUpperCase() }), undefined, undefined],
      ],
    };
  },

  insert_session() {
    const full = aSession();
    const bare = aSession({
      sessionId: undefined,
      authenticatedAt: undefined,
      sealedIdToken: undefined,
      sponsorKey: undefined,
      roles: ['viewer'],
    });
    const { sessionHash } = full;
    const one = (of: 'me' | 'operator') => fact('sessions', { of, which: { kind: 'one', sessionHash } });
    return {
      given: [{ effect: 'insert_session', ...bare }],
      effect: { effect: 'insert_session', ...full },
      seen: [
        [one('operator'), [], [full]],
        [one('me'), [], []],
        [({ sessions }) => sessions.find('operator', sessionHash), undefined, full],
        [({ sessions }) => sessions.find('me', sessionHash), undefined, undefined],
        [({ sessions }) => sessions.find('operator', bare.sessionHash), bare, bare],
      ],
    };
  },

  renew_session() {
    const [session, closed] = [aSession({ kind: 'me', roles: [] }), aSession()];
    const { sessionHash } = session;
    const times = { lastUsedAt: plusSeconds(NOON, 61), expiresAt: plusSeconds(NOON, 961) };
    return {
      given: [
        { effect: 'insert_session', ...session },
        { effect: 'renew_session', sessionHash: closed.sessionHash, ...times },
      ],
      effect: { effect: 'renew_session', sessionHash, ...times },
      seen: [
        [({ sessions }) => sessions.find('me', sessionHash), session, { ...session, ...times }],
        [({ sessions }) => sessions.find('operator', closed.sessionHash), undefined, undefined],
      ],
    };
  },

  close_session() {
    const [one, other] = [aSession(), aSession()];
    const seen =
      ({ sessionHash }: typeof one): See =>
      ({ sessions }) =>
        sessions.find('operator', sessionHash);
    return {
      given: [one, other].map((session) => ({ effect: 'insert_session', ...session })),
      effect: { effect: 'close_session', sessionHash: one.sessionHash },
      seen: [
        [seen(one), one, undefined],
        [seen(other), other, other],
      ],
    };
  },
} satisfies Partial<EffectRows>;
