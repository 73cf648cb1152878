/**
 * What a refusal costs beside what it spares:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/refusal.ts
 *
 * The CPU of the service for an exchange, for a refusal by its head alone, and for one that node had read: the same
 * request with a tab in a header, which is left to the parser (docs/decisions/0015). Turn about, several rounds of each,
 * since a machine that is shared is not always as fast: the ratios are what counts.
 */

import type { Contender } from './contender.ts';
import { apart } from './cores.ts';
import { driveOpenLoop, type OpenLoopResult } from './open-loop.ts';
import { describePlace } from './place.ts';
import { processCpuSeconds } from './process-cpu.ts';
import { onStage } from './stage.ts';
import { median } from './statistics.ts';

const ROUNDS = 5;
const SECONDS = 2;
/** A second. Fewer than are served at most, so that nothing waits. */
const EXCHANGES = 400;
const REFUSALS = 1500;

/** What is refused comes through a proxy, from a source of its own: the requests that set the stage keep their permits. */
const LIMITED = {
  Service__RateLimit__Enabled: 'true',
  Service__RateLimit__TrustedProxies: '127.0.0.1/32',
  Service__RateLimit__PermitsPerMinute: '60',
  Service__RateLimit__Burst: '1000',
};

await onStage(async (stage) => {
  const { exchange } = await stage.start('sqlite', { Service__Overload__Enabled: 'true' }, 1);
  const limited = await stage.start('sqlite', { Service__Overload__Enabled: 'true', ...LIMITED }, 1);
  for (const line of describePlace(new Date())) console.log(`- ${line}`);
  apart([exchange.pid, limited.exchange.pid], [process.pid]);
  const [request] = limited.exchange.prepare(1);
  if (request === undefined) throw new Error('there is no request');
  const flood = (header: string): Contender => {
    const bytes = Buffer.from(
      request.toString('latin1').replace('\r\n', `\r\nX-Forwarded-For: 192.0.2.1\r\n${header}`),
    );
    return { ...limited.exchange, prepare: (count) => Array<Buffer>(count).fill(bytes) };
  };
  const measured = [
    { what: 'an exchange', contender: exchange, rate: EXCHANGES, status: 200 },
    {
      what: 'a refusal of a request that node has read',
      contender: flood('X-Any: \tx\r\n'),
      rate: REFUSALS,
      status: 429,
    },
    { what: 'a refusal by its head alone', contender: flood('X-Any: x\r\n'), rate: REFUSALS, status: 429 },
  ].map((one) => ({ ...one, milliseconds: [] as number[] }));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { contender, rate, status, milliseconds } of measured) {
      const requests = contender.prepare(rate * SECONDS);
      const before = processCpuSeconds(contender.pid) ?? Number.NaN;
      const result = await driveOpenLoop(contender.target, requests, { rate, seconds: SECONDS });
      const after = processCpuSeconds(contender.pid) ?? Number.NaN;
      // The first warms up, and empties the bucket.
      if (round > 0) milliseconds.push(((after - before) * 1000) / answersOf(result, status));
    }
  }
  const [first] = measured;
  const one = median(first?.milliseconds ?? []);
  for (const { what, milliseconds } of measured) {
    const each = median(milliseconds);
    console.log(`- ${what}: ${each.toFixed(3)} ms of CPU, ${(each / one).toFixed(3)} of an exchange`);
  }
});

function answersOf({ byStatus }: OpenLoopResult, status: number): number {
  return byStatus.get(status)?.count ?? 0;
}
