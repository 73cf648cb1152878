/**
 * What the guard adds to a request: its mode `proxy` beside a bare proxy with the same library (bare-proxy.ts), and its mode
 * `decide` beside a server that gives a short answer (guarded-upstream.ts):
 *
 *     npm run prepack --workspace @mandate/tool-server
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/guard.ts [rounds] [seconds]
 *
 * Every request has a new token, and a route that needs a scope. Both guards write their events to a file. The CPU time is
 * that of 32 requests at once. The p99 is that of a fixed rate, the same for all: at saturation it would only repeat the CPU
 * time. Servers are pinned as in `npm run bench`. Exits with 1 if the mode `proxy` misses a goal.
 */

import { withCleanup } from '../cleanup.ts';
import { describeMachine, pinToSeparateCores } from '../machine.ts';
import { startChildServer } from './child-server.ts';
import { guarded } from './guarded.ts';
import { SHORT_ANSWER } from './guarded-answers.ts';
import { driveOpenLoop, toBytes } from './load.ts';
import { median, percentile, table } from './report.ts';
import { warmUp } from './run.ts';
import { costOf, type Workload } from './workload.ts';

/** Milliseconds that the mode `proxy` may add to the bare proxy. */
const GOALS = { cpu: 0.4, p99: 2 };
/** Requests of one measurement of the CPU time. */
const REQUESTS = 4000;
/** Requests a second, about a fifth of what the guard serves. */
const RATE = 400;

const NAMES = ['bare proxy', 'guard, proxy', 'bare server', 'guard, decide'] as const;
type Name = (typeof NAMES)[number];

interface Cost {
  readonly cpu: number;
  readonly p99: number;
}

async function main(rounds: number, seconds: number): Promise<void> {
  await withCleanup(async (cleanup) => {
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    const child = async (...program: Parameters<typeof startChildServer>) => {
      const started = await startChildServer(...program);
      cleanup(started.stop);
      return started;
    };
    const { plane, startGuard } = await guarded(cleanup);
    const upstream = await child('guarded-upstream.ts');
    const routes = ['routes:', '  - {match: GET /issues/*, scope: [jira:read]}'];
    const servers = {
      'bare proxy': await child('bare-proxy.ts', upstream.origin),
      'guard, proxy': await startGuard(['mode: proxy', `upstream: ${upstream.origin}`, ...routes]),
      'bare server': await child('guarded-upstream.ts'),
      'guard, decide': await startGuard(['mode: decide', ...routes]),
    } satisfies Readonly<Record<Name, Pick<Workload, 'target' | 'pid'>>>;
    const question = { 'x-original-method': 'GET', 'x-original-uri': '/issues/7' };
    const workloads = NAMES.map((name): Workload => {
      const { target, pid } = servers[name];
      const [path, original] = /server|decide/.test(name) ? ['/decide', question] : ['/issues/7', {}];
      const request = (jti: string) => {
        const authorization = `Bearer ${plane.token({ jti })}`;
        return toBytes(target, { method: 'GET', path, headers: { authorization, ...original } });
      };
      return {
        name,
        target,
        pid,
        databasePid: undefined,
        expected: name === 'guard, decide' ? 'Mandate-Subject: ada' : SHORT_ANSWER,
        prepare: async (count) => Array.from({ length: count }, (_, nth) => request(`tok_${nth}`)),
      };
    });
    for (const workload of workloads) await warmUp([workload]);
    const pinned = { services: workloads.map(({ pid }) => pid), others: [process.pid, upstream.pid] };
    if (!pinToSeparateCores(pinned)) console.log('- NOT pinned: that needs Linux, taskset and two cores');
    const costs = new Map<string, Cost[]>(NAMES.map((name) => [name, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const workload of round % 2 === 1 ? workloads : workloads.toReversed()) {
        const cost = { cpu: await costOf(workload, REQUESTS), p99: await p99Of(workload, seconds) };
        costs.get(workload.name)?.push(cost);
        console.log(`round ${round}  ${workload.name.padEnd(14)} ${describe(cost).join(' CPU, p99 ')}`);
      }
    }
    report(costs);
  });
}

/** The p99 at a fixed rate, in milliseconds. */
async function p99Of({ target, prepare, name }: Workload, seconds: number): Promise<number> {
  const { byStatus, lost } = await driveOpenLoop(target, await prepare(RATE * seconds), { rate: RATE, seconds });
  const answers = byStatus.get(name === 'guard, decide' ? 204 : 200);
  if (answers === undefined || byStatus.size > 1 || lost > 0)
    throw new Error(`${name}: not every request was answered`);
  return percentile(answers.latencies, 0.99);
}

function report(costs: ReadonlyMap<string, readonly Cost[]>): void {
  const middle = (name: Name): Cost => {
    const all = costs.get(name) ?? [];
    return { cpu: median(all.map(({ cpu }) => cpu)), p99: median(all.map(({ p99 }) => p99)) };
  };
  const added = (own: Name, bare: Name): Cost => {
    const pairs = (costs.get(own) ?? []).map((cost, round) => [cost, costs.get(bare)?.[round] ?? cost] as const);
    return {
      cpu: median(pairs.map(([cost, less]) => cost.cpu - less.cpu)),
      p99: median(pairs.map(([cost, less]) => cost.p99 - less.p99)),
    };
  };
  const proxy = added('guard, proxy', 'bare proxy');
  const rows: readonly (readonly [string, Cost])[] = [
    ...NAMES.map((name) => [name, middle(name)] as const),
    ['the guard adds, proxy', proxy],
    ['the guard adds, decide', added('guard, decide', 'bare server')],
  ];
  console.log(
    `\n${table(
      ['what', 'CPU', 'p99'],
      rows.map(([name, cost]) => [name, ...describe(cost)]),
    )}`,
  );
  const isReached = proxy.cpu <= GOALS.cpu && proxy.p99 <= GOALS.p99;
  console.log(`- at most ${GOALS.cpu} ms of CPU and ${GOALS.p99} ms at p99: ${isReached ? 'reached' : 'NOT reached'}`);
  if (!isReached) process.exitCode = 1;
}

function describe({ cpu, p99 }: Cost): readonly [string, string] {
  return [`${cpu.toFixed(3)} ms`, `${p99.toFixed(2)} ms`];
}

const [rounds = '5', seconds = '5'] = process.argv.slice(2);
if (!/^[1-9]\d?$/.test(rounds) || !/^[1-9]\d?$/.test(seconds)) {
  console.error('guard.ts [rounds, 1 to 99] [seconds, 1 to 99]');
  process.exitCode = 2;
} else {
  await main(Number(rounds), Number(seconds));
}
