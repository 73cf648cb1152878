/**
 * A fault run of status lists: tasks are killed one after another, and three tool servers that poll the lists are asked
 * about each task until they must refuse it. Meanwhile one fault follows the other.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { deflateSync, inflateSync } from 'node:zlib';
import { decodeJwt } from 'jose';
import { createToolServer, type RefusalReason } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { STATUS_LIST_TYPE } from '../../../domain/tasks/status-list.ts';
import { startIdentityProvider } from '../../../test/support/identity-provider/identity-provider.ts';
import { makeSigningKey, type SigningKey } from '../../../test/support/signing-key.ts';
import { percentile } from '../../bench/report.ts';
import { withCleanup } from '../../cleanup.ts';
import { freePort } from '../../free-port.ts';
import { asVariables } from '../../mandate-process.ts';
import { AUDIENCE, agentRequests, type HttpRequest, makeLoadAgent, operatorRequests } from '../../requests.ts';
import type { Engine } from '../../temporary-database.ts';
import { sealedLedger } from '../checks/reconcile.ts';
import { type Forwarder, type Spoil, startForwarder } from '../forwarder.ts';
import { openSession, type Reply } from '../load/session.ts';
import { seeded } from '../random.ts';
import type { Service } from '../service.ts';
import { ADMIN_KEY, makeReplicas } from '../testbed.ts';

interface StatusListRun {
  readonly engine: Engine;
  readonly program: readonly string[];
  readonly seed: number;
  readonly kills: number;
  /** The time between two kills. */
  readonly everyMs: number;
  readonly ttlSeconds: number;
  readonly maxAgeMs: number;
}

/** One tool server's decisions about one killed task. */
interface Watched {
  readonly fault: string;
  /** The time from the kill's answer to the first refusal. */
  refusedAfterMs?: number;
  refusedBy?: RefusalReason;
}

/** Between two questions to a tool server about one task. */
const ASK_MS = 50;
/** After the promised time, a task must stay refused. */
const LONGER_MS = 1000;
const KILL_ATTEMPTS = 200;
const RETRY_MS = 50;
const SEALED_WITHIN_MS = 60_000;
/** Less than the clock skew that a tool server allows, so that tokens stay valid. */
const SET_BACK_MS = 45_000;
const NO_FAULT = 'none';
const CACHE = 'a cache that ignores no-cache';
const UNAVAILABLE: ReadonlySet<string> = new Set(['status_unavailable', 'introspection_unavailable']);

interface StatusListResult {
  readonly figures: readonly string[];
  readonly losses: readonly string[];
}

