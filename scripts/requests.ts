/** The requests that benchmarks and fault runs send to Mandate. */

import { randomUUID } from 'node:crypto';
import { type AgentKey, makeAgentKey } from '../test/support/agents/agent-key.ts';
import type { IdentityProvider } from '../test/support/identity-provider/identity-provider.ts';
import { patch, SCIM_TOKEN, USER_SCHEMA } from '../test/support/scim-client.ts';
import { type AskingServer, digestOf, jwksOf } from '../test/support/tool-server/approval-request.ts';
import { PUSH_CREDENTIAL, type Transmitter } from '../test/support/transmitter.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** An agent and its private key. */
export interface LoadAgent {
  readonly id: string;
  readonly key: AgentKey;
}

/** The tool server for which agents ask. */
export const AUDIENCE = 'https://jira.example/api';
const SCOPE = 'jira:read jira:comment';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

export async function makeLoadAgent(): Promise<LoadAgent> {
  return { id: `load-agent-${randomUUID()}`, key: await makeAgentKey('ES256') };
}

/** The access token of a person, signed by the identity provider. */
export function personToken(provider: IdentityProvider, sub: string): string {
  return provider.mintAccessToken({ sub, sid: `session-of-${sub}`, scope: SCOPE });
}

/** Requests of agents to the token endpoint and the revocation endpoint. */
export interface AgentRequests {
  /** An exchange with a new access token of this person. */
  exchange(agent: LoadAgent, sub: string, audience?: string): HttpRequest;
  /** An exchange with this access token of a person. */
  exchangeToken(agent: LoadAgent, subjectToken: string, audience?: string): HttpRequest;
  refresh(agent: LoadAgent, grant: string): HttpRequest;
  /** @param token an access token, or a grant, whose revocation ends its task */
  revoke(agent: LoadAgent, token: string): HttpRequest;
}

/** @param lifetime how long client assertions are valid, in seconds */
export function agentRequests(issuer: string, provider: IdentityProvider, lifetime = 60): AgentRequests {
  const assertion = ({ id, key }: LoadAgent) => key.signAssertion(id, { aud: issuer, exp: now() + lifetime });
  const authentication = (agent: LoadAgent) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion(agent),
  });
  const exchangeToken = (agent: LoadAgent, subjectToken: string, audience = AUDIENCE) =>
    form('/oauth2/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: ACCESS_TOKEN,
      actor_token: assertion(agent),
      actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      requested_token_type: ACCESS_TOKEN,
      resource: audience,
      scope: SCOPE,
    });
  return {
    exchange: (agent, sub, audience) => exchangeToken(agent, personToken(provider, sub), audience),
    exchangeToken,
    refresh: (agent, grant) =>
      form('/oauth2/token', {
        grant_type: 'refresh_token',
        refresh_token: grant,
        resource: AUDIENCE,
        ...authentication(agent),
      }),
    revoke: (agent, token) => form('/oauth2/revoke', { token, ...authentication(agent) }),
  };
}

export function introspection(token: string): HttpRequest {
  return form('/oauth2/introspect', { token });
}

const ME = 'https://mandate.example/me';

/** Settings of a service with approvals, for which this tool server asks. */
export const approvalSettings = (server: AskingServer): Readonly<Record<string, string>> => ({
  'Service:Me:Audience': ME,
  'Service:Me:ClientId': 'the-page',
  'Service:Approvals:Enabled': 'true',
  'Service:Approvals:Resources:0:Audience': server.audience,
  'Service:Approvals:Resources:0:Jwks': jwksOf(server),
});

/** Requests for approvals, of a tool server and of the people who answer. */
export interface ApprovalRequests {
  /** @param call what the agent wants to do. Its digest is that of this text */
  askForApproval(task: { readonly token: string; readonly task: string }, call: string): HttpRequest;
  /** Reads what waits for the person. */
  readWaiting(sub: string): HttpRequest;
  answerApproval(sub: string, approval: string, answer: PersonsAnswer): HttpRequest;
}

interface PersonsAnswer {
  readonly decision: 'approve' | 'refuse';
  readonly commitment: string;
}

