/** All requests that end a task or refuse a person (specification "States and transitions"). */

import { randomUUID } from 'node:crypto';
import type { Answer } from '../mandate.ts';
import { patch, USER_SCHEMA } from '../scim-client.ts';
import { PUSH_HEADERS } from '../transmitter.ts';
import type { Connection } from './connection.ts';
import { ME_AUDIENCE, PERSON_CLAIM, type Replicas } from './replicas.ts';
import type { Target } from './targets.ts';

/** Sends the request to this replica. */
export type SendTo = (at: Connection) => Promise<Answer>;

export interface Ending {
  readonly name: string;
  /** The `revocation_reason` of tokens of the ended tasks. */
  readonly reason: string;
  /** The denial reason of a later exchange. Absent if a later exchange succeeds. */
  readonly refuses?: string;
  /** The event and reason of the request's own record. It precedes the records of the ended tasks. */
  readonly record?: string;
  /** Whether the request ends all tasks of the agent, so that each round needs its own agent. */
  readonly ofAgent?: true;
  /** Prepares the request, which the result sends. */
  readonly prepare: (replicas: Replicas, target: Target) => Promise<SendTo>;
}

const KILLED = 'operator_kill_switch';
const STOPPED = 'sponsor_stopped';

export const endings: readonly Ending[] = [
  {
    name: 'a block',
    reason: 'sponsor_blocked',
    refuses: 'sponsor_disabled',
    record: 'sponsor.blocked sponsor_blocked',
    prepare: async (_, { key }) => byOperator('PUT', `/admin/sponsors/${key}/block`),
  },
  {
    name: 'the kill switch of a person',
    reason: KILLED,
    prepare: async (_, { key }) => byOperator('DELETE', `/admin/sponsors/${key}/tasks`),
  },
  {
    name: "a person's pause",
    reason: 'sponsor_paused',
    refuses: 'sponsor_disabled',
    record: 'sponsor.blocked sponsor_paused',
    prepare: async (replicas, target) => byPerson(replicas, target, 'PUT', '/me/pause'),
  },
  {
    name: "a person's stop of all tasks",
    reason: STOPPED,
    prepare: async (replicas, target) => byPerson(replicas, target, 'DELETE', '/me/tasks'),
  },
  {
    name: "a person's stop of an agent",
    reason: STOPPED,
    prepare: async (replicas, target) => byPerson(replicas, target, 'DELETE', `/me/agents/${target.agent.id}/tasks`),
  },
  {
    name: 'the kill switch of an agent',
    reason: KILLED,
    ofAgent: true,
    prepare: async (_, { agent }) => byOperator('DELETE', `/admin/agents/${agent.id}/tasks`),
  },
  {
    name: 'the disabling of an agent',
    reason: 'agent_disabled',
    refuses: 'agent_disabled',
    ofAgent: true,
    record: 'agent.updated changed:enabled',
    prepare: async (_, { agent }) => byOperator('PATCH', `/admin/agents/${agent.id}`, { enabled: false }),
  },
  {
    name: 'a logout of a session',
    reason: 'sponsor_logged_out',
    record: 'sponsor.signal sponsor_logged_out',
    prepare: async (replicas, { session, subject }) => logout(replicas, { sid: session, sub: subject }),
  },
  {
    name: 'a logout of a person',
    reason: 'sponsor_logged_out',
    record: 'sponsor.signal sponsor_logged_out',
    prepare: async (replicas, { subject }) => logout(replicas, { sub: subject }),
  },
  {
    name: 'a SCIM deactivation',
    reason: 'scim_deactivated',
    refuses: 'sponsor_disabled',
    record: 'sponsor.signal scim_deactivated',
    prepare: async (replicas, target) => {
      const id = await provisioned(replicas, target);
      return (at) => at.scim('PATCH', `/Users/${id}`, patch({ active: false }));
    },
  },
  {
    name: 'a SCIM removal',
    reason: 'scim_deleted',
    refuses: 'sponsor_not_found',
    record: 'sponsor.signal scim_deleted',
    prepare: async (replicas, target) => {
      const id = await provisioned(replicas, target);
      return (at) => at.scim('DELETE', `/Users/${id}`);
    },
  },
  {
    name: 'Shared Signals session-revoked',
    reason: 'ssf_sessions_revoked',
    record: 'sponsor.signal ssf_sessions_revoked',
    prepare: async (replicas, target) => {
      // Before its first task, a person whom nothing else names would be unknown, and the record would name no person.
      await provisioned(replicas, target);
      return event(replicas, 'caep/event-type/session-revoked', target.key);
    },
  },
  {
    name: 'Shared Signals account-disabled',
    reason: 'ssf_account_disabled',
    refuses: 'sponsor_disabled',
    record: 'sponsor.signal ssf_account_disabled',
    prepare: async (replicas, { key }) => event(replicas, 'risc/event-type/account-disabled', key),
  },
  {
    name: 'Shared Signals account-purged',
    reason: 'ssf_account_purged',
    refuses: 'sponsor_not_found',
    record: 'sponsor.signal ssf_account_purged',
    prepare: async (replicas, { key }) => event(replicas, 'risc/event-type/account-purged', key),
  },
];

