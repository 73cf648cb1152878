/** Every request of the load, as it goes over the wire. */

import { randomUUID } from 'node:crypto';
import { patch, USER_SCHEMA } from '../../../test/support/replicas/endings.ts';
import { SCIM_TOKEN } from '../../../test/support/scim-client.ts';
import { PUSH_CREDENTIAL } from '../../../test/support/transmitter.ts';
import { AUDIENCE, type Cast, type LoadAgent, registrationOf, SCOPE } from './people-and-agents.ts';
import type { Asked } from './session.ts';

export interface Requests {
  exchange(agent: LoadAgent, sub: string, audience?: string): Asked;
  refresh(agent: LoadAgent, grant: string): Asked;
  introspect(token: string): Asked;
  revoke(agent: LoadAgent, token: string): Asked;
  killTask(task: string): Asked;
  killAgent(agent: string): Asked;
  block(sub: string): Asked;
  findBlock(sub: string): Asked;
  provision(sub: string): Asked;
  setActive(user: string, active: boolean): Asked;
  findUser(user: string): Asked;
  logOut(sub: string): Asked;
  disableByEvent(sub: string): Asked;
  register(agent: LoadAgent): Asked;
  disableAgent(agent: string): Asked;
  findAgent(agent: string): Asked;
  audit(cursor: string | undefined): Asked;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

export function requestsOf(cast: Pick<Cast, 'provider' | 'transmitter'>, issuer: string, adminKey: string): Requests {
  const assertion = ({ id, key }: LoadAgent) => key.signAssertion(id, { aud: issuer });
  const form = (path: string, fields: Readonly<Record<string, string>>): Asked => ({
    ...{ method: 'POST', path, headers: FORM },
    body: new URLSearchParams(fields).toString(),
  });
  const withBody = (body: object | undefined, type: string, authorization: string) => ({
    headers: { authorization, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const admin = (method: string, path: string, body?: object): Asked => ({
    ...{ method, path },
    ...withBody(body, 'application/json', `Bearer ${adminKey}`),
  });
  const scim = (method: string, path: string, body?: object): Asked => ({
    ...{ method, path: `/scim/v2${path}` },
    ...withBody(body, 'application/scim+json', `Bearer ${SCIM_TOKEN}`),
  });
  const authenticated = (agent: LoadAgent) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion(agent),
  });
  const now = () => Math.floor(Date.now() / 1000);
  return {
    exchange: (agent, sub, audience = AUDIENCE) =>
      form('/oauth2/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: cast.provider.mintAccessToken({ sub, sid: `session-of-${sub}`, scope: SCOPE }),
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        actor_token: assertion(agent),
        actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        resource: audience,
        scope: SCOPE,
      }),
    refresh: (agent, grant) =>
      form('/oauth2/token', {
        ...{ grant_type: 'refresh_token', refresh_token: grant, resource: AUDIENCE },
        ...authenticated(agent),
      }),
    introspect: (token) => form('/oauth2/introspect', { token }),
    revoke: (agent, token) => form('/oauth2/revoke', { token, ...authenticated(agent) }),
    killTask: (task) => admin('DELETE', `/admin/tasks/${task}`),
    killAgent: (agent) => admin('DELETE', `/admin/agents/${agent}/tasks`),
    block: (sub) => admin('PUT', `/admin/sponsors/${sub}/block`),
    findBlock: (sub) => admin('GET', `/admin/sponsors/${sub}`),
    provision: (sub) =>
      scim('POST', '/Users', {
        ...{ schemas: [USER_SCHEMA], userName: `${sub}@example.org`, externalId: sub, active: true },
      }),
    setActive: (user, active) => scim('PATCH', `/Users/${user}`, patch({ active })),
    findUser: (user) => scim('GET', `/Users/${user}`),
    logOut(sub) {
      const key = cast.provider.signingKey();
      const { issuer: iss, clientId: aud } = cast.provider;
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const claims = { iss, aud, sub, events, iat: now(), jti: randomUUID() };
      return form('/backchannel-logout', {
        logout_token: key.sign({ alg: key.alg, typ: 'logout+jwt', kid: key.kid }, claims),
      });
    },
    disableByEvent: (sub) => ({
      ...{ method: 'POST', path: '/events' },
      headers: { authorization: `Bearer ${PUSH_CREDENTIAL}`, 'content-type': 'application/secevent+jwt' },
      body: cast.transmitter.sign({
        sub_id: { format: 'opaque', id: sub },
        events: { 'https://schemas.openid.net/secevent/risc/event-type/account-disabled': {} },
      }),
    }),
    register: (agent) => admin('POST', '/admin/agents', registrationOf(agent)),
    disableAgent: (agent) => admin('PATCH', `/admin/agents/${agent}`, { enabled: false }),
    findAgent: (agent) => admin('GET', `/admin/agents/${agent}`),
    audit: (cursor) => admin('GET', `/audit?limit=1000${cursor === undefined ? '' : `&cursor=${cursor}`}`),
  };
}
