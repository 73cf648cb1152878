/** The agent's side: what it sends to the token, introspection and revocation endpoints, found by discovery. */

import { type AgentKey, makeAgentKey } from '../../test/support/agents/agent-key.ts';
import { type Answer, postForm, send, text } from './http.ts';

export interface Agent {
  readonly id: string;
  readonly key: AgentKey;
}

export interface Endpoints {
  readonly issuer: string;
  readonly token: string;
  readonly introspection: string;
  readonly revocation: string;
}

export type Form = Readonly<Record<string, string>>;

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

export async function makeAgent(id: string): Promise<Agent> {
  return { id, key: await makeAgentKey('ES256') };
}

export async function discover(issuer: string): Promise<Endpoints> {
  const metadata = await send(`${issuer}/.well-known/openid-configuration`);
  return {
    issuer: text(metadata, 'issuer'),
    token: text(metadata, 'token_endpoint'),
    introspection: text(metadata, 'introspection_endpoint'),
    revocation: text(metadata, 'revocation_endpoint'),
  };
}

/** RFC 8693 §2.1, with the agent's assertion as the actor token. */
export function exchangeForm(
  agent: Agent,
  endpoints: Endpoints,
  wish: { readonly subjectToken: string; readonly audience: string; readonly scope: string },
): Form {
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: wish.subjectToken,
    subject_token_type: ACCESS_TOKEN,
    actor_token: agent.key.signAssertion(agent.id, { aud: endpoints.issuer, instance: 'quickstart-laptop' }),
    actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    requested_token_type: ACCESS_TOKEN,
    resource: wish.audience,
    scope: wish.scope,
  };
}

export function refresh(
  agent: Agent,
  endpoints: Endpoints,
  wish: { readonly grant: string; readonly audience: string; readonly scope?: string },
): Promise<Answer> {
  return postForm(endpoints.token, {
    grant_type: 'refresh_token',
    refresh_token: wish.grant,
    resource: wish.audience,
    ...(wish.scope === undefined ? {} : { scope: wish.scope }),
    ...authentication(agent, endpoints),
  });
}

export function revoke(agent: Agent, endpoints: Endpoints, token: string): Promise<Answer> {
  return postForm(endpoints.revocation, { token, ...authentication(agent, endpoints) });
}

/** What a tool server does with a token it was handed. */
export function introspect(endpoints: Endpoints, token: string): Promise<Answer> {
  return postForm(endpoints.introspection, { token });
}

function authentication(agent: Agent, endpoints: Endpoints): Form {
  return {
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: agent.key.signAssertion(agent.id, { aud: endpoints.issuer }),
  };
}
