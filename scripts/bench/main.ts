/**
 * `npm run bench`: measures the requests of Mandate on SQLite and on Postgres, beside two other servers (the peers) on the
 * same machine in the same run. docs/performance.md describes the method.
 *
 * run.ts is one run: testbed.ts starts an identity provider, Mandate (mandate.ts) and the peers (peer.ts); load.ts sends
 * each workload (workload.ts) at full speed. studies.ts measures more, once. figures.ts prints the tables. Each other
 * program of this folder measures one thing, and its comment has its command.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describeMachine } from '../machine.ts';
import { describeFigures, type Figures } from './figures.ts';
import { type BenchOptions, readOptions, usage } from './options.ts';
import { replaceFigures } from './report.ts';
import { measureRun } from './run.ts';
import { measureStudies } from './studies.ts';
import { CONCURRENCY } from './workload.ts';

const PAGE = new URL('../../docs/performance.md', import.meta.url);

async function main(options: BenchOptions): Promise<void> {
  const { file, databases, write } = options;
  let figures: Figures =
    file !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { runs: [], studies: {} };
  const keep = (more: Figures) => {
    figures = more;
    if (file !== undefined) writeFileSync(file, JSON.stringify(figures));
  };
  for (let nth = 1; nth <= options.runs; nth += 1) {
    console.log(`\nrun ${nth} of ${options.runs}`);
    keep({ ...figures, runs: [...figures.runs, await timed(() => measureRun(options))] });
  }
  if (options.studies) keep({ ...figures, studies: await timed(() => measureStudies(databases)) });
  const { rounds, seconds } = options;
  const text = [
    ...describeMachine(new Date()).map((line) => `- ${line}`),
    `- Runs: ${figures.runs.length}, each of ${rounds} rounds of ${seconds} s, ${CONCURRENCY} requests at once`,
    '',
    describeFigures(figures),
  ].join('\n');
  console.log(`\n${text}`);
  if (write) writeFileSync(PAGE, replaceFigures(readFileSync(PAGE, 'utf8'), text));
}

async function timed<Result>(work: () => Promise<Result>): Promise<Result> {
  const began = performance.now();
  const result = await work();
  console.log(`took ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return result;
}

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  console.error(`${options}\n\n${usage}`);
  process.exitCode = 2;
} else {
  await main(options);
}
