/**
 * What a call costs that needs a person's yes, of an introspection. And what other requests cost with approvals on, of their
 * cost with approvals off:
 *
 *     npm run build
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/approvals.ts [sqlite|postgres] [rounds]
 *
 * For such a call a tool server asks for approval instead of introspecting: `pending` is a request that finds the question
 * open, and `granted` one that uses a yes. Introspections are of known tokens, whose signatures the service remembers; the
 * `new` ones of tokens that it has not seen. The signature of a request for approval is always new. The cost is the CPU time
 * of the service and of Postgres. The time is that of a request without others under way. A ratio is the median of the ratios
 * of all rounds.
 */

import { type AskingServer, askingServer } from '../../test/support/tool-server/approval-request.ts';
import { describeMachine, pinToSeparateCores } from '../machine.ts';
import { asVariables } from '../mandate-process.ts';
import { type ApprovalRequests, AUDIENCE, approvalRequests, approvalSettings, introspection } from '../requests.ts';
import type { Engine } from '../temporary-database.ts';
import { driveClosedLoop, toBytes } from './load.ts';
import { ask, type MandateUnderTest, repeat } from './mandate.ts';
import { median, pairedRatio, percentile, type Summary, summarise, table } from './report.ts';
import { measureRounds, processesOf, warmUp } from './run.ts';
import { withTestbed } from './testbed.ts';
import type { Workload } from './workload.ts';

/** Tasks with a question that waits. */
const TASKS = 256;
/** Requests of one round. Each is signed before the round, and expires after a minute. */
const IN_ROUND = 1500;
/** Each takes an exchange to prepare, a yes three more requests. */
const NEW_IN_ROUND = 400;
/** Requests of one round that are sent without others under way. */
const ALONE = 150;
const ALONE_EVERY_MS = 5;

async function main(engine: Engine, rounds: number): Promise<void> {
  for (const line of describeMachine(new Date())) console.log(`- ${line}`);
  await withTestbed(async ({ start, provider }) => {
    let issuer = '';
    const now = () => Math.floor(Date.now() / 1000);
    const server: AskingServer = await askingServer(AUDIENCE, { issuer: () => issuer, now });
    const off = await start(engine);
    const on = await start(engine, { settings: asVariables(approvalSettings(server)) });
    issuer = on.process.issuer;
    const approvals = await callsOf(on, approvalRequests(server, provider));
    const calls = [on.introspection, firstIntrospection(on), ...approvals].map(inOneRound);
    const others = [...othersOf(off, 'off'), ...othersOf(on, 'on')];
    await warmUp([...calls, ...others]);
    if (!pinToSeparateCores(processesOf([...calls, ...others]))) {
      console.log('NOT pinned: that needs Linux, taskset and two cores.');
    }
    const costs = summarise(await measureRounds(calls, new Map(), rounds, 1));
    const times = await timesAlone(calls, rounds);
    console.log(`\n${tableOfCalls(costs, times)}\n`);
    console.log(`${tableOfOthers(summarise(await measureRounds(others, new Map(), rounds, 1)))}\n`);
  });
}

function inOneRound(workload: Workload): Workload {
  return { inRound: IN_ROUND, ...workload };
}

function othersOf({ exchange, introspection, newEnding }: MandateUnderTest, approvals: string): readonly Workload[] {
  return [exchange, introspection, newEnding].map((workload) => ({
    ...inOneRound(workload),
    name: `${workload.name}, ${approvals}`,
  }));
}

function firstIntrospection({ introspection: known, openTask }: MandateUnderTest): Workload {
  return {
    ...known,
    name: `new ${known.name}`,
    inRound: NEW_IN_ROUND,
    prepare: (count) => repeat(count, async () => toBytes(known.target, introspection((await openTask()).token))),
  };
}

