/**
 * Compares the cost of checking a task token by `@mandate/tool-server`, with cached keys, to a bare verification by jose.
 * Both check the same tokens in the same process and run:
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/tool-server.ts [rounds] [tokens in a round]
 *
 * Both check the signature, `typ`, issuer, audience and dates. Mandate's library also parses strictly, checks `jti`,
 * `sub`, `act` and scope, and reports the access. The goal is at most 1.5 times jose's elapsed time and CPU time.
 */

import { importJWK, jwtVerify } from 'jose';
import { createToolServer } from '../../adapters/sdk/tool-server/core/tool-server.ts';
import { AUDIENCE, startFakeControlPlane } from '../../test/support/tool-server/control-plane.ts';
import { median } from './report.ts';

const RATIO_GOAL = 1.5;
/** Checks under way at a time. */
const CONCURRENCY = 32;
const NAMES = ['jose', 'library'] as const;

const [rounds = 15, tokensInRound = 4000] = process.argv.slice(2).map(Number);

/** Milliseconds for each token. */
interface Cost {
  readonly time: number;
  readonly cpu: number;
}

const plane = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
try {
  const { issuer } = plane;
  let reported = 0;
  const onAccess = () => {
    reported += 1;
  };
  const toolServer = createToolServer({ issuer, audience: AUDIENCE, onAccess });
  const policy = toolServer.policy({ scope: ['jira:read'] });
  const key = await importJWK({ ...plane.key.publicJwk }, 'ES256');

  const checks = {
    jose: async (token: string) => {
      await jwtVerify(token, key, { issuer, audience: AUDIENCE, typ: 'at+jwt', algorithms: ['ES256'] });
    },
    library: async (token: string) => {
      const access = await toolServer.authorize({ authorization: `Bearer ${token}`, route: 'bench', policy });
      if (access.kind === 'refused') throw new Error(access.reason);
    },
  };
  const costs: Record<keyof typeof checks, Cost[]> = { jose: [], library: [] };
  // Round 0 is a warm-up.
  for (let round = 0; round <= rounds; round += 1) {
    const tokens = Array.from({ length: tokensInRound }, (_, index) => plane.token({ jti: `tok_${round}_${index}` }));
    // Every second round runs in reverse order, so that other load on the machine affects both.
    for (const name of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
      const cost = await measure(tokens, checks[name]);
      if (round > 0) costs[name].push(cost);
    }
  }
  if (reported !== (rounds + 1) * tokensInRound) throw new Error('Not every access was reported.');
  const ratioOf = (kind: keyof Cost) =>
    median(costs.library.map((cost, round) => cost[kind] / (costs.jose[round]?.[kind] ?? Number.NaN)));
  const ratio = { time: ratioOf('time'), cpu: ratioOf('cpu') };
  console.log(`${rounds} rounds of ${tokensInRound} tokens, ${CONCURRENCY} at once, Node ${process.versions.node}`);
  for (const name of NAMES) {
    const middle = (kind: keyof Cost) => median(costs[name].map((cost) => cost[kind])).toFixed(3);
    console.log(`${name.padEnd(8)} ${middle('time')} ms each, ${middle('cpu')} ms CPU each`);
  }
  console.log(`library to jose: ${ratio.time.toFixed(2)} in time, ${ratio.cpu.toFixed(2)} in CPU; goal ${RATIO_GOAL}`);
  if (ratio.time > RATIO_GOAL || ratio.cpu > RATIO_GOAL) process.exitCode = 1;
} finally {
  await plane.stop();
}

async function measure(tokens: readonly string[], check: (token: string) => Promise<void>): Promise<Cost> {
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  let next = 0;
  const worker = async () => {
    for (let token = tokens[next++]; token !== undefined; token = tokens[next++]) await check(token);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  const { user, system } = process.cpuUsage(cpuBefore);
  const time = performance.now() - began;
  return { time: time / tokens.length, cpu: (user + system) / 1000 / tokens.length };
}
