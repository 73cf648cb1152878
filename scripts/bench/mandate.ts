/**
 * Mandate as three contenders, exchange, refresh and introspection, on the database its settings name. Agents are
 * registered through the admin API; each exchange presents another subject token, so no work on one is saved for the
 * next; renewals and introspections go round a few hundred tasks opened beforehand.
 */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from '../../composition/settings/catalogue.ts';
import { type AgentKey, makeAgentKey } from '../../test/support/agents/agent-key.ts';
import type { IdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import { makeSigningKey } from '../../test/support/signing-key.ts';
import { type MandateProcess, startMandate } from '../mandate-process.ts';
import { ASSERTION_LIFETIME, type Contender } from './contender.ts';
import type { Target } from './load.ts';
import { post } from './post.ts';

export interface MandateUnderTest {
  readonly exchange: Contender;
  readonly refresh: Contender;
  readonly introspection: Contender;
  /** Requests that revoke a token each; beyond the number that was asked for, tokens that are revoked already. */
  readonly revocation: Contender;
  /** Requests that end a task each, by its grant. */
  readonly ending: Contender;
  readonly process: MandateProcess;
  /** Opens everything under `/admin` and `/audit`. */
  readonly adminKey: string;
}

const AUDIENCE = 'https://jira.example/api';
const SCOPE = 'jira:read jira:comment';
const AGENTS = 8;
/** So many that renewals under way at the same moment are always of different tasks. */
const TASKS = 256;
/** Each with tokens of their own, as in life, so that no one person's row is a bottleneck. */
const PEOPLE = 1000;

interface Agent {
  readonly id: string;
  readonly key: AgentKey;
}

interface OpenTask {
  readonly agent: Agent;
  readonly grant: string;
  readonly token: string;
}

/** @param database its settings, such as `Service__Database__Path` */
export async function startMandateUnderTest(
  name: string,
  database: Readonly<Record<string, string>>,
  provider: IdentityProvider,
  folder: string,
  taskCount = TASKS,
): Promise<MandateUnderTest> {
  const adminKey = randomBytes(32).toString('base64url');
  const signingKey = await makeSigningKey('ES256');
  const keyFile = join(folder, 'signing-key.pem');
  writeFileSync(keyFile, signingKey.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const process = await startMandate(
    {
      NODE_ENV: 'production',
      Service__UpstreamIdp__Issuer: provider.issuer,
      Service__UpstreamIdp__Audience: provider.audience,
      Service__UpstreamIdp__SponsorCheck__Mode: 'signals',
      Service__Signing__Keys__0__Path: keyFile,
      Service__Admin__ApiKey: adminKey,
      ...withoutAdmissionLimits(),
      ...database,
    },
    folder,
  );
  try {
    const agents = await registerAgents(process.issuer, adminKey);
    const requests = requestsTo(process.issuer, provider);
    const tasks = await openTasks(process.issuer, agents, requests.exchangeBody, taskCount);
    const target = requests.target;
    const contender = (what: string, expected: string, make: (index: number) => Buffer): Contender => {
      let made = 0;
      return {
        name: `${what}, ${name}`,
        target,
        pid: process.pid,
        expected,
        prepare: (count) => Array.from({ length: count }, () => make(made++)),
      };
    };
    return {
      process,
      adminKey,
      exchange: contender('exchange', '"access_token"', (index) =>
        post(target, '/oauth2/token', requests.exchangeBody(takeTurns(agents, index))),
      ),
      refresh: contender('refresh', '"access_token"', (index) =>
        post(target, '/oauth2/token', requests.refreshBody(takeTurns(tasks, index))),
      ),
      introspection: contender('introspection', '"active":true', (index) =>
        post(target, '/oauth2/introspect', `token=${takeTurns(tasks, index).token}`),
      ),
      revocation: contender('revocation', '', (index) =>
        post(target, '/oauth2/revoke', requests.revocationBody(takeTurns(tasks, index), 'token')),
      ),
      ending: contender('end', '', (index) =>
        post(target, '/oauth2/revoke', requests.revocationBody(takeTurns(tasks, index), 'grant')),
      ),
    };
  } catch (error) {
    await process.stop();
    throw error;
  }
}

/** All load comes from one address here, which is what a rate limit is for: it is switched off, where there is one. */
function withoutAdmissionLimits(): Record<string, string> {
  const known: Readonly<Record<string, unknown>> = catalogue;
  const keys = ['Service:RateLimit:Enabled', 'Service:Overload:Enabled'].filter((key) => key in known);
  return Object.fromEntries(keys.map((key) => [key.replaceAll(':', '__'), 'false']));
}

async function registerAgents(issuer: string, adminKey: string): Promise<readonly Agent[]> {
  const agents = await Promise.all(
    Array.from({ length: AGENTS }, async (_, index) => ({
      id: `bench-agent-${index}`,
      key: await makeAgentKey('ES256'),
    })),
  );
  for (const { id, key } of agents) {
    const answer = await fetch(`${issuer}/admin/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        agent_id: id,
        display_name: `Benchmark agent ${id}`,
        sponsor_required: true,
        allowed_scopes: ['jira:read', 'jira:comment'],
        allowed_audiences: [AUDIENCE],
        max_task_ttl: 'PT1H',
        max_token_ttl: 'PT1H',
        max_delegation_depth: 1,
        jwks: key.jwks,
      }),
    });
    if (answer.status !== 201) {
      throw new Error(`registering an agent answered ${answer.status}: ${await answer.text()}`);
    }
  }
  return agents;
}

interface Requests {
  readonly target: Target;
  exchangeBody(agent: Agent): string;
  refreshBody(task: OpenTask): string;
  revocationBody(task: OpenTask, revoked: 'token' | 'grant'): string;
}

function requestsTo(issuer: string, provider: IdentityProvider): Requests {
  const { hostname: host, port } = new URL(issuer);
  const exchange = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    resource: AUDIENCE,
    scope: SCOPE,
  }).toString();
  const authenticated = new URLSearchParams({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  }).toString();
  const refresh = `${authenticated}&${new URLSearchParams({ grant_type: 'refresh_token', resource: AUDIENCE })}`;
  const assertion = ({ id, key }: Agent) =>
    key.signAssertion(id, { aud: issuer, exp: Math.floor(Date.now() / 1000) + ASSERTION_LIFETIME });
  let people = 0;
  return {
    target: { host, port: Number(port) },
    exchangeBody(agent) {
      people += 1;
      const person = `person-${people % PEOPLE}`;
      const subjectToken = provider.mintAccessToken({ sub: person, sid: `session-${person}`, scope: SCOPE });
      return `${exchange}&subject_token=${subjectToken}&actor_token=${assertion(agent)}`;
    },
    revocationBody: (task, revoked) =>
      `${authenticated}&token=${task[revoked]}&client_assertion=${assertion(task.agent)}`,
    refreshBody: (task) => `${refresh}&refresh_token=${task.grant}&client_assertion=${assertion(task.agent)}`,
  };
}

async function openTasks(
  issuer: string,
  agents: readonly Agent[],
  exchangeBody: (agent: Agent) => string,
  count: number,
): Promise<readonly OpenTask[]> {
  const tasks: OpenTask[] = [];
  for (let index = 0; index < count; index += 1) {
    const agent = takeTurns(agents, index);
    const answer = await fetch(`${issuer}/oauth2/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: exchangeBody(agent),
    });
    if (answer.status !== 200) {
      throw new Error(`opening a task answered ${answer.status}: ${await answer.text()}`);
    }
    const { refresh_token, access_token }: { refresh_token: string; access_token: string } = JSON.parse(
      await answer.text(),
    );
    tasks.push({ agent, grant: refresh_token, token: access_token });
  }
  return tasks;
}

function takeTurns<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) {
    throw new Error('there is nothing to take turns with');
  }
  return item;
}
