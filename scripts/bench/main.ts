/**
 * `npm run bench`: exchange, refresh and introspection on SQLite and Postgres, beside a peer on the same machine in
 * the same run. What is measured and how to read it: docs/performance.md.
 */

import type { Contender } from './contender.ts';
import { writeFigures } from './document.ts';
import { judge } from './goals.ts';
import { type BenchOptions, readOptions, usage } from './options.ts';
import { startPeer } from './peer.ts';
import { describePlace } from './place.ts';
import { summarise, table } from './report.ts';
import { type Measurement, runRounds } from './rounds.ts';
import { onStage } from './stage.ts';

/** Requests under way at any time, each on a connection of its own. */
const CONCURRENCY = 32;

async function main(options: BenchOptions): Promise<void> {
  await onStage(async (stage) => {
    const peer = await startPeer();
    stage.afterwards(peer.stop);
    const contenders: Contender[] = [peer.contender];
    const ready: string[] = [];
    for (const database of options.databases) {
      const mandate = await stage.start(database);
      contenders.push(mandate.exchange, mandate.refresh, mandate.introspection);
      ready.push(`${Math.round(mandate.process.readyAfter)} ms on ${database}`);
    }
    const measurements = await runRounds(contenders, { ...options, concurrency: CONCURRENCY, progress: printProgress });
    const figures = describe(options, measurements, peer.contender.name, ready);
    console.log(`\n${figures}`);
    if (options.write) {
      writeFigures(figures);
    }
  });
}

function printProgress({ contender, round, rate, cpu }: Measurement): void {
  const perRequest = cpu === undefined ? '' : `, ${cpu.toFixed(2)} ms CPU each`;
  console.log(`round ${round}  ${contender.padEnd(34)} ${Math.round(rate)} a second${perRequest}`);
}

function describe(
  options: BenchOptions,
  measurements: readonly Measurement[],
  reference: string,
  ready: readonly string[],
): string {
  const summaries = summarise(measurements, reference);
  const only = options.databases.length === 1 ? ` --only ${options.databases[0]}` : '';
  const command = `npm run bench -- --seconds ${options.seconds} --rounds ${options.rounds}${only}`;
  return [
    ...describePlace(new Date()).map((line) => `- ${line}`),
    `- Command: \`${command}\`, ${CONCURRENCY} requests at once`,
    `- Ready after start: ${ready.join(', ')}`,
    '',
    table(summaries),
    '',
    ...judge(summaries).map((line) => `- ${line}`),
  ].join('\n');
}

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  console.error(`${options}\n\n${usage}`);
  process.exitCode = 2;
} else {
  await main(options);
}
