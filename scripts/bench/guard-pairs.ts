/**
 * What single features of the guard cost: the same request with and without the feature, in blocks that alternate.
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/guard-pairs.ts [alternations] [requests of a block]
 *
 * - `arguments`: a call with 20 arguments, of a tool with a schema of 20 members, and of one without. One guard has both.
 * - `issuer`: a list of two, whose tokens take turns, and one text. Two guards.
 * - `mcp.list`: `tools/list` of 500 tools, with `allowed` and with `all`. Two guards.
 * - `max_body_bytes`: how long calls of 16 MiB keep other requests waiting.
 *
 * Each request has a new token. The cost is the CPU time of the guard's process, at 32 requests at once. A result is the
 * median over pairs of neighbouring blocks, so other load on the machine affects both sides. Guards are pinned as in
 * `npm run bench`.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FakeControlPlane, startFakeControlPlane } from '../../test/support/tool-server/control-plane.ts';
import { type Cleanup, withCleanup } from '../cleanup.ts';
import { describeMachine, pinToSeparateCores } from '../machine.ts';
import { type GuardProcess, guarded } from './guarded.ts';
import { driveClosedLoop, toBytes } from './load.ts';
import { median, pairedRatio, table } from './report.ts';
import { costOf, type Workload } from './workload.ts';

const FIELDS = Array.from({ length: 20 }, (_, nth) => ({ name: `field_${nth}`, isNumber: nth % 2 === 0 }));
const ARGUMENTS = Object.fromEntries(FIELDS.map(({ name, isNumber }) => [name, isNumber ? 7 : `The text of ${name}`]));
const SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(
    FIELDS.map(({ name, isNumber }) => [
      name,
      isNumber ? { type: 'number', minimum: 0, maximum: 1000 } : { type: 'string', maxLength: 200, pattern: '^[A-Z]' },
    ]),
  ),
  required: FIELDS.map(({ name }) => name),
  additionalProperties: false,
};

/** The scopes of a token, and the share of the 500 tools that it may call. */
const SHARES = { few: 'few', half: 'few half', all: 'few half all' } as const;
type Share = keyof typeof SHARES;
const TOOLS = Array.from({ length: 500 }, (_, nth) => ({ name: `tool_${nth}`, scope: scopeOfTool(nth) }));
const LISTS = { '68 KB': JSON.stringify(listOf(false)), '212 KB': JSON.stringify(listOf(true)) } as const;
type List = keyof typeof LISTS;

/** The load generator reads each list too, so a block has fewer of them. */
const LISTS_OF_BLOCK = 0.25;
/** Blocks of each side before the first measurement: until then it runs code that is not compiled yet. */
const WARM_UP_BLOCKS = 4;
const MIB = 1024 * 1024;
const LONG_BODIES = 9;
/** Requests that are sent beside one. */
const BESIDE = 100;
/** Milliseconds between two of them. */
const BESIDE_EVERY_MS = 5;

interface Pair {
  readonly name: string;
  readonly without: Workload;
  readonly feature: Workload;
  readonly requests: number;
}

async function main(alternations: number, requests: number): Promise<void> {
  await withCleanup(async (cleanup) => {
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    const { plane, startGuard } = await guarded(cleanup);
    const second = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
    cleanup(() => second.stop());
    const upstream = await startUpstream(cleanup);
    const start = (list: string, issuer?: string) => startGuard(fileOf(upstream, list), issuer);
    const one = await start('all');
    const two = await start('all', `[${plane.issuer}, ${second.issuer}]`);
    const allowed = await start('allowed');
    const call = (guard: GuardProcess, tool: string, planes = [plane]) => callsOf(guard, tool, planes);
    const pairs: readonly Pair[] = [
      { name: 'a schema of 20 members', without: call(one, 'plain'), feature: call(one, 'ruled'), requests },
      { name: 'two issuers', without: call(one, 'plain'), feature: call(two, 'plain', [plane, second]), requests },
      { name: 'the same twice', without: call(one, 'plain'), feature: call(one, 'plain'), requests },
      ...(Object.keys(LISTS) as List[]).flatMap((list) =>
        (Object.keys(SHARES) as Share[]).map((share) => ({
          name: `500 tools, ${list}, ${share} kept`,
          without: listsOf(one, plane, list, share),
          feature: listsOf(allowed, plane, list, share),
          requests: Math.ceil(requests * LISTS_OF_BLOCK),
        })),
      ),
    ];
    const services = [one, two, allowed].map(({ pid }) => pid);
    if (!pinToSeparateCores({ services, others: [process.pid] })) {
      console.log('- NOT pinned: that needs Linux, taskset and two cores');
    }
    const rows = [];
    for (const pair of pairs) rows.push(await measure(pair, alternations));
    console.log(`\n${table(['the feature', 'without', 'adds', 'its middle half', 'ratio'], rows)}`);
    await measureLongBodies(one, plane);
  });
}

/** @returns a row of the table */
async function measure({ name, without, feature, requests }: Pair, alternations: number): Promise<readonly string[]> {
  for (const workload of [without, feature]) await costOf(workload, WARM_UP_BLOCKS * requests);
  const costs = new Map<Workload, number[]>([
    [without, []],
    [feature, []],
  ]);
  for (let nth = 0; nth < alternations; nth += 1) {
    for (const workload of nth % 2 === 0 ? [without, feature] : [feature, without]) {
      costs.get(workload)?.push(await costOf(workload, requests));
    }
  }
  const [bare = [], own = []] = [costs.get(without), costs.get(feature)];
  const added = own.map((cost, nth) => cost - (bare[nth] ?? Number.NaN)).sort((a, b) => a - b);
  const quarter = Math.floor(added.length / 4);
  const middle = [added[quarter], added[added.length - 1 - quarter]].map((value) => value?.toFixed(3));
  const ratio = pairedRatio(own, bare)?.toFixed(3) ?? '';
  const row = [name, `${median(bare).toFixed(3)} ms`, `${median(added).toFixed(3)} ms`, middle.join(' to '), ratio];
  console.log(row.join('  '));
  return row;
}