export function approvalRequests(server: AskingServer, provider: IdentityProvider): ApprovalRequests {
  const send = (method: string, path: string, sub: string, body?: object) => {
    const token = provider.mintAccessToken({ sub, aud: ME, auth_time: now() });
    return withBearer(token, { method, path, body, type: 'application/json' });
  };
  return {
    askForApproval: ({ token, task }, call) =>
      form('/oauth2/approval', { token, request: server.request(task, { digest: digestOf(call) }) }),
    readWaiting: (sub) => send('GET', '/me/approvals', sub),
    answerApproval: (sub, approval, answer) => send('POST', `/me/approvals/${approval}`, sub, answer),
  };
}

/** Requests of operators and auditors. */
export interface OperatorRequests {
  killTask(task: string): HttpRequest;
  killAgent(agent: string): HttpRequest;
  block(sub: string): HttpRequest;
  findBlock(sub: string): HttpRequest;
  register(agent: LoadAgent): HttpRequest;
  disableAgent(agent: string): HttpRequest;
  findAgent(agent: string): HttpRequest;
  audit(cursor: string | undefined): HttpRequest;
}

export function operatorRequests(adminKey: string): OperatorRequests {
  const send = (method: string, path: string, body?: object) =>
    withBearer(adminKey, { method, path, body, type: 'application/json' });
  return {
    killTask: (task) => send('DELETE', `/admin/tasks/${task}`),
    killAgent: (agent) => send('DELETE', `/admin/agents/${agent}/tasks`),
    block: (sub) => send('PUT', `/admin/sponsors/${sub}/block`),
    findBlock: (sub) => send('GET', `/admin/sponsors/${sub}`),
    register: (agent) => send('POST', '/admin/agents', registration(agent)),
    disableAgent: (agent) => send('PATCH', `/admin/agents/${agent}`, { enabled: false }),
    findAgent: (agent) => send('GET', `/admin/agents/${agent}`),
    audit: (cursor) => send('GET', `/audit?limit=1000${cursor === undefined ? '' : `&cursor=${cursor}`}`),
  };
}

function registration({ id, key }: LoadAgent): object {
  return {
    agent_id: id,
    display_name: 'An agent of a load generator',
    sponsor_required: true,
    allowed_scopes: SCOPE.split(' '),
    allowed_audiences: [AUDIENCE],
    max_task_ttl: 'PT4H',
    max_token_ttl: 'PT1H',
    max_delegation_depth: 1,
    jwks: key.jwks,
  };
}

/** Requests of a provisioning client (SCIM, RFC 7644). */
export const scimRequests = {
  provision: (sub: string) => {
    const user = { schemas: [USER_SCHEMA], userName: `${sub}@example.org`, externalId: sub, active: true };
    return scim('POST', '/Users', user);
  },
  setActive: (user: string, active: boolean) => scim('PATCH', `/Users/${user}`, patch({ active })),
  findUser: (user: string) => scim('GET', `/Users/${user}`),
};

function scim(method: string, path: string, body?: object): HttpRequest {
  return withBearer(SCIM_TOKEN, { method, path: `/scim/v2${path}`, body, type: 'application/scim+json' });
}

/** Requests of the identity provider and of the Shared Signals transmitter. */
export interface SignalRequests {
  logOut(sub: string): HttpRequest;
  disableByEvent(sub: string): HttpRequest;
}

export function signalRequests(provider: IdentityProvider, transmitter: Transmitter): SignalRequests {
  return {
    logOut(sub) {
      const key = provider.signingKey();
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const claims = { iss: provider.issuer, aud: provider.clientId, sub, events, iat: now(), jti: randomUUID() };
      const token = key.sign({ alg: key.alg, typ: 'logout+jwt', kid: key.kid }, claims);
      return form('/backchannel-logout', { logout_token: token });
    },
    disableByEvent: (sub) => ({
      method: 'POST',
      path: '/events',
      headers: { authorization: `Bearer ${PUSH_CREDENTIAL}`, 'content-type': 'application/secevent+jwt' },
      body: transmitter.sign({
        sub_id: { format: 'opaque', id: sub },
        events: { 'https://schemas.openid.net/secevent/risc/event-type/account-disabled': {} },
      }),
    }),
  };
}

function form(path: string, fields: Readonly<Record<string, string>>): HttpRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return { method: 'POST', path, headers, body: new URLSearchParams(fields).toString() };
}

interface JsonRequest {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  /** The media type of the body. */
  readonly type: string;
}

function withBearer(token: string, { method, path, body, type }: JsonRequest): HttpRequest {
  const authorization = `Bearer ${token}`;
  if (body === undefined) return { method, path, headers: { authorization } };
  return { method, path, headers: { authorization, 'content-type': type }, body: JSON.stringify(body) };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}
