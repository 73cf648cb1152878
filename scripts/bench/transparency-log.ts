/**
 * Measures a transparency log of ten million leaves: how long a tile and the note take over HTTP. And how long a pass of
 * the log takes beside the sealing of some records. Exits with 1 if the median of a tile is above the goal.
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/transparency-log.ts [requests] [rounds]
 */

import { randomInt } from 'node:crypto';
import { formatTilePath, TILE_WIDTH } from '../../domain/log/tiles.ts';
import { databases } from '../../test/support/databases.ts';
import { type Mandate, startMandate } from '../../test/support/mandate.ts';
import { stopPostgresServer } from '../../test/support/postgres-server.ts';
import { logKeySettings } from '../../test/support/transparency-log.ts';
import { describeMachine } from '../machine.ts';
import { median } from './report.ts';

const LEAVES = 10_000_000;
/** Milliseconds. */
const TILE_GOAL = 5;
const RECORDS = 100;
/** Requests before the measurement, for the JIT compiler. */
const WARM_UP = 200;
/** The length of a full tile in base64. */
const CHARACTERS = Math.ceil((TILE_WIDTH * 32) / 3) * 4;

const [requests = '500', rounds = '9'] = process.argv.slice(2);
console.log(describeMachine(new Date()).join('\n'));
for (const database of databases) {
  const settings = { ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };
  const mandate = await startMandate({ database, settings });
  await measurePasses(mandate);
  await fill(mandate);
  const index = () => randomInt(Math.floor(LEAVES / TILE_WIDTH));
  const tile = () => formatTilePath({ level: 0, index: index(), width: TILE_WIDTH, isEntries: false });
  await measureRequests(mandate, 'a full tile', () => `/log/tile/${tile()}`);
  await measureRequests(mandate, 'a tile of one hash', () => `/log/tile/${tile()}.p/1`);
  await measureRequests(mandate, 'the note', () => '/log/checkpoint');
  await mandate.stop();
}
await stopPostgresServer();

/** Fills the tables with tiles of random hashes. */
async function fill({ engine, sql }: Mandate): Promise<void> {
  const text = `substr(${engine === 'postgres' ? `repeat(md5(n::text), ${CHARACTERS})` : `hex(randomblob(${CHARACTERS}))`}, 1, ${CHARACTERS - 1}) || '='`;
  const numbers =
    engine === 'postgres'
      ? 'generate_series(0, $last) n'
      : '(with recursive s (n) as (select 0 union all select n + 1 from s where n < $last) select n from s)';
  const last = Math.floor(LEAVES / TILE_WIDTH) - 1;
  await sql('delete from log_tiles');
  await sql(
    `insert into log_tiles (level, tile_index, hashes) select 0, n, ${text} from ${numbers.replace('$last', String(last))}`,
  );
  await sql(`update log_state set size = ${LEAVES}, published_size = ${LEAVES}`);
}

async function measureRequests({ engine, url }: Mandate, what: string, path: () => string): Promise<void> {
  const times: number[] = [];
  for (let nth = -WARM_UP; nth < Number(requests); nth += 1) {
    const target = `${url}${path()}`;
    const began = performance.now();
    const answer = await fetch(target);
    await answer.arrayBuffer();
    if (nth >= 0) times.push(performance.now() - began);
    if (answer.status !== 200) throw new Error(`${target} answered ${answer.status}`);
  }
  times.sort((one, other) => one - other);
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  if (median(times) > TILE_GOAL) process.exitCode = 1;
  console.log(`${engine}: ${what}: median ${median(times).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
}

async function measurePasses({ engine, jobs, block }: Mandate): Promise<void> {
  const [sealing, growing]: [number[], number[]] = [[], []];
  const timed = async (times: number[], run: () => Promise<void>) => {
    const began = performance.now();
    await run();
    times.push(performance.now() - began);
  };
  for (let round = 0; round < Number(rounds); round += 1) {
    for (let nth = 0; nth < RECORDS; nth += 1) await block(`person-${round}-${nth}`, 'disabled');
    await timed(sealing, () => jobs.seal());
    await timed(growing, () => jobs.growLog());
  }
  const [seal, grow] = [median(sealing), median(growing)];
  const records = `${RECORDS} records`;
  console.log(`${engine}: sealing ${records}: ${seal.toFixed(1)} ms; then a pass of the log: ${grow.toFixed(1)} ms`);
}
