/** The effects on agents, users and keys, and the acts of operators. */

import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { Agent } from '../../domain/agents/agent.ts';
import { makeTokenId } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { userNameKey } from '../../domain/signals/provisioned-user.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { type EffectRows, fact, inserted, newAgent, type See } from './effect-row.ts';
import { records } from './effects-of-records.ts';
import { anOpening, aUser, newAgentId, newSponsorKey } from './storage-fixtures.ts';
import { aKey, anAct, changedUser, LATER } from './world.ts';

// A JSON column of the database would change the order of these members and some of their values.
const KEY = { y: 'eQ', x: 'eA', kty: 'EC', crv: 'P-256', kid: 'é😀\u0000', key_ops: ['verify'], ext: true } as const;

export const effectsOfRegistrations = {
  insert_agent() {
    const jwks = { keys: [{ ...KEY, 'x-note': '__proto__' }] };
    const displayName = 'Jira — “triage” 😀';
    const mayActNames = [
      { sub: '“é😀"\\', clientId: undefined },
      { sub: undefined, clientId: '__proto__' },
    ];
    const agent = newAgent({ displayName, enabled: false, keys: { kind: 'inline', jwks }, mayActNames });
    const { agentId, keys } = agent;
    const keysOf: See = async ({ agents }) => JSON.stringify((await agents.find(agentId))?.keys);
    return {
      effect: inserted(agent),
      seen: [
        [fact('agent', agentId), undefined, agent],
        [({ agents }) => agents.find(agentId), undefined, agent],
        [keysOf, undefined, JSON.stringify(keys)],
        [fact('agent_revision', agentId), undefined, 1],
      ],
    };
  },

  replace_agent() {
    const first = newAgent({ keys: { kind: 'inline', jwks: { keys: [KEY] } } });
    const other = newAgent();
    const { task, grantHash } = anOpening(first);
    const isEnabled: See = async ({ tasks }) =>
      (await tasks.tokenFacts(makeTokenId(ulid()), task.taskId))?.agentEnabled;
    const next: Agent = {
      ...first,
      displayName: 'Another name',
      allowedScopes: ['wiki:read'],
      allowedAudiences: ['http://wiki.example:8080/a,b'],
      maxTaskTtl: 86_400,
      maxTokenTtl: 3_600,
      maxDelegationDepth: 5,
      highRiskAudiences: [],
      keys: { kind: 'remote', uri: 'https://elsewhere.example/keys?x=1' },
      mayActNames: undefined,
      redirectUris: undefined,
      publicClient: false,
      clientIdDocument: undefined,
      clientNames: undefined,
      delegatesTo: undefined,
      enabled: false,
      revision: 2,
      updatedAt: instantFromMicros(NOON + 999_999),
      keysSince: instantFromMicros(NOON + 999_998),
    };
    return {
      given: [inserted(first), inserted(other), { effect: 'insert_task', task, grantHash }],
      effect: { effect: 'replace_agent', ...next },
      seen: [
        [fact('agent', first.agentId), first, next],
        [fact('agent_revision', first.agentId), 1, 2],
        [({ agents }) => agents.find(other.agentId), other, other],
        [isEnabled, true, false],
      ],
    };
  },

  remove_agent() {
    const [agent, other] = [newAgent(), newAgent()];
    return {
      given: [inserted(agent), inserted(other)],
      effect: { effect: 'remove_agent', agentId: agent.agentId },
      seen: [
        [fact('agent', agent.agentId), agent, undefined],
        [fact('agent', other.agentId), other, other],
      ],
    };
  },

  forget_delegation_refusals() {
    const [agentId, other] = [newAgentId(), newAgentId()];
    const [ada, grace] = [newSponsorKey(), newSponsorKey()];
    const [one, two, kept] = [
      { sponsorKey: ada, agentId },
      { sponsorKey: grace, agentId },
      { sponsorKey: ada, agentId: other },
    ] as const;
    return {
      given: [one, two, kept].map((each) => ({ effect: 'put_delegation_refusal', ...each, refusedAt: NOON })),
      effect: { effect: 'forget_delegation_refusals', agentId },
      seen: [
        [fact('delegation_refused', one), true, false],
        [fact('delegation_refused', two), true, false],
        [fact('delegation_refused', kept), true, true],
      ],
    };
  },

  insert_user() {
    const user = aUser({ userName: `Grace É 😀 "x" ${randomUUID()}`, active: false });
    const { userId, sponsorKey } = user;
    return {
      effect: { effect: 'insert_user', ...user },
      seen: [
        [({ provisionedUsers }) => provisionedUsers.find(userId), undefined, user],
        [fact('user_revision', userId), undefined, 1],
        [fact('user_named', userNameKey(user.userName.toUpperCase())), undefined, userId],
        [fact('inactive_users', sponsorKey), [], [userId]],
        [fact('user_count', null), 0, 1],
      ],
    };
  },

  replace_user() {
    const [user, other] = [aUser(), aUser()];
    const next = changedUser(user, {
      userName: `another ${randomUUID()}`,
      externalId: undefined,
      active: false,
      sponsorKey: other.sponsorKey,
    });
    const of = (sponsorKey: typeof user.sponsorKey) => fact('other_users', { sponsorKey, except: other.userId });
    return {
      given: [user, other].map((each) => ({ effect: 'insert_user', ...each })),
      effect: { effect: 'replace_user', ...next },
      seen: [
        [({ provisionedUsers }) => provisionedUsers.find(user.userId), user, next],
        [({ provisionedUsers }) => provisionedUsers.find(other.userId), other, other],
        [fact('user_named', userNameKey(user.userName)), user.userId, undefined],
        [fact('user_revision', user.userId), 1, 2],
        [of(user.sponsorKey), { users: 1, inactive: 0 }, { users: 0, inactive: 0 }],
        [of(other.sponsorKey), { users: 0, inactive: 0 }, { users: 1, inactive: 1 }],
      ],
    };
  },

  remove_user() {
    const [user, other] = [aUser(), aUser()];
    return {
      given: [user, other].map((each) => ({ effect: 'insert_user', ...each })),
      effect: { effect: 'remove_user', userId: user.userId },
      seen: [
        [fact('user_revision', user.userId), 1, undefined],
        [fact('user_revision', other.userId), 1, 1],
      ],
    };
  },

  put_log_key() {
    const [first, second] = [aKey('a'), aKey('b')];
    const key = { ...first, from: instantFromMicros(NOON + 1), to: undefined };
    const other = { ...second, from: NOON, to: undefined };
    const changed = { ...key, from: instantFromMicros(NOON + 2), to: LATER };
    const sameKid = { ...other, kid: key.kid };
    return {
      given: [key, other, sameKid].map((each) => ({ effect: 'put_log_key', ...each })),
      effect: { effect: 'put_log_key', ...changed },
      seen: [
        [fact('log_keys', 'checkpoint'), [sameKid, other, key], [sameKid, other, changed]],
        [fact('log_keys', 'log'), [], []],
      ],
    };
  },

  operator_act() {
    const { operator: _, route: act, sealed, ...stored } = anAct('DELETE /admin/tasks/{task_id}');
    const { at, reason, role } = stored;
    const names = { iss: 'https://idp.example/é', sub: 'olga' };
    const shown: See = async ({ operatorActs }) =>
      (await operatorActs.list({ limit: 9 })).map(({ kind, row: { seq, ...rest } }) => ({
        kind,
        ...rest,
        explains: rest.explains === seq - 1,
      }));
    const said = new URLSearchParams({ ...names, role, act, seq: '', reason: sealed?.hash ?? '' });
    const detail: See = async (storage) => {
      const found = (await records(storage)) as readonly LedgerEntry[];
      return found
        .filter(({ event }) => event === 'operator.acted')
        .map((entry) => entry.detail?.replace(/seq=\d+/, 'seq='));
    };
    return {
      effect: { effect: 'operator_act', ...anAct(act) },
      seen: [
        [shown, [], [{ ...names, role, act, reason, salt: sealed?.salt, at, explains: false, kind: 'same' }]],
        [detail, [], [said.toString()]],
      ],
    };
  },
} satisfies Partial<EffectRows>;
