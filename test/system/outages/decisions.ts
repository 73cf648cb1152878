/** Every kind of request that asks the database, as data: what has to be there first, and what is then asked. */

import { randomUUID } from 'node:crypto';
import type { Answer, Mandate, RegisteredAgent } from '../../support/mandate.ts';
import { patch, SCIM_TOKEN, USER_SCHEMA } from '../../support/scim-client.ts';
import { PUSH_CREDENTIAL, type Transmitter } from '../../support/transmitter.ts';

export interface Scene {
  readonly mandate: Mandate;
  readonly transmitter: Transmitter;
  /** An agent that nothing happens to. */
  readonly agent: RegisteredAgent;
}

/** Sends the same request again with whatever may be used once made anew. */
export type Ask = () => Promise<Answer>;

export interface Decision {
  readonly name: string;
  /** Answers it as it should be when nothing fails. */
  readonly status: number;
  /** Events and reasons of the records it leaves, in their order. */
  readonly records: readonly string[];
  /** Where the shape of its 503 has no member `error` saying so. */
  readonly surface?: 'scim' | 'events';
  readonly about: (scene: Scene) => Promise<Ask>;
}

const KILLED = 'operator_kill_switch';

export const decisions: readonly Decision[] = [
  {
    name: 'an exchange',
    status: 200,
    records: ['token.issued'],
    about: async (scene) => exchangeFor(scene, aPerson()),
  },
  {
    name: 'an exchange that is refused',
    status: 400,
    records: ['token.denied audience_not_allowed'],
    about: async (scene) => exchangeFor(scene, aPerson(), { resource: 'https://nobody.example' }),
  },
  {
    name: 'the first renewal',
    status: 200,
    records: ['token.refreshed'],
    about: async (scene) => renewalOf(scene, await issued(scene)),
  },
  {
    name: 'a later renewal',
    status: 200,
    records: [],
    about: async (scene) => {
      const renew = renewalOf(scene, await issued(scene));
      await renew();
      return renew;
    },
  },
  {
    name: 'a renewal that is refused',
    status: 400,
    records: ['token.denied scope_widened'],
    about: async (scene) => renewalOf(scene, await issued(scene), { scope: 'jira:admin' }),
  },
  {
    name: 'the revocation of a token',
    status: 200,
    records: ['token.revoked client_revoked'],
    about: async (scene) => revocationOf(scene, String((await issued(scene)).body.access_token)),
  },
  {
    name: 'the revocation of a grant',
    status: 200,
    records: ['task.revoked client_revoked'],
    about: async (scene) => revocationOf(scene, String((await issued(scene)).body.refresh_token)),
  },
  {
    name: 'an introspection',
    status: 200,
    records: [],
    about: async (scene) => {
      const token = String((await issued(scene)).body.access_token);
      return () => scene.mandate.post('/oauth2/introspect', { token });
    },
  },
  {
    name: 'a registration',
    status: 201,
    records: ['agent.registered'],
    about: async ({ mandate, agent }) => {
      const id = `agent-${randomUUID()}`;
      return () => mandate.admin('POST', '/admin/agents', registration(id, agent));
    },
  },
  {
    name: 'a change of a registration',
    status: 200,
    records: ['agent.updated changed:display_name'],
    about: async ({ mandate, agent }) => {
      const changes = { display_name: `Triage ${randomUUID()}` };
      return () => mandate.admin('PATCH', `/admin/agents/${agent.id}`, changes);
    },
  },
  {
    name: 'the removal of an agent',
    status: 204,
    records: ['agent.deleted'],
    about: async ({ mandate }) => {
      const { id } = await mandate.agent();
      return () => mandate.admin('DELETE', `/admin/agents/${id}`);
    },
  },
  {
    name: 'the kill switch of a task',
    status: 200,
    records: [`task.revoked ${KILLED}`],
    about: async (scene) => {
      const { task_id: id } = (await issued(scene)).body;
      return () => scene.mandate.admin('DELETE', `/admin/tasks/${id}`);
    },
  },
  {
    name: 'the kill switch of a person',
    status: 200,
    records: [`task.revoked ${KILLED}`],
    about: async (scene) => {
      const sub = await busyPerson(scene);
      return () => scene.mandate.admin('DELETE', `/admin/sponsors/${sub}/tasks`);
    },
  },
  {
    name: 'a block',
    status: 200,
    records: ['sponsor.blocked sponsor_blocked', 'task.revoked sponsor_blocked'],
    about: async (scene) => {
      const sub = await busyPerson(scene);
      return () => scene.mandate.admin('PUT', `/admin/sponsors/${sub}/block`);
    },
  },
  {
    name: 'the lifting of a block',
    status: 204,
    records: ['sponsor.unblocked operator_unblocked'],
    about: async ({ mandate }) => {
      const block = `/admin/sponsors/${aPerson()}/block`;
      await mandate.admin('PUT', block);
      return () => mandate.admin('DELETE', block);
    },
  },
  {
    name: 'a page of the ledger',
    status: 200,
    records: [],
    about:
      async ({ mandate }) =>
      () =>
        mandate.admin('GET', '/audit?limit=3'),
  },
  {
    name: 'a logout',
    status: 200,
    records: ['sponsor.signal sponsor_logged_out', 'task.revoked sponsor_logged_out'],
    about: async (scene) => logoutOf(scene, await busyPerson(scene)),
  },
  {
    name: 'a SCIM create',
    status: 201,
    records: ['sponsor.signal scim_deactivated'],
    surface: 'scim',
    about: async (scene) => {
      const user = aUser(aPerson(), false);
      return () => scim(scene, 'POST', '/Users', user);
    },
  },
  {
    name: 'a SCIM deactivation',
    status: 200,
    records: ['sponsor.signal scim_deactivated', 'task.revoked scim_deactivated'],
    surface: 'scim',
    about: async (scene) => {
      const sub = await busyPerson(scene);
      const { id } = (await scim(scene, 'POST', '/Users', aUser(sub, true))).body;
      return () => scim(scene, 'PATCH', `/Users/${id}`, patch({ active: false }));
    },
  },
  {
    name: 'a SCIM removal',
    status: 204,
    records: ['sponsor.signal scim_deleted', 'task.revoked scim_deleted'],
    surface: 'scim',
    about: async (scene) => {
      const sub = await busyPerson(scene);
      const { id } = (await scim(scene, 'POST', '/Users', aUser(sub, true))).body;
      return () => scim(scene, 'DELETE', `/Users/${id}`);
    },
  },
  {
    name: 'a security event',
    status: 202,
    records: ['sponsor.signal ssf_account_disabled', 'task.revoked ssf_account_disabled'],
    surface: 'events',
    about: async (scene) => securityEventAbout(scene, await busyPerson(scene)),
  },
];

