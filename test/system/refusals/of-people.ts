/** The refusals of subject tokens, people, scopes, audiences and task grants. */

import { expect } from 'chai';
import { type Form, WIKI, withService } from '../../support/mandate.ts';
import {
  type Act,
  ADA,
  type Case,
  denied,
  exchangeCase,
  LONG_AGO,
  refreshCase,
  seconds,
  subject,
  subjectCase,
} from './case.ts';

export const casesOfPeople: readonly Case[] = [
  subjectCase('subject_malformed', 'the subject token is not a JWS', () => 'opaque-token'),
  subjectCase('subject_malformed', 'the subject token repeats a member', ({ mandate }) =>
    mandate.provider.signingKey().sign({ alg: 'RS256' }, '{"sub":"ada","sub":"grace"}'),
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
  subjectCase('subject_is_agent', 'the sub is an agent', (s) => subject(s, { sub: 'AGENT:x' })),
  subjectCase('subject_not_a_person', 'the sub is the client, as with client credentials', (s) =>
    subject(s, { sub: 'svc', client_id: 'svc', azp: 'svc' }),
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
    ({ mandate }) =>
      withService(mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' }), async (cut) =>
        (await cut.agent()).exchange(),
      ),
    null,
  ),
  denied(
    'subject_keys_unavailable',
    'the identity provider is away when a token names a kid that is not known yet',
    ({ mandate }) =>
      withService(mandate.another({}), async (other) => {
        const agent = await other.agent();
        const token = mandate.provider.mintAccessToken({}, { kid: 'next-year' });
        await mandate.provider.goDown();
        const answer = await agent.exchange({ subject_token: token });
        await mandate.provider.comeBack();
        return answer;
      }),
    null,
  ),

  exchangeCase('scope_intersection_empty', 'the person does not hold the scope', { scope: 'jira:admin' }, ADA),
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
