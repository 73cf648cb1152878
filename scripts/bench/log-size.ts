/**
 * Measures the size of SQLite's write-ahead log: the maximum during a day's exchanges, after an idle pause, and after
 * shutdown. A day's exchanges are by default one a second (86,400), sent as fast as the service answers.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/log-size.ts [exchanges]
 */

import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { describeMachine } from '../machine.ts';
import { driveClosedLoop } from './load.ts';
import { withTestbed } from './testbed.ts';
import { CONCURRENCY } from './workload.ts';

const SAMPLE_MS = 50;
/** How many requests are prepared at a time. Their assertions must not expire before they are sent. */
const PREPARED = 10_000;
/** Longer than the service waits before it moves the log into the file (`IDLE_CHECKPOINT_MS`). */
const IDLE_MS = 3000;
/** Longer than any load, which ends when its requests are sent. */
const SECONDS = 600;

const exchanges = Number(process.argv[2] ?? 86_400);

await withTestbed(async ({ start }) => {
  const { exchange, sqliteFile, process: service } = await start('sqlite');
  const size = (suffix: string) => statSync(`${sqliteFile}${suffix}`, { throwIfNoEntry: false })?.size ?? 0;
  let largest = 0;
  const sampling = setInterval(() => {
    largest = Math.max(largest, size('-wal'));
  }, SAMPLE_MS);
  console.log(describeMachine(new Date()).join('\n'));
  for (let sent = 0; sent < exchanges; sent += PREPARED) {
    const requests = exchange.prepare(Math.min(PREPARED, exchanges - sent));
    const { expected, target } = exchange;
    await driveClosedLoop(target, requests, { concurrency: CONCURRENCY, seconds: SECONDS, expected });
  }
  clearInterval(sampling);
  await pause(IDLE_MS);
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  console.log(`${exchanges} exchanges: database ${megabytes(size(''))}, log at most ${megabytes(largest)}`);
  console.log(`idle: log ${megabytes(size('-wal'))} (its space is used again)`);
  await service.stop();
  console.log(`stopped: log ${megabytes(size('-wal'))}`);
});
