/**
 * Starts Mandate, and prepares its kinds of requests. Every exchange presents a new subject token, so the service cannot
 * use cached verifications; only the second exchanges present those of the open tasks again. The other requests use the
 * open tasks in rotation.
 */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeSigningKey } from '../../test/support/signing-key.ts';
import { freePort } from '../free-port.ts';
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
import type { SubjectTokens } from './subject-tokens.ts';
import { ASSERTION_LIFETIME, type Workload } from './workload.ts';

export interface MandateUnderTest {
  readonly process: MandateProcess;
  /** Milliseconds until it was ready, for each of its starts. */
  readonly readyAfter: readonly number[];
  /** Starts another process with the same settings and database (Postgres). */
  replica(): Promise<MandateProcess>;
  readonly exchange: Workload;
  /** Exchanges with subject tokens that the service has seen before: people who start another task. */
  readonly secondExchange: Workload;
  readonly refresh: Workload;
  readonly introspection: Workload;
  /** Each request revokes the access token of another task. Once all tasks are used, the tokens are already revoked. */
  readonly revocation: Workload;
  /** Each request ends another task, by revoking its grant. Once all tasks are used, they have already ended. */
  readonly ending: Workload;
  /** The same, of tasks that are opened and renewed twice while the requests are prepared. */
  readonly newEnding: Workload;
}

const AGENTS = 8;
/** Enough tasks that concurrent renewals are never of the same task. */
const TASKS = 256;
/** Requests of the preparation that are under way at a time. */
const PREPARING = 16;
/** A task's end records the sum of its renewals if there are at least two. */
const RENEWALS = 2;
/** Opening and renewing a task takes longer than its end. */
const ENDINGS_IN_ROUND = 500;

interface OpenTask {
  readonly agent: LoadAgent;
  readonly grant: string;
  readonly token: string;
}

/** How a measured service starts. */
export interface Start {
  /** Environment variables, besides those of the database. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How many tasks are open from the start. */
  readonly tasks?: number;
  /** How many times the service starts. All but the last are only for `readyAfter`. */
  readonly starts?: number;
}

/**
 * @param database its name in the report, the process id of its server, and its settings
 * @param folder for the signing key and the log
 */
export async function startMandateUnderTest(
  database: {
    readonly name: string;
    readonly pid: number | undefined;
    readonly settings: Readonly<Record<string, string>>;
  },
  subjectTokens: SubjectTokens,
  folder: string,
  { settings = {}, tasks: taskCount = TASKS, starts = 1 }: Start = {},
): Promise<MandateUnderTest> {
  const { provider } = subjectTokens;
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
    PORT: String(await freePort()),
    ...database.settings,
    ...settings,
  };
  let process = await startMandate(environment, folder);
  const readyAfter = [process.readyAfter];
  while (readyAfter.length < starts) {
    await process.stop();
    process = await startMandate(environment, folder, builtProgram, 'applied');
    readyAfter.push(process.readyAfter);
  }
  try {
    const { issuer, pid } = process;
    const requests = agentRequests(issuer, provider, ASSERTION_LIFETIME);
    const agents = await registerAgents(issuer, adminKey);
    const { hostname: host, port } = new URL(issuer);
    const target = { host, port: Number(port) };
    const nextToken = subjectTokens.inOrder();
    let exchanges = 0;
    const exchange = () => requests.exchangeToken(nth(agents, exchanges++), nextToken());
    const open = async (): Promise<OpenTask> => {
      const agent = nth(agents, exchanges);
      const { refresh_token: grant, access_token: token } = await ask(issuer, exchange(), 200);
      return { agent, grant: String(grant), token: String(token) };
    };
    const tasks = await repeat(taskCount, open);
    const workload = (kind: string, expected: string, make: (index: number) => HttpRequest): Workload => {
      let made = 0;
      const prepare = async (count: number) => Array.from({ length: count }, () => toBytes(target, make(made++)));
      return { name: `${kind}, ${database.name}`, target, pid, databasePid: database.pid, expected, prepare };
    };
    const ofTask = (kind: string, expected: string, make: (task: OpenTask) => HttpRequest) =>
      workload(kind, expected, (index) => make(nth(tasks, index)));
    const { PORT: _, ...ofReplica } = environment;
    const ending = ofTask('end', '', ({ agent, grant }) => requests.revoke(agent, grant));
    const endOfNewTask = async (): Promise<Buffer> => {
      const { agent, grant } = await open();
      for (let nth = 0; nth < RENEWALS; nth += 1) await ask(issuer, requests.refresh(agent, grant), 200);
      return toBytes(target, requests.revoke(agent, grant));
    };
    return {
      process,
      readyAfter,
      replica: () => startMandate({ ...ofReplica, Service__Issuer: issuer }, folder, builtProgram, 'applied'),
      exchange: workload('exchange', '"access_token"', exchange),
      secondExchange: workload('second exchange', '"access_token"', (index) =>
        requests.exchangeToken(nth(agents, index), subjectTokens.nth(index % tasks.length)),
      ),
      refresh: ofTask('refresh', '"access_token"', ({ agent, grant }) => requests.refresh(agent, grant)),
      introspection: ofTask('introspection', '"active":true', ({ token }) => introspection(token)),
      revocation: ofTask('revocation', '', ({ agent, token }) => requests.revoke(agent, token)),
      ending,
      newEnding: { ...ending, inRound: ENDINGS_IN_ROUND, prepare: (count) => repeat(count, endOfNewTask) },
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

/** Does work a number of times, several at a time. */
async function repeat<Result>(count: number, work: () => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = [];
  let begun = 0;
  const worker = async () => {
    while (begun++ < count) results.push(await work());
  };
  await Promise.all(Array.from({ length: PREPARING }, worker));
  return results;
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
