/** The refusals of malformed requests and of an agent's assertions. */

import { expect } from 'chai';
import {
  ADA,
  assertionCase,
  type Case,
  clientAssertionCase,
  denied,
  exchangeCase,
  patched,
  refreshCase,
  seconds,
} from './case.ts';

export const casesOfAgents: readonly Case[] = [
  exchangeCase('invalid_request', 'grant_type is missing', { grant_type: undefined }),
  exchangeCase('invalid_request', 'subject_token_type is not supported', {
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
  }),
  exchangeCase('unsupported_grant_type', 'grant_type is not supported', { grant_type: 'password' }),
  denied('invalid_request', 'refresh_token is missing in a refresh', ({ agent }) => agent.refresh('', {})),
  denied('invalid_request', 'client_assertion_type is not supported in a refresh', ({ agent }) =>
    agent.refresh('task_grant_x', { client_assertion_type: 'urn:x' }),
  ),
  denied('invalid_request', 'token is missing in an introspection', ({ mandate }) =>
    mandate.post('/oauth2/introspect', { token_type_hint: 'access_token' }),
  ),
  denied('invalid_request', 'token is missing in a revocation', ({ agent }) => agent.revoke('')),
  denied('unsupported_token_type', 'token_type_hint of a revocation is not supported', ({ agent }) =>
    agent.revoke('x', { token_type_hint: 'id_token' }),
  ),
  assertionCase('actor_malformed', 'the assertion is not a JWS', () => 'not.a-jws'),
  assertionCase(
    'actor_malformed',
    'the instance of a valid assertion is not a string',
    ({ agent }) => agent.assertion({ instance: 7 }),
    null,
  ),
  assertionCase('actor_malformed', 'the assertion repeats a member', ({ agent }) =>
    agent.key.sign({ alg: 'ES256', kid: agent.key.kid }, `{"iss":"${agent.id}","sub":"${agent.id}","sub":"x"}`),
  ),
  assertionCase('actor_unsupported_algorithm', 'the assertion has alg none', ({ agent }) =>
    agent.assertion({}, { alg: 'none' }),
  ),
  assertionCase('actor_issuer_subject_mismatch', 'iss and sub of the assertion differ', ({ agent }) =>
    agent.assertion({ sub: 'other' }),
  ),
  denied('actor_client_id_mismatch', 'client_id is another agent', ({ agent }) =>
    agent.exchange({ client_id: 'other' }),
  ),
  assertionCase('actor_unknown_agent', 'no agent has the id', ({ stranger, mandate }) =>
    stranger.signAssertion('nobody', { aud: mandate.issuer }),
  ),
  assertionCase('actor_unknown_key', "the assertion's kid is not registered", ({ agent, stranger, mandate }) =>
    stranger.signAssertion(agent.id, { aud: mandate.issuer }),
  ),
  assertionCase('actor_key_mismatch', 'the key has another algorithm than the assertion', ({ agent }) =>
    agent.assertion({}, { alg: 'RS256' }),
  ),
  assertionCase('actor_invalid_signature', 'another key signed the assertion', ({ agent, stranger, mandate }) =>
    stranger.signAssertion(agent.id, { aud: mandate.issuer }, { kid: agent.key.kid }),
  ),
  assertionCase(
    'actor_wrong_audience',
    'the assertion has another audience',
    ({ agent }) => agent.assertion({ aud: 'https://x.example' }),
    null,
  ),
  assertionCase(
    'actor_missing_expiry',
    'the assertion has no exp',
    ({ agent }) => agent.assertion({ exp: undefined }),
    null,
  ),
  assertionCase(
    'actor_expired',
    'the assertion has expired',
    ({ agent }) => agent.assertion({ iat: seconds() - 200, exp: seconds() - 100 }),
    null,
  ),
  assertionCase(
    'actor_lifetime_too_long',
    "the assertion's lifetime is over five minutes",
    ({ agent }) => {
      const now = seconds();
      return agent.assertion({ exp: now + 301, iat: now });
    },
    null,
  ),
  assertionCase(
    'actor_not_yet_valid',
    "the assertion's nbf is in the future",
    ({ agent }) => agent.assertion({ nbf: seconds() + 100 }),
    null,
  ),
  assertionCase(
    'actor_missing_jti',
    'the assertion has no jti',
    ({ agent }) => agent.assertion({ jti: undefined }),
    null,
  ),
  assertionCase(
    'actor_instance_too_long',
    "the assertion's instance has 129 characters",
    ({ agent }) => agent.assertion({ instance: 'x'.repeat(129) }),
    null,
  ),
  clientAssertionCase('actor_malformed', 'not a JWS', () => 'x'),
  clientAssertionCase('actor_client_id_mismatch', 'a valid assertion of another agent', async ({ mandate }) =>
    (await mandate.agent()).assertion(),
  ),
  clientAssertionCase('actor_replayed', 'the actor_token', (_setting, form) => form.actor_token),
  clientAssertionCase(
    'actor_replayed',
    'an assertion that was used before',
    async ({ agent }) => {
      const used = agent.assertion();
      expect((await agent.exchange({ actor_token: used })).status).to.equal(200);
      return used;
    },
    ADA,
  ),
  ...[
    ['an earlier exchange', 'jira:read'],
    ['an earlier exchange that was refused', 'nobody:has'],
  ].map(([use, scope]) =>
    denied(
      'actor_replayed',
      `the assertion was used by ${use}`,
      async ({ agent }) => {
        const actor_token = agent.assertion();
        await agent.exchange({ actor_token, scope });
        return agent.exchange({ actor_token, scope });
      },
      ADA,
    ),
  ),
  denied(
    'actor_replayed',
    'a revocation uses the assertion of a refresh',
    async ({ agent }) => {
      const grant = await agent.grant();
      const { client_assertion } = agent.refreshForm(grant);
      await agent.refresh(grant, { client_assertion });
      return agent.revoke(grant, { client_assertion });
    },
    null,
  ),
  denied('actor_no_registered_keys', 'the key set at jwks_uri has no usable key', async ({ mandate, stranger }) => {
    const jwks_uri = await mandate.keyServer.serve({ keys: [{ kty: 'oct', k: 'AAAA' }] });
    const agent = await mandate.agent({ jwks: undefined, jwks_uri });
    return agent.exchange({ actor_token: stranger.signAssertion(agent.id, { aud: mandate.issuer }) });
  }),
  denied('actor_keys_unavailable', 'the key set at jwks_uri cannot be fetched', async ({ mandate }) =>
    (await mandate.agent({ jwks: undefined, jwks_uri: await mandate.keyServer.unusedUri() })).exchange(),
  ),
  denied(
    'agent_disabled',
    'the agent is disabled at an exchange',
    async (setting) => {
      await patched({ enabled: false })(setting);
      return setting.agent.exchange();
    },
    null,
  ),
  refreshCase('agent_disabled', 'the agent is disabled at a refresh', patched({ enabled: false }), {}, null),
  denied(
    'actor_invalid_signature',
    'the signature is invalid and the agent disabled: only a valid assertion learns that',
    async (setting) => {
      const { mandate, agent, stranger } = setting;
      await patched({ enabled: false })(setting);
      const actor_token = stranger.signAssertion(agent.id, { aud: mandate.issuer }, { kid: agent.key.kid });
      return agent.exchange({ actor_token });
    },
  ),
];
