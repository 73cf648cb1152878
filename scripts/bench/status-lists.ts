/**
 * Measures the cost of status lists (`Service:StatusLists`):
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/status-lists.ts [sqlite|postgres] [rounds] [seconds]
 *
 * - The CPU of an exchange, of the service and Postgres together, with the lists on and off, after a warm-up. Each round
 *   starts both services anew: two processes of one service differ by up to a tenth for as long as they run.
 * - A list of 131,072 indices, of which 10% are not valid: the time to make it from the tables, and the longest time in
 *   which the event loop did nothing else. The list is made in this process, by the parts that the service has.
 * - The CPU of a service with 1,000 tool servers that poll this list, each every five seconds with the ETag that it has. An
 *   epoch lasts 20 s, so measure for a multiple of that: one in four polls is then answered 200. Before it, the same polls of
 *   a bare server (bare-server.ts).
 *
 * Exits with 1 if a goal is missed.
 */

import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { zlibDeflate } from '../../adapters/platform/zlib-deflate.ts';
import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import type { Storage } from '../../adapters/storage/storage.ts';
import { publishedStatusLists } from '../../application/token/status-list.ts';
import { capturedLog } from '../../test/support/captured-log.ts';
import { newKeys } from '../../test/support/ledger-fixture.ts';
import { openPostgres } from '../../test/support/open-postgres.ts';
import { cpuSeconds, describeMachine } from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { startChildServer } from './child-server.ts';
import { driveClosedLoop, toBytes } from './load.ts';
import { median } from './report.ts';
import { fillTables } from './rows.ts';
import { type Started, withTestbed } from './testbed.ts';
import { CONCURRENCY, costOf } from './workload.ts';

const GOALS = { exchange: 1.05, madeMs: 50, stallMs: 50, pollsOfBareServer: 2 };
const REQUESTS = 4000;
const ENTRIES = 131_072;
const LIST_ID = 'q80B-f_nWEZ5HLXzGk6-zA';
const MAKINGS = 9;
const POLLERS = 1000;
const POLL_MS = 5000;
/** Until then a service runs code that is not compiled yet, and the compiler itself takes CPU time. */
const WARM_UP = 10_000;
const MEDIA_TYPE = 'application/statuslist+jwt';
const TTL = 5;
const QUIET = { Service__Audit__Checkpoint__Interval: 'PT1H', Service__Tasks__SweepInterval: 'P1D' };
const ON = { ...QUIET, Service__StatusLists__Enabled: 'true' };

async function main(engine: Engine, rounds: number, seconds: number): Promise<void> {
  await withTestbed(async ({ start }) => {
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    const reached = [await exchanges((settings) => start(engine, { settings }), rounds)];
    const on = await start(engine, { settings: ON });
    await fillList(on);
    reached.push(await making(on), await polling(on, seconds));
    if (reached.includes(false)) process.exitCode = 1;
  });
}

function judge(what: string, isReached: boolean): boolean {
  console.log(`- ${what}: ${isReached ? 'reached' : 'NOT reached'}`);
  return isReached;
}

async function exchanges(start: (settings: typeof QUIET) => Promise<Started>, rounds: number): Promise<boolean> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const onFirst = round % 2 === 1 ? await start(ON) : undefined;
    const off = await start(QUIET);
    const on = onFirst ?? (await start(ON));
    for (const { exchange } of [off, on]) await costOf(exchange, WARM_UP);
    const costs = [];
    for (const { exchange } of [off, on, on, off]) costs.push(await costOf(exchange, REQUESTS));
    for (const { process: service } of [off, on]) await service.stop();
    const [before = 0, between = 0, again = 0, after = 0] = costs;
    const [without, using] = [(before + after) / 2, (between + again) / 2];
    ratios.push(using / without);
    console.log(
      `round ${round + 1}  ${without.toFixed(3)} ms, ${using.toFixed(3)} ms: ${(using / without).toFixed(3)}`,
    );
  }
  const ratio = median(ratios);
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  return judge(`an exchange costs ${ratio.toFixed(2)} of one without lists (${range})`, ratio <= GOALS.exchange);
}

/** Below 100, and different at each index without a pattern that would compress well. */
const CHANCE = '($n * $n % 1000003 * 7919 % 999983 % 100)';

/** All indices are taken; of a hundred tasks eight have ended, one is of a disabled agent, and one has a revoked token. */
async function fillList(started: Started): Promise<void> {
  const tables = {
    tasks: [
      'task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at, state, ended_at, end_reason, status_list, status_index',
      `'task_' || $n, case when ${CHANCE} = 8 then (select min(agent_id) from agents) else 'agent' end, 'key-' || ($n % 50000),
        'sub-' || ($n % 50000), 'https://wiki.example', 'wiki:read', 1, $now, $later,
        case when ${CHANCE} < 8 then 'revoked' else 'live' end, case when ${CHANCE} < 8 then $now end,
        case when ${CHANCE} < 8 then 'client_revoked' end, '${LIST_ID}', $n - 1`,
    ],
  } as const;
  await fillTables(started, ENTRIES, tables);
  const revoked = `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at, status_list)
    select 'tok_' || task_id, task_id, created_at, 'client_revoked', expires_at, status_list from tasks
      where status_list = '${LIST_ID}' and ${CHANCE.replaceAll('$n', '(cast(status_index + 1 as bigint))')} = 9`;
  const list = [
    'list_id, audience, entries, created_at',
    `'${LIST_ID}', 'https://wiki.example', ${ENTRIES}, $now`,
  ] as const;
  const disabling = 'update agents set enabled = false where agent_id = (select min(agent_id) from agents)';
  await fillTables(started, 1, { status_lists: list }, [revoked, disabling]);
}

