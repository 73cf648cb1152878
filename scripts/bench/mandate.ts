/**
 * Starts Mandate, and prepares five kinds of requests to it. Every exchange presents a new subject token, so the service
 * cannot use cached verifications. The other requests use the open tasks in rotation.
 */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import { makeSigningKey } from '../../test/support/signing-key.ts';
import { builtProgram, type MandateProcess, startMandate } from '../mandate-process.ts';
import {
  agentRequests,
  type HttpRequest,
  introspection,
  type LoadAgent,
  makeLoadAgent,
  operatorRequests,
} from '../requests.ts';
import { toBytes } from './load.ts';
import { ASSERTION_LIFETIME, type Workload } from './workload.ts';

export interface MandateUnderTest {
  readonly process: MandateProcess;
  /** Starts another process with the same settings and database (Postgres). */
  replica(): Promise<MandateProcess>;
  readonly exchange: Workload;
  readonly refresh: Workload;
  readonly introspection: Workload;
  /** Each request revokes the access token of another task. Once all tasks are used, the tokens are already revoked. */
  readonly revocation: Workload;
  /** Each request ends another task, by revoking its grant. */
  readonly ending: Workload;
}

const AGENTS = 8;
/** Enough tasks that concurrent renewals are never of the same task. */
const TASKS = 256;
/** Enough people that no person's row is a bottleneck, as in production. */
const PEOPLE = 1000;

interface OpenTask {
  readonly agent: LoadAgent;
  readonly grant: string;
  readonly token: string;
}

/**
 * @param database its name in the report, and the process id of its server
 * @param settings for the database and the measurement, as environment variables
 * @param folder for the signing key and the log
 */
export async function startMandateUnderTest(
  database: { readonly name: string; readonly pid: number | undefined },
  settings: Readonly<Record<string, string>>,
  provider: IdentityProvider,
  folder: string,
  taskCount = TASKS,
): Promise<MandateUnderTest> {
  const adminKey = randomBytes(32).toString('base64url');
  const signingKey = await makeSigningKey('ES256');
  const keyFile = join(folder, 'signing-key.pem');
  writeFileSync(keyFile, signingKey.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const environment = {
    NODE_ENV: 'production',
    Service__UpstreamIdp__Issuer: provider.issuer,
    Service__UpstreamIdp__Audience: provider.audience,
    Service__UpstreamIdp__SponsorCheck__Mode: 'signals',
    Service__Signing__Keys__0__Path: keyFile,
    Service__Admin__ApiKey: adminKey,
    // All load comes from one address, which a rate limit would refuse.
    Service__RateLimit__Enabled: 'false',
    Service__Overload__Enabled: 'false',
    ...settings,
  };
  const process = await startMandate(environment, folder);
  try {
    const { issuer, pid } = process;
    const requests = agentRequests(issuer, provider, ASSERTION_LIFETIME);
    const agents = await registerAgents(issuer, adminKey);
    const { hostname: host, port } = new URL(issuer);
    const target = { host, port: Number(port) };
    const exchange = (index: number) => requests.exchange(nth(agents, index), `person-${index % PEOPLE}`);
    const tasks: OpenTask[] = [];
    for (let index = 0; index < taskCount; index += 1) {
      const { refresh_token: grant, access_token: token } = await ask(issuer, exchange(index), 200);
      tasks.push({ agent: nth(agents, index), grant: String(grant), token: String(token) });
    }
    const workload = (kind: string, expected: string, make: (index: number) => HttpRequest): Workload => {
      let made = 0;
      const prepare = (count: number) => Array.from({ length: count }, () => toBytes(target, make(made++)));
      return { name: `${kind}, ${database.name}`, target, pid, databasePid: database.pid, expected, prepare };
    };
    const ofTask = (kind: string, expected: string, make: (task: OpenTask) => HttpRequest) =>
      workload(kind, expected, (index) => make(nth(tasks, index)));
    return {
      process,
      replica: () => startMandate({ ...environment, Service__Issuer: issuer }, folder, builtProgram, 'applied'),
      exchange: workload('exchange', '"access_token"', exchange),
      refresh: ofTask('refresh', '"access_token"', ({ agent, grant }) => requests.refresh(agent, grant)),
      introspection: ofTask('introspection', '"active":true', ({ token }) => introspection(token)),
      revocation: ofTask('revocation', '', ({ agent, token }) => requests.revoke(agent, token)),
      ending: ofTask('end', '', ({ agent, grant }) => requests.revoke(agent, grant)),
    };
  } catch (error) {
    await process.stop();
    throw error;
  }
}

async function registerAgents(issuer: string, adminKey: string): Promise<readonly LoadAgent[]> {
  const agents = await Promise.all(Array.from({ length: AGENTS }, makeLoadAgent));
  for (const agent of agents) await ask(issuer, operatorRequests(adminKey).register(agent), 201);
  return agents;
}

/** Sends a request of the preparation, which is not measured. */
async function ask(issuer: string, request: HttpRequest, status: number): Promise<Readonly<Record<string, unknown>>> {
  const { method, path, headers = {}, body = null } = request;
  const response = await fetch(`${issuer}${path}`, { method, headers, body });
  if (response.status !== status) {
    throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  }
  return JSON.parse(await response.text());
}

/** The item at an index, counting on from the first item after the last. */
function nth<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('there are no items');
  return item;
}