const aPerson = () => `sub-${randomUUID()}`;

function exchangeFor({ mandate, agent }: Scene, sub: string, changes = {}): Ask {
  const exp = mandate.clock.seconds() + 3600;
  return () => agent.exchange({ subject_token: mandate.provider.mintAccessToken({ sub, exp }), ...changes });
}

async function issued(scene: Scene, sub = aPerson()): Promise<Answer> {
  const answer = await exchangeFor(scene, sub)();
  if (answer.status !== 200) throw new Error(`an exchange was answered ${answer.status}: ${answer.text}`);
  return answer;
}

/** A person with one task. */
async function busyPerson(scene: Scene): Promise<string> {
  const sub = aPerson();
  await issued(scene, sub);
  return sub;
}

function renewalOf({ agent }: Scene, { body }: Answer, changes = {}): Ask {
  return () => agent.refresh(String(body.refresh_token), changes);
}

function revocationOf({ agent }: Scene, token: string): Ask {
  return () => agent.revoke(token);
}

function registration(id: string, { key }: RegisteredAgent): object {
  return {
    agent_id: id,
    display_name: 'Made while a statement fails',
    sponsor_required: true,
    allowed_scopes: ['jira:read'],
    allowed_audiences: ['https://jira.example'],
    max_delegation_depth: 2,
    jwks: key.jwks,
  };
}

function logoutOf({ mandate: { provider, clock, post } }: Scene, sub: string): Ask {
  const key = provider.signingKey();
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const claims = { iss: provider.issuer, aud: provider.clientId, jti: randomUUID(), events, sub };
  return () =>
    post('/backchannel-logout', {
      logout_token: key.sign({ alg: key.alg, typ: 'logout+jwt', kid: key.kid }, { ...claims, iat: clock.seconds() }),
    });
}

function aUser(sub: string, active: boolean): object {
  return { schemas: [USER_SCHEMA], userName: `${sub}@example.org`, externalId: sub, active };
}

function scim({ mandate }: Scene, method: string, path: string, body?: unknown): Promise<Answer> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { authorization: `Bearer ${SCIM_TOKEN}`, 'content-type': 'application/scim+json' };
  return sent(`${mandate.url}/scim/v2${path}`, { method, headers, ...content });
}

function securityEventAbout({ mandate, transmitter }: Scene, id: string): Ask {
  const body = transmitter.sign({
    iat: mandate.clock.seconds(),
    sub_id: { format: 'opaque', id },
    events: { 'https://schemas.openid.net/secevent/risc/event-type/account-disabled': {} },
  });
  const headers = { authorization: `Bearer ${PUSH_CREDENTIAL}`, 'content-type': 'application/secevent+jwt' };
  return () => sent(`${mandate.url}/events`, { method: 'POST', headers, body });
}

async function sent(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const { status, headers } = response;
  const text = await response.text();
  const isJson = /json/.test(headers.get('content-type') ?? '');
  return { status, headers, text, body: isJson ? JSON.parse(text) : {} };
}