/** A request about one existing task. Only a refresh of that task can race with it. */
export interface TaskEnding {
  readonly name: string;
  readonly reason: string;
  readonly prepare: (target: Target, issued: Answer, replicas: Replicas) => SendTo;
}

export const taskEndings: readonly TaskEnding[] = [
  {
    name: 'the kill switch of a task',
    reason: KILLED,
    prepare: (_, issued) => byOperator('DELETE', `/admin/tasks/${issued.body.task_id}`),
  },
  {
    name: "a person's stop of the task",
    reason: STOPPED,
    prepare: (target, issued, replicas) => byPerson(replicas, target, 'DELETE', `/me/tasks/${issued.body.task_id}`),
  },
  {
    name: 'the revocation by its agent',
    reason: 'client_revoked',
    prepare: ({ agent }, issued) => {
      const form = agent.revokeForm(String(issued.body.refresh_token));
      return (at) => at.post('/oauth2/revoke', form);
    },
  },
];

function byOperator(method: string, path: string, body?: unknown): SendTo {
  return (at) => at.admin(method, path, body);
}

function byPerson({ provider }: Replicas, { subject, key }: Target, method: string, path: string): SendTo {
  const auth_time = Math.floor(Date.now() / 1000);
  const token = provider.mintAccessToken({ sub: subject, [PERSON_CLAIM]: key, aud: ME_AUDIENCE, auth_time });
  return (at) => at.send(method, path, { authorization: `Bearer ${token}` });
}

/** @param whom the `sub`, the `sid` or both */
function logout({ provider }: Replicas, whom: Readonly<Record<string, string>>): SendTo {
  const logout_token = provider.signLogoutToken(whom);
  return (at) => at.post('/backchannel-logout', { logout_token });
}

function event({ transmitter }: Replicas, name: string, id: string): SendTo {
  const token = transmitter.sign({
    sub_id: { format: 'opaque', id },
    events: { [`https://schemas.openid.net/secevent/${name}`]: {} },
  });
  return (at) => at.send('POST', '/events', PUSH_HEADERS, token);
}

/** Creates an active user for the person. Resolves with the user's id. */
export async function provisioned({ at }: Replicas, { key }: Pick<Target, 'key'>): Promise<string> {
  const user = { userName: `${randomUUID()}@example.org`, externalId: key, active: true };
  const answer = await at(0).scim('POST', '/Users', { schemas: [USER_SCHEMA], ...user });
  if (answer.status !== 201) throw new Error(`a create was answered ${answer.status}: ${answer.text}`);
  return String(answer.body.id);
}
