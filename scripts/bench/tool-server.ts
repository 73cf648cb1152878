/**
 * What it costs a tool server to decide about a task token with keys that it holds, beside a bare jose verification of
 * the same tokens, in the same process and the same run:
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/tool-server.ts [rounds] [tokens in a round]
 *
 * Both check signature, typ, issuer, audience and dates. The library also reads strictly, checks `jti`, `sub`, `act`
 * and scope, and tells of the access. The goal: at most 1.5 times as much, in time and in CPU.
 */

import { importJWK, jwtVerify } from 'jose';
import { createToolServer } from '../../adapters/sdk/tool-server/core/tool-server.ts';
import { AUDIENCE, startFakeControlPlane } from '../../test/support/tool-server/control-plane.ts';
import { median } from './statistics.ts';

const RATIO_GOAL = 1.5;
/** Requests under way at any time. */
const CONCURRENCY = 32;

const [rounds = 15, tokensInRound = 4000] = process.argv.slice(2).map(Number);

interface Cost {
  /** Milliseconds for each token. */
  readonly time: number;
  readonly cpu: number;
}

const seconds = () => Math.floor(Date.now() / 1000);
const plane = await startFakeControlPlane(seconds);
try {
  const { issuer } = plane;
  let told = 0;
  const toolServer = createToolServer({
    ...{ issuer, audience: AUDIENCE },
    onAccess: () => {
      told += 1;
    },
  });
  const policy = toolServer.policy({ scope: ['jira:read'] });
  const key = await importJWK({ ...plane.key.publicJwk }, 'ES256');

  const contenders = {
    jose: async (token: string) => {
      await jwtVerify(token, key, { issuer, audience: AUDIENCE, typ: 'at+jwt', algorithms: ['ES256'] });
    },
    library: async (token: string) => {
      const access = await toolServer.authorize({ authorization: `Bearer ${token}`, route: 'bench', policy });
      if (access.kind === 'refused') throw new Error(access.reason);
    },
  };
  const costs: Record<keyof typeof contenders, Cost[]> = { jose: [], library: [] };
  // The first round warms both up.
  for (let round = 0; round <= rounds; round += 1) {
    const tokens = Array.from({ length: tokensInRound }, (_, index) => plane.token({ jti: `tok_${round}_${index}` }));
    // In turns, every other round in reverse, so that whatever else the machine does falls on both.
    const order = round % 2 === 0 ? (['jose', 'library'] as const) : (['library', 'jose'] as const);
    for (const name of order) {
      const cost = await measure(tokens, contenders[name]);
      if (round > 0) costs[name].push(cost);
    }
  }
  if (told !== (rounds + 1) * tokensInRound) throw new Error('Not every access was told of.');
  const ratio = { time: ratioOf('time'), cpu: ratioOf('cpu') };
  console.log(`${rounds} rounds of ${tokensInRound} tokens, ${CONCURRENCY} at once, Node ${process.versions.node}`);
  for (const name of ['jose', 'library'] as const) {
    const middle = (kind: keyof Cost) => median(costs[name].map((cost) => cost[kind])).toFixed(3);
    console.log(`${name.padEnd(8)} ${middle('time')} ms each, ${middle('cpu')} ms CPU each`);
  }
  console.log(`library to jose: ${ratio.time.toFixed(2)} in time, ${ratio.cpu.toFixed(2)} in CPU; goal ${RATIO_GOAL}`);
  if (ratio.time > RATIO_GOAL || ratio.cpu > RATIO_GOAL) process.exitCode = 1;

  function ratioOf(kind: keyof Cost): number {
    return median(costs.library.map((cost, round) => cost[kind] / (costs.jose[round]?.[kind] ?? Number.NaN)));
  }
} finally {
  await plane.stop();
}

async function measure(tokens: readonly string[], verify: (token: string) => Promise<void>): Promise<Cost> {
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  let next = 0;
  const worker = async () => {
    for (let token = tokens[next++]; token !== undefined; token = tokens[next++]) await verify(token);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  const { user, system } = process.cpuUsage(cpuBefore);
  const time = performance.now() - began;
  return { time: time / tokens.length, cpu: (user + system) / 1000 / tokens.length };
}
