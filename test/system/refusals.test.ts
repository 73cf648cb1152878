/** Every denial reason of the token, introspection and revocation endpoints: the response and the ledger record. */

import { expect } from 'chai';
import { denialReasons } from '../../domain/denial.ts';
import { type AgentKey, makeAgentKey } from '../support/agents/agent-key.ts';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, type Form, type Mandate, type RegisteredAgent, startMandate, WIKI } from '../support/mandate.ts';

interface Setting {
  readonly mandate: Mandate;
  readonly agent: RegisteredAgent;
  readonly stranger: AgentKey;
}

type Act = (setting: Setting) => Promise<Answer>;

interface Case {
  readonly reason: string;
  readonly when: string;
  readonly act: Act;
  /** The sponsor in the record. `null` means an agent and no sponsor, and an absent value means neither. */
  readonly sponsor?: string | null;
}

/** Each refusal has its own record. ledger-seal.test.ts tests aggregation. */
const EACH_RECORDED = { 'Service:Audit:Aggregation:Enabled': 'false' };

/** The status and the reasons of each OAuth error. */
const ERRORS: Readonly<Record<string, readonly [status: number, reasons: RegExp]>> = {
  invalid_request: [400, /^invalid_request$/],
  unsupported_grant_type: [400, /^unsupported_grant_type$/],
  unsupported_token_type: [400, /^unsupported_token_type$/],
  temporarily_unavailable: [503, /^(actor|subject)_keys_unavailable$/],
  invalid_client: [401, /^actor_(?!keys_unavailable)/],
  invalid_grant: [400, /^(subject_(?!keys_unavailable).*|sponsor_key_missing|grant_not_found|grant_revoked)$/],
  invalid_scope: [400, /^scope_/],
  invalid_target: [400, /^audience_/],
  access_denied: [400, /^(agent_disabled|task_\w+|sponsor_disabled|sponsor_not_found|delegation_depth_exceeded)$/],
};

function responseTo(reason: string): readonly [status: number, error: string] {
  const [entry, ...others] = Object.entries(ERRORS).filter(([, [, reasons]]) => reasons.test(reason));
  if (entry === undefined || others.length > 0) throw new Error(`no single response to ${reason}`);
  return [entry[1][0], entry[0]];
}

const ADA = 'ada';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const seconds = () => Math.floor(Date.now() / 1000);
const subject = ({ mandate }: Setting, claims: Readonly<Record<string, unknown>>, header = {}) =>
  mandate.provider.mintAccessToken(claims, header);

function denied(reason: string, when: string, act: Act, sponsor?: string | null): Case {
  return sponsor === undefined ? { reason, when, act } : { reason, when, act, sponsor };
}

/** An exchange with these parameters instead of the defaults. */
function exchangeCase(reason: string, when: string, form: Form, sponsor?: string): Case {
  return denied(reason, when, ({ agent }) => agent.exchange(form), sponsor);
}

/** An exchange with this assertion. */
function assertionCase(
  reason: string,
  when: string,
  assertion: (setting: Setting) => string | undefined,
  sponsor?: null,
): Case {
  return denied(reason, when, (setting) => setting.agent.exchange({ actor_token: assertion(setting) }), sponsor);
}

/** An exchange with a client_assertion and a valid actor_token. */
function clientAssertionCase(
  reason: string,
  what: string,
  clientAssertion: (setting: Setting, form: Form) => string | undefined | Promise<string>,
  sponsor: string | null = null,
): Case {
  const act = async (setting: Setting) => {
    const form = setting.agent.exchangeForm({ client_assertion_type: JWT_BEARER });
    return setting.agent.exchange({ ...form, client_assertion: await clientAssertion(setting, form) });
  };
  return denied(reason, `the client_assertion beside an actor_token is ${what}`, act, sponsor);
}

/** An exchange with this subject token. */
function subjectCase(
  reason: string,
  when: string,
  token: (setting: Setting) => string,
  sponsor: string | null = null,
): Case {
  return denied(reason, when, (setting) => setting.agent.exchange({ subject_token: token(setting) }), sponsor);
}

/** A refresh of a new task, after `prepare`. */
function refreshCase(reason: string, when: string, prepare: Act | undefined, form: Form, sponsor: string | null): Case {
  const act = async (setting: Setting) => {
    const grant = await setting.agent.grant();
    if (prepare !== undefined) expect((await prepare(setting)).status).to.equal(200);
    return setting.agent.refresh(grant, form);
  };
  return denied(reason, when, act, sponsor);
}

