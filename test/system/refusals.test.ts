/** Every reason of the token, introspection and revocation endpoints, produced by a real request and read back. */

import { expect } from 'chai';
import { denialReasons } from '../../domain/denial.ts';
import { type AgentKey, makeAgentKey } from '../support/agents/agent-key.ts';
import { databases } from '../support/databases.ts';
import { type Answer, type Form, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

interface Setting {
  readonly mandate: Mandate;
  readonly agent: RegisteredAgent;
  readonly stranger: AgentKey;
}

interface Case {
  readonly reason: string;
  readonly when: string;
  readonly act: (setting: Setting) => Promise<Answer>;
  readonly status: number;
  readonly error: string;
  /** Whom the record names; nobody unless said. */
  readonly names?: { readonly agent: true; readonly sponsor?: string };
}

/** Here the record of each one is looked at; how many at once are counted is test/system/ledger-seal.test.ts. */
const EACH_RECORDED = { 'Service:Audit:Aggregation:Enabled': 'false' };

const named = { names: { agent: true } } as const;

const seconds = () => Math.floor(Date.now() / 1000);
const subject = ({ mandate }: Setting, claims: Readonly<Record<string, unknown>>, header = {}) =>
  mandate.provider.mintAccessToken(claims, header);

/** An exchange whose assertion differs. */
function assertionCase(
  reason: string,
  when: string,
  assertion: (setting: Setting) => string | undefined,
  more: Partial<Case> = {},
): Case {
  const act = (setting: Setting) => setting.agent.exchange({ actor_token: assertion(setting) });
  return { reason, when, act, status: 401, error: 'invalid_client', ...more };
}

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** An exchange with a client_assertion beside its actor_token, which is good and names the agent in the record. */
function besideCase(
  reason: string,
  when: string,
  clientAssertion: (setting: Setting, form: Form) => string | undefined | Promise<string>,
  more: Partial<Case> = {},
): Case {
  const act = async (setting: Setting) => {
    const form = setting.agent.exchangeForm({ client_assertion_type: JWT_BEARER });
    return setting.agent.exchange({ ...form, client_assertion: await clientAssertion(setting, form) });
  };
  return {
    reason,
    when: `beside the actor_token ${when}`,
    act,
    status: 401,
    error: 'invalid_client',
    ...named,
    ...more,
  };
}

/** An exchange whose subject token differs. */
function subjectCase(reason: string, when: string, token: (setting: Setting) => string, sponsor?: string): Case {
  return {
    reason,
    when,
    act: (setting) => setting.agent.exchange({ subject_token: token(setting) }),
    status: 400,
    error: 'invalid_grant',
    names: sponsor === undefined ? { agent: true } : { agent: true, sponsor },
  };
}

function exchangeCase(reason: string, when: string, form: Form, error = 'invalid_request'): Case {
  return { reason, when, act: ({ agent }) => agent.exchange(form), status: 400, error };
}

async function grantOf(agent: RegisteredAgent): Promise<string> {
  const answer = await agent.exchange();
  expect(answer.status, answer.text).to.equal(200);
  return String(answer.body.refresh_token);
}

/** An instant, as each engine stores one. */
const LONG_AGO = { sqlite: '1', postgres: "timestamptz '2020-01-01'" } as const;

const cases: readonly Case[] = [
  exchangeCase('invalid_request', 'grant_type is missing', { grant_type: undefined }),
  exchangeCase('invalid_request', 'subject_token is missing', { subject_token: undefined }),
  exchangeCase('invalid_request', 'subject_token is empty', { subject_token: '' }),
  exchangeCase('invalid_request', 'subject_token is over 16 KiB', { subject_token: 'x'.repeat(16 * 1024 + 1) }),
  exchangeCase('invalid_request', 'actor_token is over 8 KiB', { actor_token: 'x'.repeat(8 * 1024 + 1) }),
  exchangeCase('invalid_request', 'subject_token_type is missing', { subject_token_type: undefined }),
  exchangeCase('invalid_request', 'subject_token_type is another', {
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
  }),
  exchangeCase('invalid_request', 'actor_token_type is missing', { actor_token_type: undefined }),
  exchangeCase('invalid_request', 'requested_token_type is another', { requested_token_type: 'urn:x' }),
  exchangeCase('invalid_request', 'resource is missing', { resource: undefined }),
  exchangeCase('invalid_request', 'resource holds a control character', { resource: 'https://jira.example/\u0000' }),
  exchangeCase('invalid_request', 'resource has 2049 characters', { resource: `https://${'x'.repeat(2041)}` }),
  exchangeCase('invalid_request', 'scope is missing', { scope: undefined }),
  exchangeCase('invalid_request', 'scope is blank', { scope: '  ' }),
  exchangeCase('invalid_request', 'scope holds a quote', { scope: 'jira:read "x"' }),
  exchangeCase('invalid_request', 'scope is over 8192 characters', { scope: 'x'.repeat(8193) }),
  exchangeCase(
    'unsupported_grant_type',
    'the grant type is another',
    { grant_type: 'password' },
    'unsupported_grant_type',
  ),
  {
    reason: 'invalid_request',
    when: 'refresh_token is missing on a refresh',
    act: ({ agent }) => agent.refresh('', {}),
    status: 400,
    error: 'invalid_request',
  },
  {
    reason: 'invalid_request',
    when: 'client_assertion_type is another on a refresh',
    act: ({ agent }) => agent.refresh('task_grant_x', { client_assertion_type: 'urn:x' }),
    status: 400,
    error: 'invalid_request',
  },
  {
    reason: 'invalid_request',
    when: 'token is missing on introspection',
    act: ({ mandate }) => mandate.post('/oauth2/introspect', { token_type_hint: 'access_token' }),
    status: 400,
    error: 'invalid_request',
  },
  {
    reason: 'invalid_request',
    when: 'token is missing on revocation',
    act: ({ agent }) => agent.revoke(''),
    status: 400,
    error: 'invalid_request',
  },
  {
    reason: 'unsupported_token_type',
    when: 'the hint of a revocation is another',
    act: ({ agent }) => agent.revoke('x', { token_type_hint: 'id_token' }),
    status: 400,
    error: 'unsupported_token_type',
  },

  assertionCase('actor_malformed', 'no assertion is sent', () => undefined),
  assertionCase('actor_malformed', 'the assertion is no JWS', () => 'not.a-jws'),
  assertionCase('actor_malformed', 'the assertion is typed as an access token', ({ agent }) =>
    agent.assertion({}, { typ: 'at+jwt' }),
  ),
  assertionCase('actor_malformed', 'the assertion has an extension to understand', ({ agent }) =>
    agent.assertion({}, { crit: ['exp'] }),
  ),
  assertionCase(
    'actor_malformed',
    'the instance of a verified assertion is no text',
    ({ agent }) => agent.assertion({ instance: 7 }),
    named,
  ),
  assertionCase('actor_malformed', 'its exp is no whole number', ({ agent }) =>
    agent.assertion({ exp: seconds() + 9.5 }),
  ),
  assertionCase('actor_malformed', 'it is padded', ({ agent }) => `${agent.assertion()}=`),
  assertionCase('actor_malformed', 'a member stands twice', ({ agent }) =>
    agent.key.sign({ alg: 'ES256', kid: agent.key.kid }, `{"iss":"${agent.id}","sub":"${agent.id}","sub":"x"}`),
  ),
  assertionCase('actor_unsupported_algorithm', 'the assertion says none', ({ agent }) =>
    agent.assertion({}, { alg: 'none' }),
  ),
  assertionCase('actor_issuer_subject_mismatch', 'iss and sub differ', ({ agent }) =>
    agent.assertion({ sub: 'other' }),
  ),
  {
    ...assertionCase('actor_client_id_mismatch', 'client_id is another', () => undefined),
    act: ({ agent }) => agent.exchange({ client_id: 'other' }),
  },
  assertionCase('actor_unknown_agent', 'nobody has that id', ({ stranger, mandate }) =>
    stranger.signAssertion('nobody', { aud: mandate.issuer }),
  ),
  assertionCase('actor_unknown_agent', 'the id could be nobody’s', ({ stranger, mandate }) =>
    stranger.signAssertion('__proto__', { aud: mandate.issuer }),
  ),
  assertionCase('actor_unknown_key', 'the kid is not registered', ({ agent, stranger, mandate }) =>
    stranger.signAssertion(agent.id, { aud: mandate.issuer }),
  ),
  assertionCase('actor_key_mismatch', 'the key is of another algorithm', ({ agent }) =>
    agent.assertion({}, { alg: 'RS256' }),
  ),
  assertionCase('actor_invalid_signature', 'another key signed', ({ agent, stranger, mandate }) =>
    stranger.signAssertion(agent.id, { aud: mandate.issuer }, { kid: agent.key.kid }),
  ),
  assertionCase(
    'actor_wrong_audience',
    'it is for another',
    ({ agent }) => agent.assertion({ aud: 'https://x.example' }),
    named,
  ),
  assertionCase(
    'actor_wrong_audience',
    'it is for us and for another',
    ({ agent, mandate }) => agent.assertion({ aud: [mandate.issuer, 'https://x.example'] }),
    named,
  ),
  assertionCase(
    'actor_missing_jti',
    'its jti has 257 characters',
    ({ agent }) => agent.assertion({ jti: 'x'.repeat(257) }),
    named,
  ),
  assertionCase('actor_missing_expiry', 'it has no exp', ({ agent }) => agent.assertion({ exp: undefined }), named),
  assertionCase(
    'actor_expired',
    'it is past',
    ({ agent }) => agent.assertion({ iat: seconds() - 200, exp: seconds() - 100 }),
    named,
  ),
  assertionCase(
    'actor_lifetime_too_long',
    'it lives over five minutes',
    ({ agent }) => {
      const now = seconds();
      return agent.assertion({ exp: now + 301, iat: now });
    },
    named,
  ),
  assertionCase(
    'actor_not_yet_valid',
    'it begins later',
    ({ agent }) => agent.assertion({ nbf: seconds() + 100 }),
    named,
  ),
  assertionCase('actor_missing_jti', 'it has no jti', ({ agent }) => agent.assertion({ jti: undefined }), named),
  assertionCase(
    'actor_instance_too_long',
    'its instance has 129 characters',
    ({ agent }) => agent.assertion({ instance: 'x'.repeat(129) }),
    named,
  ),
  besideCase('actor_malformed', 'stands no JWS', () => 'x'),
  besideCase('actor_malformed', 'stands a task token', async ({ agent }) =>
    String((await agent.exchange()).body.access_token),
  ),
  besideCase('actor_unsupported_algorithm', 'stands an assertion that says none', ({ agent }) =>
    agent.assertion({}, { alg: 'none' }),
  ),
  besideCase('actor_client_id_mismatch', 'stands another agent’s good assertion', async ({ mandate }) =>
    (await mandate.agent()).assertion(),
  ),
  besideCase('actor_client_id_mismatch', 'stands an assertion of nobody', ({ stranger, mandate }) =>
    stranger.signAssertion('nobody', { aud: mandate.issuer }),
  ),
  besideCase('actor_invalid_signature', 'stands an assertion that another key signed', ({ agent, stranger, mandate }) =>
    stranger.signAssertion(agent.id, { aud: mandate.issuer }, { kid: agent.key.kid }),
  ),
  besideCase('actor_wrong_audience', 'stands an assertion for another', ({ agent }) =>
    agent.assertion({ aud: 'https://x.example' }),
  ),
  besideCase('actor_expired', 'stands an assertion that is past', ({ agent }) =>
    agent.assertion({ iat: seconds() - 200, exp: seconds() - 100 }),
  ),
  besideCase('actor_missing_jti', 'stands an assertion without a jti', ({ agent }) =>
    agent.assertion({ jti: undefined }),
  ),
  besideCase('actor_replayed', 'stands the same assertion', (_setting, form) => form.actor_token),
  besideCase(
    'actor_replayed',
    'stands an assertion that was used before',
    async ({ agent }) => {
      const used = agent.assertion();
      expect((await agent.exchange({ actor_token: used })).status).to.equal(200);
      return used;
    },
    { names: { agent: true, sponsor: 'ada' } },
  ),
  exchangeCase('invalid_request', 'client_assertion stands alone', {
    actor_token: undefined,
    actor_token_type: undefined,
    client_assertion_type: JWT_BEARER,
    client_assertion: 'x',
  }),
  exchangeCase('invalid_request', 'client_assertion_type is missing beside an actor_token', { client_assertion: 'x' }),
  exchangeCase('invalid_request', 'client_assertion is over 8 KiB beside an actor_token', {
    client_assertion_type: JWT_BEARER,
    client_assertion: 'x'.repeat(8 * 1024 + 1),
  }),
  {
    reason: 'actor_replayed',
    when: 'the assertion was used by an exchange before',
    act: async ({ agent }) => {
      const form = agent.exchangeForm();
      await agent.exchange(form);
      return agent.exchange({ actor_token: form.actor_token });
    },
    status: 401,
    error: 'invalid_client',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'actor_replayed',
    when: 'the assertion was used by a refused exchange before',
    act: async ({ agent }) => {
      const form = agent.exchangeForm({ scope: 'nobody:has' });
      await agent.exchange(form);
      return agent.exchange({ actor_token: form.actor_token, scope: 'nobody:has' });
    },
    status: 401,
    error: 'invalid_client',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'actor_replayed',
    when: 'the assertion of a refresh is used for a revocation',
    act: async ({ agent }) => {
      const grant = await grantOf(agent);
      const form = agent.refreshForm(grant);
      await agent.refresh(grant, form);
      return agent.revoke(grant, { client_assertion: form.client_assertion });
    },
    status: 401,
    error: 'invalid_client',
    ...named,
  },
  {
    reason: 'actor_no_registered_keys',
    when: 'the key set at jwks_uri holds no usable key',
    act: async ({ mandate, stranger }) => {
      const uri = await mandate.keyServer.serve({ keys: [{ kty: 'oct', k: 'AAAA' }] });
      const agent = await mandate.agent({ jwks: undefined, jwks_uri: uri });
      return agent.exchange({ actor_token: stranger.signAssertion(agent.id, { aud: mandate.issuer }) });
    },
    status: 401,
    error: 'invalid_client',
  },
  {
    reason: 'actor_keys_unavailable',
    when: 'the key set at jwks_uri cannot be fetched',
    act: async ({ mandate }) => {
      const agent = await mandate.agent({ jwks: undefined, jwks_uri: await mandate.keyServer.nothingAt() });
      return agent.exchange();
    },
    status: 503,
    error: 'temporarily_unavailable',
  },
  {
    reason: 'agent_disabled',
    when: 'the agent is disabled at an exchange',
    act: async ({ mandate, agent }) => {
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      return agent.exchange();
    },
    status: 400,
    error: 'access_denied',
    ...named,
  },
  {
    reason: 'agent_disabled',
    when: 'the agent is disabled at a refresh',
    act: async ({ mandate, agent }) => {
      const grant = await grantOf(agent);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      return agent.refresh(grant);
    },
    status: 400,
    error: 'access_denied',
    ...named,
  },
  {
    reason: 'actor_invalid_signature',
    when: 'the agent is disabled but the signature is not its own: disabled agents look like any other',
    act: async ({ mandate, agent, stranger }) => {
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      return agent.exchange({
        actor_token: stranger.signAssertion(agent.id, { aud: mandate.issuer }, { kid: agent.key.kid }),
      });
    },
    status: 401,
    error: 'invalid_client',
  },

  subjectCase('subject_malformed', 'it is no JWS', () => 'opaque-token'),
  subjectCase('subject_malformed', 'a member stands twice', ({ mandate }) =>
    mandate.provider.signingKey().sign({ alg: 'RS256' }, '{"sub":"ada","sub":"grace"}'),
  ),
  subjectCase('subject_malformed', 'its claims are not UTF-8, though the provider signed them', ({ mandate }) => {
    const key = mandate.provider.signingKey();
    const usual = mandate.provider.mintAccessToken({ sub: 'ad_' }).split('.')[1] ?? '';
    const claims = Buffer.from(usual, 'base64url');
    claims[claims.indexOf('"ad_"') + 3] = 0xff;
    return key.sign({ alg: 'RS256', kid: key.kid, typ: 'at+jwt' }, claims);
  }),
  subjectCase('subject_malformed', 'it is a logout token', (s) => subject(s, {}, { typ: 'logout+jwt' })),
  subjectCase('subject_malformed', 'its session could not be named', (s) => subject(s, { sid: 7 }), 'ada'),
  subjectCase('subject_unsupported_algorithm', 'it is signed with HS256', ({ mandate }) => {
    const [, payload, signature] = mandate.provider.mintAccessToken().split('.');
    return `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${payload}.${signature}`;
  }),
  subjectCase('subject_unknown_key', 'its kid is not published', (s) => subject(s, {}, { kid: 'another' })),
  subjectCase('subject_key_mismatch', 'its alg does not fit the key', ({ mandate }) => {
    const key = mandate.provider.signingKey();
    return key.sign({ alg: 'ES256', kid: key.kid }, { sub: 'ada' });
  }),
  subjectCase('subject_invalid_signature', 'another key signed', ({ mandate, stranger }) =>
    stranger.sign({ alg: 'RS256', kid: mandate.provider.signingKey().kid }, { sub: 'ada' }),
  ),
  subjectCase('subject_untrusted_issuer', 'it names another issuer', (s) => subject(s, { iss: 'https://idp.example' })),
  subjectCase('subject_missing_expiry', 'it has no exp', (s) => subject(s, { exp: undefined })),
  subjectCase('subject_expired', 'it is past', (s) => subject(s, { exp: seconds() - 61 })),
  subjectCase('subject_not_yet_valid', 'it begins later', (s) => subject(s, { nbf: seconds() + 100 })),
  subjectCase('subject_audience_mismatch', 'it is for another', (s) => subject(s, { aud: 'https://x.example' })),
  subjectCase('subject_missing_subject', 'it has no sub', (s) => subject(s, { sub: undefined })),
  subjectCase('subject_sub_malformed', 'its sub holds a NUL', (s) => subject(s, { sub: 'a\u0000' })),
  subjectCase('subject_sub_malformed', 'its sub has 258 UTF-16 code units', (s) =>
    subject(s, { sub: '👋'.repeat(129) }),
  ),
  subjectCase('subject_malformed', 'its exp is no whole number', (s) => subject(s, { exp: seconds() + 9.5 })),
  subjectCase('sponsor_key_missing', 'its sub is a dot', (s) => subject(s, { sub: '.' }), '.'),
  subjectCase('sponsor_key_missing', 'its sub is two dots', (s) => subject(s, { sub: '..' }), '..'),
  subjectCase('subject_is_agent', 'it names an agent', (s) => subject(s, { sub: 'AGENT:x' })),
  subjectCase('subject_already_delegated', 'it carries act', (s) => subject(s, { act: { sub: 'x' } }), 'ada'),
  subjectCase('sponsor_key_missing', 'its sub is no sponsor key', (s) => subject(s, { sub: 'ada l' }), 'ada l'),
  {
    ...subjectCase('subject_unknown_key', 'it is a task token', () => ''),
    act: async ({ agent }) => {
      const issued = await agent.exchange();
      return agent.exchange({ subject_token: String(issued.body.access_token) });
    },
  },
  {
    reason: 'subject_keys_unavailable',
    when: 'the identity provider was never reached',
    act: async ({ mandate }) => {
      const cut = await mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const agent = await cut.agent();
      const answer = await agent.exchange();
      await cut.stop();
      return answer;
    },
    status: 503,
    error: 'temporarily_unavailable',
    ...named,
  },

  {
    reason: 'scope_intersection_empty',
    when: 'the person does not hold the scope',
    act: ({ agent }) => agent.exchange({ scope: 'jira:admin' }),
    status: 400,
    error: 'invalid_scope',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'scope_intersection_empty',
    when: 'the person’s token has no scopes at all',
    act: (s) => s.agent.exchange({ subject_token: subject(s, { scope: undefined }) }),
    status: 400,
    error: 'invalid_scope',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'audience_not_allowed',
    when: 'the resource has 2048 characters, and the scope 8192',
    act: ({ agent }) =>
      agent.exchange({ resource: `https://${'x'.repeat(2040)}`, scope: `jira:read ${'x'.repeat(8182)}` }),
    status: 400,
    error: 'invalid_target',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'audience_not_allowed',
    when: 'the resource is not in the registration',
    act: ({ agent }) => agent.exchange({ resource: 'https://other.example' }),
    status: 400,
    error: 'invalid_target',
    names: { agent: true, sponsor: 'ada' },
  },

  {
    reason: 'task_ending',
    when: 'a whole task of the agent is shorter than five seconds',
    act: async ({ mandate }) => {
      const brief = await mandate.another({
        'Service:Agents:MinTaskTtl': 'PT1S',
        'Service:Agents:MinTokenTtl': 'PT1S',
      });
      const agent = await brief.agent({ max_task_ttl: 'PT4S', max_token_ttl: 'PT4S' });
      const answer = await agent.exchange();
      await brief.stop();
      return answer;
    },
    status: 400,
    error: 'access_denied',
    names: { agent: true, sponsor: 'ada' },
  },

  {
    reason: 'grant_not_found',
    when: 'nobody was given the grant',
    act: ({ agent }) => agent.refresh('task_grant_of-nobody'),
    status: 400,
    error: 'invalid_grant',
    ...named,
  },
  {
    reason: 'grant_not_found',
    when: 'the grant is another agent’s',
    act: async ({ mandate, agent }) => agent.refresh(await grantOf(await mandate.agent())),
    status: 400,
    error: 'invalid_grant',
    ...named,
  },
  {
    reason: 'task_revoked',
    when: 'the task was revoked',
    act: async ({ agent }) => {
      const grant = await grantOf(agent);
      expect((await agent.revoke(grant)).status).to.equal(200);
      return agent.refresh(grant);
    },
    status: 400,
    error: 'access_denied',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'task_expired',
    when: 'the task has run out',
    act: async ({ mandate, agent }) => {
      const grant = await grantOf(agent);
      mandate.clock.advance(20 * 60);
      return agent.refresh(grant);
    },
    status: 400,
    error: 'access_denied',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'task_ending',
    when: 'less than five seconds of the task are left',
    act: async ({ mandate, agent }) => {
      mandate.clock.standStill();
      const grant = await grantOf(agent);
      mandate.clock.advance(20 * 60 - 4);
      return agent.refresh(grant);
    },
    status: 400,
    error: 'access_denied',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'audience_mismatch',
    when: 'a refresh names another resource',
    act: async ({ agent }) => agent.refresh(await grantOf(agent), { resource: 'https://wiki.example' }),
    status: 400,
    error: 'invalid_target',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'scope_widened',
    when: 'a refresh asks for more than the task holds',
    act: async ({ agent }) => agent.refresh(await grantOf(agent), { scope: 'jira:read jira:admin' }),
    status: 400,
    error: 'invalid_scope',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'scope_widened',
    when: 'a refresh asks for what an earlier one gave up',
    act: async ({ agent }) => {
      const grant = await grantOf(agent);
      expect((await agent.refresh(grant, { scope: 'jira:read' })).body.scope).to.equal('jira:read');
      return agent.refresh(grant, { scope: 'jira:read jira:comment' });
    },
    status: 400,
    error: 'invalid_scope',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'scope_intersection_empty',
    when: 'a refresh asks for what the registration has lost',
    act: async ({ mandate, agent }) => {
      const grant = await grantOf(agent);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { allowed_scopes: ['calendar:read'] });
      return agent.refresh(grant);
    },
    status: 400,
    error: 'invalid_scope',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'audience_not_allowed',
    when: 'a refresh is at a resource that the registration has lost',
    act: async ({ mandate, agent }) => {
      const grant = await grantOf(agent);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { allowed_audiences: ['https://wiki.example'] });
      return agent.refresh(grant);
    },
    status: 400,
    error: 'invalid_target',
    names: { agent: true, sponsor: 'ada' },
  },
  ...(['disabled', 'deleted'] as const).flatMap((kind): Case[] => [
    {
      reason: kind === 'disabled' ? 'sponsor_disabled' : 'sponsor_not_found',
      when: `the person is on the list of blocks as ${kind}`,
      act: async (s) => {
        await s.mandate.block(`${kind}-before`, kind);
        return s.agent.exchange({ subject_token: subject(s, { sub: `${kind}-before` }) });
      },
      status: 400,
      error: 'access_denied',
      names: { agent: true, sponsor: `${kind}-before` },
    },
    {
      reason: kind === 'disabled' ? 'sponsor_disabled' : 'sponsor_not_found',
      when: `the person is blocked as ${kind}, whatever else is wrong with what is asked for`,
      act: async (s) => {
        await s.mandate.block(`${kind}-and-more`, kind);
        return s.agent.exchange({
          subject_token: subject(s, { sub: `${kind}-and-more` }),
          scope: 'nobody:has',
          resource: 'https://other.example',
        });
      },
      status: 400,
      error: 'access_denied',
      names: { agent: true, sponsor: `${kind}-and-more` },
    },
  ]),
  {
    reason: 'delegation_depth_exceeded',
    when: 'a registration of old allows no delegation at all',
    act: async ({ mandate, agent }) => {
      await mandate.sql(`update agents set max_delegation_depth = 0 where agent_id = '${agent.id}'`);
      return agent.exchange();
    },
    status: 400,
    error: 'access_denied',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'grant_revoked',
    when: 'the grant was revoked without its task',
    act: async ({ mandate, agent }) => {
      const issued = await agent.exchange();
      const tasks = `(select task_id from tasks where agent_id = '${agent.id}')`;
      await mandate.sql(`update task_grants set revoked_at = ${LONG_AGO[mandate.engine]} where task_id in ${tasks}`);
      return agent.refresh(String(issued.body.refresh_token));
    },
    status: 400,
    error: 'invalid_grant',
    names: { agent: true, sponsor: 'ada' },
  },
  {
    reason: 'task_revoked',
    when: 'the person was blocked meanwhile, which ended the task',
    act: async (s) => {
      const issued = await s.agent.exchange({ subject_token: subject(s, { sub: 'blocked-meanwhile' }) });
      await s.mandate.block('blocked-meanwhile', 'disabled');
      return s.agent.refresh(String(issued.body.refresh_token));
    },
    status: 400,
    error: 'access_denied',
    names: { agent: true, sponsor: 'blocked-meanwhile' },
  },
];