async function making(started: Started): Promise<boolean> {
  const storage = await openStored(started);
  const times: number[] = [];
  const stalls: number[] = [];
  let bytes = 0;
  try {
    const signingKeys = await newKeys();
    for (let nth = 0; nth < MAKINGS; nth += 1) {
      const find = publishedStatusLists({
        statusLists: storage.statusLists,
        signingKeys,
        clock: systemClock(),
        deflate: zlibDeflate,
        hash: sha256Bytes,
        monotonic: () => performance.now(),
        measurements: undefined,
        issuer: started.process.issuer,
        ttl: TTL,
        entries: ENTRIES,
      });
      const delays = monitorEventLoopDelay({ resolution: 1 });
      delays.enable();
      // The first sample of the monitor is a whole interval later.
      await pause(20);
      delays.reset();
      const began = performance.now();
      bytes = (await (await find(LIST_ID))?.token())?.length ?? 0;
      times.push(performance.now() - began);
      await pause(5);
      delays.disable();
      stalls.push(delays.max / 1e6);
    }
  } finally {
    await storage.close();
  }
  const [made, stall] = [median(times), median(stalls)];
  console.log(
    `made in ${times.map((time) => time.toFixed(0)).join(', ')} ms; stalls ${stalls.map((time) => time.toFixed(0)).join(', ')} ms`,
  );
  const what = `a list of ${ENTRIES} indices, 10% not valid: ${bytes} bytes, made in ${made.toFixed(0)} ms, longest stall ${stall.toFixed(0)} ms`;
  return judge(what, made < GOALS.madeMs && stall < GOALS.stallMs);
}

function openStored({ postgresUri, sqliteFile }: Started): Promise<Storage> {
  const surroundings = { clock: systemClock(), log: capturedLog() };
  return sqliteFile === undefined
    ? openPostgres({ connectionString: String(postgresUri) }, surroundings)
    : openSqlite({ path: sqliteFile }, surroundings);
}

async function polling({ process: service }: Started, seconds: number): Promise<boolean> {
  const bare = await startChildServer('bare-server.ts');
  const least = await sharePolled(`${bare.origin}/status`, bare.pid, seconds);
  bare.stop();
  const { share, counts, bytes } = await sharePolled(`${service.issuer}/status/${LIST_ID}`, service.pid, seconds);
  const answers = [...counts].map(([status, count]) => `${count} answers ${status}`).join(', ');
  console.log(`the same polls of a bare server take ${(least.share * 100).toFixed(1)} % of a core`);
  return judge(
    `${POLLERS} pollers of that list take ${(share * 100).toFixed(1)} % of a core (${answers}, ${(bytes / 1e6).toFixed(2)} MB a second)`,
    share <= GOALS.pollsOfBareServer * least.share &&
      [...counts.keys()].every((status) => status === 200 || status === 304),
  );
}

/** The share of a core that a server uses while it is polled. */
async function sharePolled(
  url: string,
  pid: number,
  seconds: number,
): Promise<{ readonly share: number; readonly counts: ReadonlyMap<number, number>; readonly bytes: number }> {
  const agent = new Agent({ keepAlive: true });
  const counts = new Map<number, number>();
  let received = 0;
  async function poller(nth: number, deadline: number): Promise<void> {
    await pause((nth * POLL_MS) / POLLERS);
    let etag: string | undefined;
    while (performance.now() < deadline) {
      const began = performance.now();
      const headers = {
        accept: 'application/statuslist+jwt',
        ...(etag === undefined ? {} : { 'if-none-match': etag }),
      };
      const [response]: IncomingMessage[] = await once(get(url, { agent, headers }), 'response');
      if (response === undefined) throw new Error('a response event without a response');
      received += (await buffer(response)).length;
      counts.set(response.statusCode ?? 0, (counts.get(response.statusCode ?? 0) ?? 0) + 1);
      etag = response.headers.etag;
      await pause(Math.max(0, began + POLL_MS - performance.now()));
    }
  }
  const { hostname: host, port, pathname: path } = new URL(url);
  const target = { host, port: Number(port) };
  const warmUp = toBytes(target, { method: 'GET', path, headers: { accept: MEDIA_TYPE } });
  const many = Array.from({ length: WARM_UP }, () => warmUp);
  await driveClosedLoop(target, many, { concurrency: CONCURRENCY, seconds: 60, expected: '' });
  const deadline = performance.now() + POLL_MS + seconds * 1000;
  const pollers = Array.from({ length: POLLERS }, (_, nth) => poller(nth, deadline));
  await pause(POLL_MS);
  counts.clear();
  received = 0;
  const [began, before] = [performance.now(), cpuSeconds(pid) ?? Number.NaN];
  await Promise.all(pollers);
  const took = (performance.now() - began) / 1000;
  const share = ((cpuSeconds(pid) ?? Number.NaN) - before) / took;
  agent.destroy();
  return { share, counts, bytes: received / took };
}

const [engine = 'sqlite', rounds = '9', seconds = '40'] = process.argv.slice(2);
if (engine !== 'sqlite' && engine !== 'postgres') {
  console.error('status-lists.ts [sqlite|postgres] [rounds] [seconds]');
  process.exitCode = 2;
} else {
  await main(engine, Number(rounds), Number(seconds));
}
