/**
 * What the guard adds to a request. Its mode `proxy` is compared with a bare proxy that also uses Node's client
 * (bare-proxy.ts). Its mode `decide` is compared with a server that gives a short answer (guarded-upstream.ts):
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/guard.ts [rounds] [seconds]
 *
 * Every request has a new token, and a route that needs a scope. Both guards write their events to a file. The CPU time is
 * that of 32 requests at once. p50 and p99 are those of 400 requests a second, far fewer than each server can answer: at
 * saturation they would only repeat the CPU time. Servers are pinned as in `npm run bench`. Exits with 1 if the mode `proxy`
 * misses a goal.
 */

import type { FakeControlPlane } from '../../test/support/tool-server/control-plane.ts';
import { withCleanup } from '../cleanup.ts';
import { describeMachine, pinToSeparateCores } from '../machine.ts';
import { startChildServer } from './child-server.ts';
import { guarded } from './guarded.ts';
import { driveClosedLoop, toBytes } from './load.ts';
import { median, percentile, table } from './report.ts';
import { warmUp } from './run.ts';
import { costOf, type Workload } from './workload.ts';

/** Milliseconds that the mode `proxy` may add to the bare proxy. */
const GOALS = { cpu: 0.4, p99: 2 };
/** Of the server behind the guard. */
const SHORT_ANSWER = JSON.stringify({ answer: 'x'.repeat(200) });
/** Requests of one measurement of the CPU time. */
const REQUESTS = 4000;
/** 400 requests a second. */
const UNHURRIED = { concurrency: 4, everyMs: 10 };

const NAMES = ['bare proxy', 'guard, proxy', 'bare server', 'guard, decide'] as const;
type Name = (typeof NAMES)[number];

/** Milliseconds. */
interface Cost {
  readonly cpu: number;
  readonly p50: number;
  readonly p99: number;
}
const FIELDS = ['cpu', 'p50', 'p99'] as const;

async function main(rounds: number, seconds: number): Promise<void> {
  await withCleanup(async (cleanup) => {
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    const child = async (...program: Parameters<typeof startChildServer>) => {
      const started = await startChildServer(...program);
      cleanup(started.stop);
      return started;
    };
    const { plane, startGuard } = await guarded(cleanup);
    const upstream = await child('guarded-upstream.ts', SHORT_ANSWER);
    const routes = ['routes:', '  - {match: GET /issues/*, scope: [jira:read]}'];
    const servers = {
      'bare proxy': await child('bare-proxy.ts', upstream.origin),
      'guard, proxy': await startGuard(['mode: proxy', `upstream: ${upstream.origin}`, ...routes]),
      'bare server': await child('guarded-upstream.ts', SHORT_ANSWER),
      'guard, decide': await startGuard(['mode: decide', ...routes]),
    } satisfies Readonly<Record<Name, Pick<Workload, 'target' | 'pid'>>>;
    const workloads = NAMES.map((name) => workloadOf(name, servers[name], plane));
    for (const workload of workloads) await warmUp([workload]);
    const pinned = { services: workloads.map(({ pid }) => pid), others: [process.pid, upstream.pid] };
    if (!pinToSeparateCores(pinned)) console.log('- NOT pinned: that needs Linux, taskset and two cores');
    const costs = new Map<string, Cost[]>(NAMES.map((name) => [name, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const workload of round % 2 === 1 ? workloads : workloads.toReversed()) {
        const cost = { cpu: await costOf(workload, REQUESTS), ...(await latenciesOf(workload, seconds)) };
        costs.get(workload.name)?.push(cost);
        console.log(`round ${round}  ${workload.name.padEnd(14)} ${describe(cost).join('  ')}`);
      }
    }
    report(costs);
  });
}

/** The proxies get the request itself, the others a gateway's question about it. */
function workloadOf(name: Name, { target, pid }: Pick<Workload, 'target' | 'pid'>, plane: FakeControlPlane): Workload {
  const isProxy = name === 'bare proxy' || name === 'guard, proxy';
  const path = isProxy ? '/issues/7' : '/decide';
  const original = isProxy ? {} : { 'x-original-method': 'GET', 'x-original-uri': '/issues/7' };
  const request = (jti: string) => {
    const headers = { authorization: `Bearer ${plane.token({ jti })}`, ...original };
    return toBytes(target, { method: 'GET', path, headers });
  };
  return {
    name,
    target,
    pid,
    databasePid: undefined,
    expected: name === 'guard, decide' ? 'Mandate-Subject: ada' : SHORT_ANSWER,
    prepare: async (count) => Array.from({ length: count }, (_, nth) => request(`tok_${nth}`)),
  };
}

async function latenciesOf({ target, prepare, expected }: Workload, seconds: number): Promise<Omit<Cost, 'cpu'>> {
  const { concurrency, everyMs } = UNHURRIED;
  const requests = await prepare((seconds * 1000 * concurrency) / everyMs);
  const { latencies } = await driveClosedLoop(target, requests, { ...UNHURRIED, seconds: seconds + 1, expected });
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

function report(costs: ReadonlyMap<string, readonly Cost[]>): void {
  const middle = (name: Name): Cost => medians(costs.get(name) ?? []);
  const added = (own: Name, bare: Name): Cost => {
    const without = costs.get(bare) ?? [];
    return medians((costs.get(own) ?? []).map((cost, round) => minus(cost, without[round] ?? cost)));
  };
  const proxy = added('guard, proxy', 'bare proxy');
  const rows: readonly (readonly [string, Cost])[] = [
    ...NAMES.map((name) => [name, middle(name)] as const),
    ['the guard adds, proxy', proxy],
    ['the guard adds, decide', added('guard, decide', 'bare server')],
  ];
  console.log(
    `\n${table(
      ['what', 'CPU', 'p50', 'p99'],
      rows.map(([name, cost]) => [name, ...describe(cost)]),
    )}`,
  );
  const isReached = proxy.cpu <= GOALS.cpu && proxy.p99 <= GOALS.p99;
  console.log(`- at most ${GOALS.cpu} ms of CPU and ${GOALS.p99} ms at p99: ${isReached ? 'reached' : 'NOT reached'}`);
  if (!isReached) process.exitCode = 1;
}

function minus(one: Cost, other: Cost): Cost {
  return costOfFields((field) => one[field] - other[field]);
}

function medians(all: readonly Cost[]): Cost {
  return costOfFields((field) => median(all.map((cost) => cost[field])));
}

function costOfFields(value: (field: keyof Cost) => number): Cost {
  return { cpu: value('cpu'), p50: value('p50'), p99: value('p99') };
}

function describe(cost: Cost): readonly string[] {
  return FIELDS.map((field) => `${cost[field].toFixed(3)} ms`);
}

const [rounds = '5', seconds = '5'] = process.argv.slice(2);
if (!/^[1-9]\d?$/.test(rounds) || !/^[1-9]\d?$/.test(seconds)) {
  console.error('guard.ts [rounds, 1 to 99] [seconds, 1 to 99]');
  process.exitCode = 2;
} else {
  await main(Number(rounds), Number(seconds));
}