export function statusLists(options: StatusListRun): Promise<StatusListResult> {
  const { engine, program, seed, kills, everyMs, ttlSeconds, maxAgeMs } = options;
  const promiseMs = ttlSeconds * 1000 + maxAgeMs;
  return withCleanup(async (cleanup) => {
    const provider = await startIdentityProvider({ algorithm: 'ES256' });
    cleanup(() => provider.stop());
    const keys = [await makeSigningKey('ES256'), await makeSigningKey('ES256')] as const;
    const port = await freePort();
    const issuer = `http://127.0.0.1:${port}`;
    const { services, start } = await makeReplicas({
      engine,
      program,
      replicas: engine === 'postgres' ? 2 : 1,
      issuer,
      cleanup,
      settings: {
        'Service:UpstreamIdp:Issuer': provider.issuer,
        'Service:UpstreamIdp:Audience': provider.audience,
        'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
        'Service:StatusLists:Enabled': 'true',
        'Service:StatusLists:Ttl': `PT${ttlSeconds}S`,
        ...keySettings(keys, 0),
      },
    });
    await start();
    const forwarder = await startForwarder(port, () => services);
    cleanup(forwarder.close);
    const session = openSession([issuer]);
    cleanup(session.close);

    const losses = new Map<string, number>();
    const lose = (what: string) => losses.set(what, (losses.get(what) ?? 0) + 1);
    let setBackMs = 0;
    let cacheMattersUntil = Number.NEGATIVE_INFINITY;
    const old = new Map<string, Buffer>();
    forwarder.spoil(remembered(old));
    const servers = (['refuse', 'refuse', 'introspect'] as const).map((onStale, nth) => {
      const server = createToolServer({
        issuer,
        audience: AUDIENCE,
        statusList: { maxAgeMs, onStale },
        onAccess: () => undefined,
        onError: () => undefined,
        now: () => Date.now() - (nth === 0 ? setBackMs : 0),
      });
      return {
        name: `tool server ${nth + 1} (${onStale})`,
        server,
        policy: server.policy({ scope: ['jira:read'] }),
        onStale,
      };
    });
    const faults = [
      { name: 'a key rotation', from: () => rotate(services, keys) },
      { name: 'a replica killed', from: () => replaceOne(services, seeded(seed).below(services.length), everyMs) },
      {
        name: 'a clock set back',
        from: () => {
          setBackMs = SET_BACK_MS;
        },
        until: () => {
          setBackMs = 0;
        },
      },
      spoiling(forwarder, 'a list one byte short', resigned(keys[0], shorter)),
      spoiling(forwarder, 'a list with a wrong sub', resigned(keys[0], otherSub)),
      spoiling(forwarder, 'an old list with a fresh ETag', replayed(old)),
      {
        name: CACHE,
        from: () => {
          cacheMattersUntil = Number.POSITIVE_INFINITY;
          forwarder.spoil(cached(ttlSeconds * 1000));
        },
        until: () => {
          cacheMattersUntil = performance.now() + promiseMs;
          forwarder.spoil(undefined);
        },
      },
      spoiling(forwarder, 'a slow list', slow(maxAgeMs)),
    ];

    let fault = NO_FAULT;
    let faultEnded = Number.NEGATIVE_INFINITY;
    let isOver = false;
    async function runFaults(): Promise<void> {
      const eachMs = (kills * everyMs) / faults.length / 2;
      for (const { name, from, until } of faults) {
        await pause(eachMs);
        if (isOver) return;
        fault = name;
        const began = performance.now();
        await from();
        await pause(Math.max(0, began + eachMs - performance.now()));
        await until?.();
        fault = NO_FAULT;
        faultEnded = performance.now();
      }
    }

    const watched: Watched[] = [];
    let [decisions, unavailable, unavailableWithoutFault] = [0, 0, 0];

    /** Asks one tool server about a task: at first it must not refuse it, and after the kill it must, in time. */
    async function watch(task: Task, { name, server, policy, onStale }: (typeof servers)[number]): Promise<void> {
      let mark: Watched | undefined;
      let lastBy: RefusalReason | undefined;
      for (;;) {
        const at = performance.now();
        const { killed } = task;
        if (killed !== undefined && at > killed.at + promiseMs + ttlSeconds * 1000 + LONGER_MS) break;
        const access = await server.authorize({ token: task.token, route: 'watched', policy });
        decisions += 1;
        const reason = access.kind === 'allowed' ? undefined : access.reason;
        if (reason !== undefined && UNAVAILABLE.has(reason)) {
          unavailable += 1;
          if (fault === NO_FAULT && at > faultEnded + maxAgeMs / 2) unavailableWithoutFault += 1;
        } else if (reason !== undefined && reason !== 'not_active') {
          lose(`${name} refused a token as ${reason} (fault: ${fault})`);
        }
        if (killed === undefined) {
          if (reason === 'not_active' && task.asked === undefined) {
            lose(`${name} refused a live task as not_active (fault: ${fault})`);
          }
        } else {
          mark ??= { fault: killed.fault };
          if (reason !== undefined && mark.refusedAfterMs === undefined) {
            mark.refusedAfterMs = Math.max(0, performance.now() - killed.at);
            mark.refusedBy = reason;
          }
          // A cache that ignores `no-cache` adds a Ttl (docs/status-lists.md).
          const cacheMs = at < cacheMattersUntil ? ttlSeconds * 1000 : 0;
          if (reason === undefined && at > killed.at + promiseMs + cacheMs) {
            lose(
              `${name} allowed a task ${Math.round((at - killed.at) / 1000)} s after its kill (fault: ${killed.fault})`,
            );
          }
          if (reason === undefined && lastBy === 'not_active' && onStale === 'refuse') {
            lose(`${name} allowed a task again that its list refused (fault: ${killed.fault})`);
          }
        }
        // An introspection knows more than the next list, but without one the list alone decides.
        if (reason === 'not_active') lastBy = reason;
        await pause(ASK_MS);
      }
      if (mark !== undefined) watched.push(mark);
    }

    const agent = await makeLoadAgent();
    const requests = agentRequests(issuer, provider);
    const operator = operatorRequests(ADMIN_KEY);
    const send = (make: () => HttpRequest, ...expected: readonly number[]) =>
      patiently(() => session.send(make()), expected);
    await send(() => operator.register(agent), 201);
    const ended: string[] = [];
    const watching: Promise<unknown>[] = [];
    const faulting = runFaults();
    for (let nth = 0; nth < kills; nth += 1) {
      const { body } = await send(() => requests.exchange(agent, `person-${nth}`), 200);
      const task: Task = { token: String(body.access_token) };
      watching.push(...servers.map((server) => watch(task, server)));
      await pause(everyMs);
      task.asked = performance.now();
      // A request whose answer was lost may have ended the task: then the next one finds it ended.
      await send(() => operator.killTask(String(body.task_id)), 200, 404);
      task.killed = { at: performance.now(), fault };
      ended.push(String(body.task_id));
    }
    isOver = true;
    await Promise.all([...watching, faulting]);
    await Promise.all(services.map((service) => service.untilReady()));

    const lines = await sealedLedger(session, operator, SEALED_WITHIN_MS);
    for (const taskId of ended) {
      const ends = lines.filter(({ event, task_id }) => event === 'task.revoked' && task_id === taskId);
      if (ends.length !== 1) lose(`the ledger has ${ends.length} records of the end of ${taskId}`);
    }
    const verified = await services[0].run('audit-verify');
    if (verified !== 0) lose(`audit-verify ended with ${verified}`);
    for (const { fault: during } of watched.filter(({ refusedAfterMs }) => refusedAfterMs === undefined)) {
      lose(`a killed task was never refused (fault: ${during})`);
    }
    const share = (count: number) => `${((count / decisions) * 100).toFixed(2)} %`;
    return {
      losses: [...losses].map(([what, count]) => `${what}: ${count} times`),
      figures: [
        `${kills} kills; Ttl ${ttlSeconds} s, maxAgeMs ${maxAgeMs}: each refusal within ${promiseMs} ms`,
        ...[undefined, NO_FAULT, ...faults.map(({ name }) => name)].map((name) => times(name, watched)),
        `${decisions} decisions: ${share(unavailable)} were "unavailable", ${share(unavailableWithoutFault)} when no fault was under way or had just ended; ` +
          `${lines.length} records, audit-verify ${verified}`,
      ],
    };
  });
}