/** The wait of the slowest other request, while a call of 16 MiB is read. One text is nearly all of the body. */
async function measureLongBodies(guard: GuardProcess, plane: FakeControlPlane): Promise<void> {
  const file = 'QUJD'.repeat((16 * MIB - 1000) / 4);
  const beside = workloadOf(guard, '"answer"', () => toolCall(guard, plane, 'plain', {}));
  const rows = [];
  for (const tool of ['plain', 'filed']) {
    const long = workloadOf(guard, '"answer"', () => toolCall(guard, plane, tool, { file }));
    const [cpu, waits]: [number[], number[]] = [[], []];
    for (let nth = 0; nth < LONG_BODIES; nth += 1) {
      const others = await beside.prepare(BESIDE);
      const isUnhurried = { concurrency: 1, seconds: 600, everyMs: BESIDE_EVERY_MS, expected: beside.expected };
      const slowest = driveClosedLoop(guard.target, others, isUnhurried).then(({ latencies }) => latencies.at(-1));
      await costOf(long, 1);
      waits.push((await slowest) ?? Number.NaN);
      cpu.push(await costOf(long, 1));
    }
    const name = tool === 'plain' ? 'a call of 16 MiB' : 'with a schema';
    rows.push([name, `${median(cpu).toFixed(0)} ms`, `${median(waits).toFixed(0)} ms`]);
  }
  console.log(`\n${table(['', 'CPU', 'another request waits'], rows)}`);
}

function fileOf(upstream: string, list: string): readonly string[] {
  return [
    'mode: proxy',
    `upstream: ${upstream}`,
    `max_body_bytes: ${16 * MIB}`,
    'mcp:',
    '  path: /mcp',
    `  list: ${list}`,
    '  tools:',
    '    plain: {scope: [few]}',
    `    ruled: {scope: [few], arguments: ${JSON.stringify(SCHEMA)}}`,
    '    filed: {scope: [few], arguments: {type: object, properties: {file: {type: string}}}}',
    ...TOOLS.map(({ name, scope }) => `    ${name}: {scope: [${scope}]}`),
  ];
}

function scopeOfTool(nth: number): Share {
  if (nth % 100 === 0) return 'few';
  return nth % 2 === 0 ? 'half' : 'all';
}

function listOf(isDescribed: boolean): object {
  const text = { type: 'string', description: 'What the tool needs to know, in one sentence' };
  const properties = isDescribed ? { project: text, title: text, labels: { type: 'array', items: text } } : {};
  const tools = TOOLS.map(({ name }) => ({
    name,
    description: `Reads what ${name} stands for, and answers with it.`,
    inputSchema: { type: 'object', properties },
  }));
  return { jsonrpc: '2.0', id: 7, result: { tools } };
}

function callsOf(guard: GuardProcess, tool: string, planes: readonly FakeControlPlane[]): Workload {
  const next = inTurn(planes);
  return workloadOf(guard, '"answer"', () => toolCall(guard, next(), tool, ARGUMENTS));
}

function listsOf(guard: GuardProcess, plane: FakeControlPlane, cursor: List, share: Share): Workload {
  const message = { jsonrpc: '2.0', id: 7, method: 'tools/list', params: { cursor } };
  return workloadOf(guard, '"tools"', () => post(guard, plane, message, SHARES[share]));
}

function workloadOf({ target, pid }: GuardProcess, expected: string, request: () => Buffer): Workload {
  const prepare = async (count: number) => Array.from({ length: count }, request);
  return { name: '', target, pid, databasePid: undefined, expected, prepare };
}

function toolCall(guard: GuardProcess, plane: FakeControlPlane, name: string, args: object): Buffer {
  return post(guard, plane, { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: args } }, 'few');
}

let tokens = 0;

function post({ target }: GuardProcess, plane: FakeControlPlane, message: object, scope: string): Buffer {
  tokens += 1;
  const headers = {
    authorization: `Bearer ${plane.token({ jti: `tok_${tokens}`, scope })}`,
    'content-type': 'application/json',
  };
  return toBytes(target, { method: 'POST', path: '/mcp', headers, body: JSON.stringify(message) });
}

function inTurn<Item>(items: readonly Item[]): () => Item {
  let nth = 0;
  return () => items[nth++ % items.length] as Item;
}

/** An MCP server as the guard sees it. It answers `tools/list` with the list that the cursor names, and each call alike. */
async function startUpstream(cleanup: Cleanup): Promise<string> {
  const server = createServer({ keepAliveTimeout: 65_000 }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const list = (Object.keys(LISTS) as List[]).find((name) => body.includes(`"cursor":"${name}"`));
    const answer = list === undefined ? '{"jsonrpc":"2.0","id":7,"result":{"answer":"done"}}' : LISTS[list];
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const [alternations = '20', requests = '1000'] = process.argv.slice(2);
if (!/^[1-9]\d?$/.test(alternations) || !/^[1-9]\d{1,4}$/.test(requests)) {
  console.error('guard-pairs.ts [alternations, 1 to 99] [requests of a block, 10 to 99999]');
  process.exitCode = 2;
} else {
  await main(Number(alternations), Number(requests));
}