const patched =
  (changes: Readonly<Record<string, unknown>>): Act =>
  ({ mandate, agent }) =>
    mandate.admin('PATCH', `/admin/agents/${agent.id}`, changes);

/** A time in the past, in the format of each engine. */
const LONG_AGO = { sqlite: '1', postgres: "timestamptz '2020-01-01'" } as const;

const cases: readonly Case[] = [
  exchangeCase('invalid_request', 'grant_type is missing', { grant_type: undefined }),
  exchangeCase('invalid_request', 'subject_token is missing', { subject_token: undefined }),
  exchangeCase('invalid_request', 'subject_token is empty', { subject_token: '' }),
  exchangeCase('invalid_request', 'subject_token is over 16 KiB', { subject_token: 'x'.repeat(16 * 1024 + 1) }),
  exchangeCase('invalid_request', 'actor_token is over 8 KiB', { actor_token: 'x'.repeat(8 * 1024 + 1) }),
  exchangeCase('invalid_request', 'subject_token_type is missing', { subject_token_type: undefined }),
  exchangeCase('invalid_request', 'subject_token_type is not supported', {
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
  }),
  exchangeCase('invalid_request', 'actor_token_type is missing', { actor_token_type: undefined }),
  exchangeCase('invalid_request', 'requested_token_type is not supported', { requested_token_type: 'urn:x' }),
  exchangeCase('invalid_request', 'resource is missing', { resource: undefined }),
  exchangeCase('invalid_request', 'resource has a control character', { resource: 'https://jira.example/\u0000' }),
  exchangeCase('invalid_request', 'resource has 2049 characters', { resource: `https://${'x'.repeat(2041)}` }),
  exchangeCase('invalid_request', 'scope is missing', { scope: undefined }),
  exchangeCase('invalid_request', 'scope is blank', { scope: '  ' }),
  exchangeCase('invalid_request', 'scope has a quote', { scope: 'jira:read "x"' }),
  exchangeCase('invalid_request', 'scope is over 8192 characters', { scope: 'x'.repeat(8193) }),
  exchangeCase('unsupported_grant_type', 'grant_type is not supported', { grant_type: 'password' }),
  exchangeCase('invalid_request', 'client_assertion_type is missing beside an actor_token', { client_assertion: 'x' }),
  exchangeCase('invalid_request', 'client_assertion is over 8 KiB beside an actor_token', {
    client_assertion_type: JWT_BEARER,
    client_assertion: 'x'.repeat(8 * 1024 + 1),
  }),
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

  assertionCase('actor_malformed', 'actor_token is missing', () => undefined),
  assertionCase('actor_malformed', 'the assertion is not a JWS', () => 'not.a-jws'),
  assertionCase('actor_malformed', 'the assertion has the typ of an access token', ({ agent }) =>
    agent.assertion({}, { typ: 'at+jwt' }),
  ),
  assertionCase('actor_malformed', 'the assertion has a critical extension', ({ agent }) =>
    agent.assertion({}, { crit: ['exp'] }),
  ),
  assertionCase(
    'actor_malformed',
    'the instance of a valid assertion is not a string',
    ({ agent }) => agent.assertion({ instance: 7 }),
    null,
  ),
  assertionCase('actor_malformed', "the assertion's exp is not an integer", ({ agent }) =>
    agent.assertion({ exp: seconds() + 9.5 }),
  ),
  assertionCase('actor_malformed', "the assertion's nbf is null", ({ agent }) => agent.assertion({ nbf: null })),
  assertionCase('actor_malformed', "the assertion's kid is null", ({ agent }) => agent.assertion({}, { kid: null })),
  assertionCase('actor_malformed', 'the assertion has padding', ({ agent }) => `${agent.assertion()}=`),
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
  assertionCase('actor_unknown_agent', 'the id is not a possible agent_id', ({ stranger, mandate }) =>
    stranger.signAssertion('__proto__', { aud: mandate.issuer }),
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
    'actor_wrong_audience',
    'the assertion has a second audience',
    ({ agent, mandate }) => agent.assertion({ aud: [mandate.issuer, 'https://x.example'] }),
    null,
  ),
  assertionCase(
    'actor_missing_jti',
    "the assertion's jti has 257 characters",
    ({ agent }) => agent.assertion({ jti: 'x'.repeat(257) }),
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
  clientAssertionCase('actor_malformed', 'a task token', async ({ agent }) =>
    String((await agent.exchange()).body.access_token),
  ),
  clientAssertionCase('actor_unsupported_algorithm', 'an assertion with alg none', ({ agent }) =>
    agent.assertion({}, { alg: 'none' }),
  ),
  clientAssertionCase('actor_client_id_mismatch', 'a valid assertion of another agent', async ({ mandate }) =>
    (await mandate.agent()).assertion(),
  ),
  clientAssertionCase('actor_client_id_mismatch', 'an assertion of an unknown agent', ({ stranger, mandate }) =>
    stranger.signAssertion('nobody', { aud: mandate.issuer }),
  ),
  clientAssertionCase('actor_invalid_signature', 'signed with another key', ({ agent, stranger, mandate }) =>
    stranger.signAssertion(agent.id, { aud: mandate.issuer }, { kid: agent.key.kid }),
  ),
  clientAssertionCase('actor_wrong_audience', 'an assertion for another audience', ({ agent }) =>
    agent.assertion({ aud: 'https://x.example' }),
  ),
  clientAssertionCase('actor_expired', 'expired', ({ agent }) =>
    agent.assertion({ iat: seconds() - 200, exp: seconds() - 100 }),
  ),
  clientAssertionCase('actor_missing_jti', 'an assertion without jti', ({ agent }) =>
    agent.assertion({ jti: undefined }),
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

  subjectCase('subject_malformed', 'the subject token is not a JWS', () => 'opaque-token'),
  subjectCase('subject_malformed', 'the subject token repeats a member', ({ mandate }) =>
    mandate.provider.signingKey().sign({ alg: 'RS256' }, '{"sub":"ada","sub":"grace"}'),
  ),
  subjectCase('subject_malformed', 'the signed claims are not UTF-8', ({ mandate }) => {
    const key = mandate.provider.signingKey();
    const usual = mandate.provider.mintAccessToken({ sub: 'ad_' }).split('.')[1] ?? '';
    const claims = Buffer.from(usual, 'base64url');
    claims[claims.indexOf('"ad_"') + 3] = 0xff;
    return key.sign({ alg: 'RS256', kid: key.kid, typ: 'at+jwt' }, claims);
  }),
  subjectCase('subject_malformed', 'the subject token is a logout token', (s) => subject(s, {}, { typ: 'logout+jwt' })),
  subjectCase('subject_malformed', 'the subject token is an ID token with the audience of subject tokens', (s) =>
    subject(s, { aud: ['portal', s.mandate.provider.audience], azp: 'portal', at_hash: 'hash' }, { typ: 'JWT' }),
  ),
  subjectCase('subject_malformed', 'the sid is not a string', (s) => subject(s, { sid: 7 }), 'ada'),
  subjectCase('subject_unsupported_algorithm', 'the subject token has alg HS256', ({ mandate }) => {
    const [, payload, signature] = mandate.provider.mintAccessToken().split('.');
    return `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${payload}.${signature}`;
  }),
  subjectCase('subject_unknown_key', "the subject token's kid is not published", (s) =>
    subject(s, {}, { kid: 'another' }),
  ),
  subjectCase('subject_key_mismatch', "the subject token's alg does not match its key", ({ mandate }) => {
    const key = mandate.provider.signingKey();
    return key.sign({ alg: 'ES256', kid: key.kid }, { sub: 'ada' });
  }),
  subjectCase('subject_invalid_signature', 'another key signed the subject token', ({ mandate, stranger }) =>
    stranger.sign({ alg: 'RS256', kid: mandate.provider.signingKey().kid }, { sub: 'ada' }),
  ),
  subjectCase('subject_untrusted_issuer', 'the subject token has another issuer', (s) =>
    subject(s, { iss: 'https://idp.example' }),
  ),
  subjectCase('subject_missing_expiry', 'the subject token has no exp', (s) => subject(s, { exp: undefined })),
  subjectCase('subject_expired', 'the subject token has expired', (s) => subject(s, { exp: seconds() - 61 })),
  subjectCase('subject_not_yet_valid', "the subject token's nbf is in the future", (s) =>
    subject(s, { nbf: seconds() + 100 }),
  ),
  subjectCase('subject_audience_mismatch', 'the subject token has another audience', (s) =>
    subject(s, { aud: 'https://x.example' }),
  ),
  subjectCase('subject_missing_subject', 'the subject token has no sub', (s) => subject(s, { sub: undefined })),
  subjectCase('subject_sub_malformed', 'the sub has a NUL', (s) => subject(s, { sub: 'a\u0000' })),
  subjectCase('subject_sub_malformed', 'the sub has 258 UTF-16 code units', (s) =>
    subject(s, { sub: '👋'.repeat(129) }),
  ),
  subjectCase('subject_malformed', "the subject token's exp is not an integer", (s) =>
    subject(s, { exp: seconds() + 9.5 }),
  ),
  subjectCase('sponsor_key_missing', 'the sub is a dot', (s) => subject(s, { sub: '.' }), '.'),
  subjectCase('sponsor_key_missing', 'the sub is two dots', (s) => subject(s, { sub: '..' }), '..'),
  subjectCase('subject_is_agent', 'the sub is an agent', (s) => subject(s, { sub: 'AGENT:x' })),
  subjectCase('subject_not_a_person', 'the sub is the client, as with client credentials', (s) =>
    subject(s, { sub: 'svc', client_id: 'svc', azp: 'svc' }),
  ),
  subjectCase('subject_not_a_person', 'the provider says that the grant had no user', (s) =>
    subject(s, { sub: 'svc', gty: 'client-credentials' }),
  ),
  subjectCase(
    'subject_already_delegated',
    'the subject token has act',
    (s) => subject(s, { act: { sub: 'x' } }),
    'ada',
  ),
  subjectCase(
    'sponsor_key_missing',
    'the sub is not a valid sponsor key',
    (s) => subject(s, { sub: 'ada l' }),
    'ada l',
  ),
  denied(
    'subject_unknown_key',
    'the subject token is a task token',
    async ({ agent }) => agent.exchange({ subject_token: String((await agent.exchange()).body.access_token) }),
    null,
  ),
  denied(
    'subject_keys_unavailable',
    'the identity provider was never reached',
    async ({ mandate }) => {
      const cut = await mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const answer = await (await cut.agent()).exchange();
      await cut.stop();
      return answer;
    },
    null,
  ),
  denied(
    'subject_keys_unavailable',
    'the identity provider is away when a token names a kid that is not known yet',
    async ({ mandate }) => {
      const other = await mandate.another({});
      const agent = await other.agent();
      const token = mandate.provider.mintAccessToken({}, { kid: 'next-year' });
      await mandate.provider.goDown();
      const answer = await agent.exchange({ subject_token: token });
      await mandate.provider.comeBack();
      await other.stop();
      return answer;
    },
    null,
  ),

  exchangeCase('scope_intersection_empty', 'the person does not hold the scope', { scope: 'jira:admin' }, ADA),
  subjectCase(
    'scope_intersection_empty',
    'the subject token has no scope',
    (setting) => subject(setting, { scope: undefined }),
    ADA,
  ),
  exchangeCase(
    'audience_not_allowed',
    'resource has 2048 characters and scope 8192',
    { resource: `https://${'x'.repeat(2040)}`, scope: `jira:read ${'x'.repeat(8182)}` },
    ADA,
  ),
  exchangeCase(
    'audience_not_allowed',
    'the registration lacks the resource',
    { resource: 'https://other.example' },
    ADA,
  ),

  denied('grant_not_found', 'the grant was never issued', ({ agent }) => agent.refresh('task_grant_of-nobody'), null),
  denied(
    'grant_not_found',
    'the grant is another agent’s',
    async ({ mandate, agent }) => agent.refresh(await (await mandate.agent()).grant()),
    null,
  ),
  denied(
    'task_revoked',
    'the task was revoked',
    async ({ agent }) => {
      const grant = await agent.grant();
      expect((await agent.revoke(grant)).status).to.equal(200);
      return agent.refresh(grant);
    },
    ADA,
  ),
  ...(
    [
      ['task_expired', 'the task has expired', 20 * 60],
      ['task_ending', 'the task has less than five seconds left', 20 * 60 - 4],
    ] as const
  ).map(([reason, when, later]) =>
    denied(
      reason,
      when,
      async ({ mandate, agent }) => {
        mandate.clock.standStill();
        const grant = await agent.grant();
        mandate.clock.advance(later);
        return agent.refresh(grant);
      },
      ADA,
    ),
  ),
  refreshCase('audience_mismatch', 'a refresh names another resource', undefined, { resource: WIKI }, ADA),
  refreshCase(
    'scope_widened',
    'a refresh requests a scope that the grant does not hold',
    undefined,
    { scope: 'jira:read jira:admin' },
    ADA,
  ),
  denied(
    'scope_widened',
    'a refresh requests a scope that an earlier refresh gave up',
    async ({ agent }) => {
      const grant = await agent.grant();
      expect((await agent.refresh(grant, { scope: 'jira:read' })).body.scope).to.equal('jira:read');
      return agent.refresh(grant, { scope: 'jira:read jira:comment' });
    },
    ADA,
  ),
  refreshCase(
    'scope_intersection_empty',
    'the registration has lost the scopes at a refresh',
    patched({ allowed_scopes: ['calendar:read'] }),
    {},
    ADA,
  ),
  refreshCase(
    'audience_not_allowed',
    'the registration has lost the resource at a refresh',
    patched({ allowed_audiences: [WIKI] }),
    {},
    ADA,
  ),
  ...(['disabled', 'deleted'] as const).flatMap((kind) =>
    [
      ['the person is', {}],
      [
        'scope and resource are not allowed, and the person is',
        { scope: 'nobody:has', resource: 'https://other.example' },
      ],
    ].map(([what, form], nth): Case => {
      const sub = `${kind}-${nth}`;
      const act: Act = async ({ mandate, agent }) => {
        await mandate.block(sub, kind);
        return agent.exchangeFor({ sub }, form as Form);
      };
      return denied(
        `sponsor_${kind === 'disabled' ? 'disabled' : 'not_found'}`,
        `${what} blocked as ${kind}`,
        act,
        sub,
      );
    }),
  ),
  denied(
    'delegation_depth_exceeded',
    'a stored registration allows no delegation',
    async ({ mandate, agent }) => {
      await mandate.sql(`update agents set max_delegation_depth = 0 where agent_id = '${agent.id}'`);
      return agent.exchange();
    },
    ADA,
  ),
  denied(
    'grant_revoked',
    'the grant was revoked without its task',
    async ({ mandate, agent }) => {
      const grant = await agent.grant();
      const tasks = `(select task_id from tasks where agent_id = '${agent.id}')`;
      await mandate.sql(`update task_grants set revoked_at = ${LONG_AGO[mandate.engine]} where task_id in ${tasks}`);
      return agent.refresh(grant);
    },
    ADA,
  ),
  denied(
    'task_revoked',
    'a block of the person has ended the task',
    async ({ mandate, agent }) => {
      const issued = await agent.exchangeFor({ sub: 'blocked-meanwhile' });
      await mandate.block('blocked-meanwhile', 'disabled');
      return agent.refresh(String(issued.body.refresh_token));
    },
    'blocked-meanwhile',
  ),
];

/** Reasons that tests of other files cover. */
const ELSEWHERE = [
  'sponsor_status_unavailable', // test/system/sponsor-check.test.ts
  'revocation_not_owner', // test/system/revocation.test.ts
  'rate_limited', // test/system/rate-limits.test.ts
  'subject_logged_out', // test/system/logged-out.test.ts
  'subject_bound_to_key', // test/system/bound-tokens.test.ts
  'overloaded', // test/system/overload.test.ts
];

describe('The tests of all denial reasons', () => {
  it('cover every denial reason', () => {
    const covered = new Set([...cases.map((one) => one.reason), ...ELSEWHERE]);
    expect(denialReasons.filter((reason) => !covered.has(reason))).to.deep.equal([]);
  });
});

for (const database of databasesByLength) {
  describe(`The OAuth endpoints on ${database.name}`, () => {
    let mandate: Mandate;
    let stranger: AgentKey;
    before(async () => {
      mandate = await startMandate({ database, settings: EACH_RECORDED });
      stranger = await makeAgentKey();
    });
    after(() => mandate.stop());

    for (const { reason, when, act, sponsor } of cases) {
      it(`refuse and record ${reason} if ${when}`, async () => {
        const agent = await mandate.agent();
        let answer: Answer | undefined;
        const lines = await mandate.recorded(async () => {
          answer = await act({ mandate, agent, stranger });
        });
        const [status, error] = responseTo(reason);
        expect(answer?.status, answer?.text).to.equal(status);
        expect(answer?.body.error).to.equal(error);
        expect(answer?.body.error_description).to.be.a('string').that.matches(/\.$/);
        if (error === 'access_denied') expect(answer?.body.reason).to.equal(reason);
        else expect(answer?.body).to.have.all.keys('error', 'error_description');
        expect(answer?.headers.get('cache-control')).to.equal('no-store');
        expect(answer?.headers.get('pragma')).to.equal('no-cache');
        expect(answer?.headers.get('www-authenticate')).to.equal(null);

        const record = lines.at(-1);
        expect(record).to.include({ event: 'token.denied', decision: 'deny', reason, jti: null });
        if (sponsor === undefined) {
          expect(record).to.include({ agent_id: null, sponsor: null, task_id: null, audience: null, scope: null });
        } else {
          expect(record?.agent_id).to.be.a('string');
          expect(record?.sponsor).to.equal(sponsor);
        }
        expect(lines.filter((line) => line.reason === reason)).to.have.lengthOf(1);
      });
    }

    it('record the requested audience and scope once the agent is authenticated', async () => {
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

    it('answer agent_disabled only to a valid assertion, and mark that assertion as used', async () => {
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
  });
}