/** The requests of a tool server for approval, each with a new signature. */
async function callsOf(mandate: MandateUnderTest, requests: ApprovalRequests): Promise<readonly Workload[]> {
  const { target, pid, databasePid } = mandate.introspection;
  const { issuer } = mandate.process;
  const database = mandate.introspection.name.split(', ')[1];
  const workload = (state: string) => ({
    name: `${state}, ${database}`,
    target,
    pid,
    databasePid,
    expected: `"state":"${state}"`,
  });
  const send = (request: Parameters<typeof ask>[1]) => ask(issuer, request, 200);
  const tasks = await repeat(TASKS, mandate.openTask);
  for (const task of tasks) await send(requests.askForApproval(task, 'waits'));
  let polls = 0;
  let yeses = 0;

  return [
    {
      ...workload('pending'),
      prepare: async (count) =>
        Array.from({ length: count }, () => {
          const task = tasks[polls++ % tasks.length];
          if (task === undefined) throw new Error('there are no tasks');
          return toBytes(target, requests.askForApproval(task, 'waits'));
        }),
    },
    {
      ...workload('granted'),
      inRound: NEW_IN_ROUND,
      prepare: (count) =>
        repeat(count, async () => {
          const task = await mandate.openTask();
          const call = `call ${yeses++}`;
          const { approval_id: id } = await send(requests.askForApproval(task, call));
          const { approvals } = await send(requests.readWaiting(task.sub));
          const asked = approvals as readonly { approval_id: string; commitment: string }[];
          const commitment = asked.find(({ approval_id }) => approval_id === id)?.commitment ?? '';
          await send(requests.answerApproval(task.sub, String(id), { decision: 'approve', commitment }));
          return toBytes(target, requests.askForApproval(task, call));
        }),
    },
  ];
}

/** The median time of each workload's requests in each round, in milliseconds. */
async function timesAlone(
  workloads: readonly Workload[],
  rounds: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>(workloads.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, target, expected, prepare } of round % 2 === 1 ? workloads : workloads.toReversed()) {
      const options = { concurrency: 1, seconds: 60, expected, everyMs: ALONE_EVERY_MS };
      const { latencies } = await driveClosedLoop(target, await prepare(ALONE), options);
      times.get(name)?.push(percentile(latencies, 0.5));
    }
  }
  return times;
}

/** The CPU time of the service and of Postgres in each round, in milliseconds. */
function costOf({ cpu, databaseCpu }: Summary): readonly number[] {
  return cpu.map((own, round) => own + (databaseCpu[round] ?? 0));
}

function tableOfCalls(costs: readonly Summary[], times: ReadonlyMap<string, readonly number[]>): string {
  const [reference] = costs;
  if (reference === undefined) throw new Error('nothing was measured');
  const rows = costs.map((one) => [
    one.workload,
    median(one.cpu).toFixed(3),
    one.databaseCpu.length === 0 ? '' : median(one.databaseCpu).toFixed(3),
    ratio(costOf(one), costOf(reference)),
    median(times.get(one.workload) ?? []).toFixed(2),
    ratio(times.get(one.workload), times.get(reference.workload)),
    one.p50.toFixed(1),
  ]);
  const header = [
    'what',
    'CPU, ms',
    'of Postgres',
    'of an introspection',
    'alone, ms',
    'of an introspection',
    'p50, ms',
  ];
  return table(header, rows);
}

function tableOfOthers(summaries: readonly Summary[]): string {
  const [offs, ons] = ['off', 'on'].map((end) => summaries.filter(({ workload }) => workload.endsWith(`, ${end}`)));
  const rows = (ons ?? []).map((on, nth) => {
    const off = offs?.[nth];
    const cost = off && costOf(off);
    return [on.workload, median(costOf(on)).toFixed(3), median(cost ?? []).toFixed(3), ratio(costOf(on), cost)];
  });
  return table(['what', 'CPU, ms', 'off', 'ratio'], rows);
}

function ratio(own: readonly number[] | undefined, reference: readonly number[] | undefined): string {
  return (pairedRatio(own, reference) ?? Number.NaN).toFixed(2);
}

const [engine = 'sqlite', rounds = '5'] = process.argv.slice(2);
if ((engine !== 'sqlite' && engine !== 'postgres') || !/^[1-9]\d?$/.test(rounds)) {
  console.error('Usage: approvals.ts [sqlite|postgres] [rounds, 1 to 99]');
  process.exitCode = 2;
} else {
  await main(engine, Number(rounds));
}