/** Reasons that suites of their own produce. */
const ELSEWHERE = [
  'sponsor_status_unavailable', // test/system/sponsor-check.test.ts
  'revocation_not_owner', // test/system/revocation.test.ts
  'rate_limited', // test/system/rate-limits.test.ts
  'subject_logged_out', // test/system/logged-out.test.ts
  'overloaded', // test/system/overload.test.ts
];

describe('the cases of this suite', () => {
  it('cover every reason in the catalogue', () => {
    const covered = new Set([...cases.map((one) => one.reason), ...ELSEWHERE]);
    expect(denialReasons.filter((reason) => !covered.has(reason))).to.deep.equal([]);
  });
});

for (const database of databases) {
  describe(`refusals, recorded before they are answered, on ${database.name}`, () => {
    let mandate: Mandate;
    let stranger: AgentKey;
    before(async () => {
      mandate = await startMandate({ database, settings: EACH_RECORDED });
      stranger = await makeAgentKey();
    });
    after(() => mandate.stop());

    for (const one of cases) {
      it(`${one.reason}: ${one.when}`, async () => {
        const agent = await mandate.agent();
        let answer: Answer | undefined;
        const lines = await mandate.recorded(async () => {
          answer = await one.act({ mandate, agent, stranger });
        });
        expect(answer?.status, answer?.text).to.equal(one.status);
        expect(answer?.body.error).to.equal(one.error);
        expect(answer?.body.error_description).to.be.a('string').that.matches(/\.$/);
        if (one.error === 'access_denied') expect(answer?.body.reason).to.equal(one.reason);
        else expect(answer?.body).to.have.all.keys('error', 'error_description');
        expect(answer?.headers.get('cache-control')).to.equal('no-store');
        expect(answer?.headers.get('pragma')).to.equal('no-cache');
        expect(answer?.headers.get('www-authenticate')).to.equal(null);

        const record = lines.at(-1);
        expect(record).to.include({ event: 'token.denied', decision: 'deny', reason: one.reason, jti: null });
        if (one.names === undefined) {
          expect(record).to.include({ agent_id: null, sponsor: null, task_id: null, audience: null, scope: null });
        } else {
          expect(record?.agent_id).to.be.a('string');
          expect(record?.sponsor).to.equal(one.names.sponsor ?? null);
        }
        expect(lines.filter((line) => line.reason === one.reason)).to.have.lengthOf(1);
      });
    }

    it('names what was asked for once the agent is known', async () => {
      const agent = await mandate.agent();
      const lines = await mandate.recorded(() =>
        agent.exchange({ resource: 'https://other.example', scope: 'jira:read' }),
      );
      expect(lines.at(-1)).to.deep.include({
        agent_id: agent.id,
        sponsor: 'ada',
        audience: 'https://other.example',
        scope: 'jira:read',
        task_id: null,
        delegation_depth: null,
        checkpoint: null,
      });
    });

    it('tells that an agent is disabled only by an assertion that is good here and now, and uses that up', async () => {
      const agent = await mandate.agent();
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      for (const [reason, claims] of [
        ['actor_expired', { iat: seconds() - 900, exp: seconds() - 600 }],
        ['actor_wrong_audience', { aud: 'https://other.example' }],
      ] as const) {
        const lines = await mandate.recorded(async () => {
          const answer = await agent.exchange({ actor_token: agent.assertion(claims) });
          expect(answer.body.error).to.equal('invalid_client');
        });
        expect(lines.at(-1)).to.include({ reason, agent_id: agent.id });
      }
      const form = agent.exchangeForm();
      expect((await mandate.post('/oauth2/token', form)).body.reason).to.equal('agent_disabled');
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: true });
      const lines = await mandate.recorded(async () => {
        expect((await mandate.post('/oauth2/token', form)).status).to.equal(401);
      });
      expect(lines.at(-1)).to.include({ reason: 'actor_replayed', agent_id: agent.id });
    });

    it('leaves the assertion unused when the answer was only "not now"', async () => {
      const cut = await mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const agent = await cut.agent();
      const form = agent.exchangeForm({ resource: JIRA });
      for (let time = 0; time < 2; time += 1) {
        expect((await agent.exchange(form)).body.error).to.equal('temporarily_unavailable');
      }
      await cut.stop();
    });
  });
}