interface Task {
  readonly token: string;
  /** When the kill was sent, and answered. */
  asked?: number;
  killed?: { readonly at: number; readonly fault: string };
}

function times(fault: string | undefined, all: readonly Watched[]): string {
  const watched = fault === undefined ? all : all.filter((one) => one.fault === fault);
  const sorted = Float64Array.from(watched.flatMap(({ refusedAfterMs }) => refusedAfterMs ?? [])).sort();
  const at = (percent: number) => Math.round(percentile(sorted, percent));
  const byList = watched.filter(({ refusedBy }) => refusedBy === 'not_active').length;
  const figures =
    sorted.length === 0
      ? 'no kill'
      : `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${Math.round(sorted.at(-1) ?? 0)} ms`;
  return `fault ${fault ?? 'any'}: ${figures}; ${sorted.length} refusals, first by not_active ${byList}`;
}

/** Sends a request until it is answered as expected: a replica may be away. */
async function patiently(send: () => Promise<Reply>, expected: readonly number[]): Promise<Reply> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await send();
    if (expected.includes(reply.status)) return reply;
    if (attempt === KILL_ATTEMPTS) throw new Error(`the answer is ${reply.status} ${JSON.stringify(reply.body)}`);
    await pause(RETRY_MS);
  }
}

function keySettings(keys: readonly SigningKey[], active: number): Readonly<Record<string, string>> {
  const all = keys.flatMap(({ kid, privateKey }, nth) => [
    [`Service:Signing:Keys:${nth}:Kid`, kid],
    [`Service:Signing:Keys:${nth}:Pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
  ]);
  return { ...Object.fromEntries(all), 'Service:Signing:ActiveKid': keys[active]?.kid ?? '' };
}

/** The second step of docs/operating.md ("Rotating the signing key"): both keys were published long ago. */
async function rotate(services: readonly Service[], keys: readonly SigningKey[]): Promise<void> {
  for (const service of services) {
    await service.end('SIGTERM');
    service.start(asVariables(keySettings(keys, 1)));
    await service.untilReady();
  }
}

async function replaceOne(services: readonly Service[], nth: number, awayMs: number): Promise<void> {
  await services[nth]?.end('SIGKILL');
  await pause(awayMs);
  services[nth]?.start();
  await services[nth]?.untilReady();
}

function spoiling(forwarder: Forwarder, name: string, spoil: Spoil) {
  return { name, from: () => forwarder.spoil(spoil), until: () => forwarder.spoil(undefined) };
}

type Claims = Readonly<Record<string, unknown>>;

/** The list with other claims, and a correct signature. */
function resigned(key: SigningKey, change: (claims: Claims) => Claims): Spoil {
  return (answer) => {
    const claims = change(decodeJwt(answer.body.toString()));
    const body = Buffer.from(key.sign({ alg: 'ES256', typ: STATUS_LIST_TYPE, kid: key.kid }, claims));
    return { ...answer, body, headers: { ...answer.headers, etag: `"${body.toString('latin1').slice(-16)}"` } };
  };
}

function shorter(claims: Claims): Claims {
  const { bits, lst } = claims.status_list as { readonly bits: number; readonly lst: string };
  const bytes = inflateSync(Buffer.from(lst, 'base64url')).subarray(0, -1);
  return { ...claims, status_list: { bits, lst: deflateSync(bytes).toString('base64url') } };
}

function otherSub(claims: Claims): Claims {
  return { ...claims, sub: `${claims.sub}x` };
}

/** Keeps the first answer with each list, and changes none. */
function remembered(old: Map<string, Buffer>): Spoil {
  return (answer, uri) => {
    if (!old.has(uri)) old.set(uri, answer.body);
    return answer;
  };
}

/** The lists of earlier, each time with another ETag. */
function replayed(old: ReadonlyMap<string, Buffer>): Spoil {
  let etags = 0;
  return (answer, uri) => {
    etags += 1;
    return { ...answer, body: old.get(uri) ?? answer.body, headers: { ...answer.headers, etag: `"replay-${etags}"` } };
  };
}

/** Answers for `max-age` with the list that any tool server fetched first. */
function cached(maxAgeMs: number): Spoil {
  const stored = new Map<string, { readonly at: number; readonly answer: Parameters<Spoil>[0] }>();
  return (answer, uri) => {
    const known = stored.get(uri);
    if (known !== undefined && performance.now() - known.at < maxAgeMs) return known.answer;
    stored.set(uri, { at: performance.now(), answer });
    return answer;
  };
}

/** Every other answer comes after the time limit of a poll, and the others late. */
function slow(maxAgeMs: number): Spoil {
  let answers = 0;
  return async (answer) => {
    answers += 1;
    await pause(answers % 2 === 0 ? maxAgeMs : maxAgeMs / 8);
    return answer;
  };
}
