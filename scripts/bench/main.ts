/**
 * `npm run bench`: exchange, refresh and introspection on SQLite and Postgres, beside a peer on the same machine in
 * the same run. What is measured and how to read it: docs/performance.md.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import type { Contender } from './contender.ts';
import { writeFigures } from './document.ts';
import { judge } from './goals.ts';
import { type MandateUnderTest, startMandateUnderTest } from './mandate.ts';
import { type BenchOptions, readOptions, usage } from './options.ts';
import { startPeer } from './peer.ts';
import { describePlace } from './place.ts';
import { startPostgres } from './postgres.ts';
import { summarise, table } from './report.ts';
import { type Measurement, runRounds } from './rounds.ts';

/** Requests under way at any time, each on a connection of its own. */
const CONCURRENCY = 32;

async function main(options: BenchOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-bench-'));
  const undo: (() => Promise<void> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const provider = await startIdentityProvider({ algorithm: 'RS256' });
    undo.push(() => provider.stop());
    const peer = await startPeer();
    undo.push(peer.stop);
    const contenders: Contender[] = [peer.contender];
    const ready: string[] = [];
    for (const database of options.databases) {
      const mandate = await startOn(database, provider, folder, undo);
      contenders.push(mandate.exchange, mandate.refresh, mandate.introspection);
      ready.push(`${Math.round(mandate.process.readyAfter)} ms on ${database}`);
    }
    const measurements = await runRounds(contenders, { ...options, concurrency: CONCURRENCY, progress: printProgress });
    const figures = describe(options, measurements, peer.contender.name, ready);
    console.log(`\n${figures}`);
    if (options.write) {
      writeFigures(figures);
    }
  } finally {
    await undoAll(undo);
  }
}

/** Backwards, and to the end even when a step fails: no server is to outlive the run. */
async function undoAll(undo: readonly (() => Promise<void> | void)[]): Promise<void> {
  for (const step of [...undo].reverse()) {
    try {
      await step();
    } catch (error) {
      console.error(error);
      process.exitCode = 1;
    }
  }
}

async function startOn(
  database: 'sqlite' | 'postgres',
  provider: Awaited<ReturnType<typeof startIdentityProvider>>,
  parent: string,
  undo: (() => Promise<void> | void)[],
): Promise<MandateUnderTest> {
  const folder = mkdtempSync(join(parent, `${database}-`));
  let settings: Record<string, string> = {
    Service__Database__Provider: 'sqlite',
    Service__Database__Path: join(folder, 'mandate.db'),
  };
  if (database === 'postgres') {
    const postgres = await startPostgres();
    undo.push(postgres.stop);
    settings = {
      Service__Database__Provider: 'postgres',
      Service__Database__ConnectionString: postgres.servingUri,
      Service__Database__MigrationConnectionString: postgres.ownerUri,
    };
  }
  const name = database === 'sqlite' ? 'SQLite' : 'Postgres';
  const mandate = await startMandateUnderTest(name, settings, provider, folder);
  undo.push(mandate.process.stop);
  return mandate;
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
