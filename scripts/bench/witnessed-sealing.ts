/**
 * Measures whether sealing takes longer while the log grows and three witnesses are asked after each sealing pass:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/witnessed-sealing.ts [rounds] [records]
 *
 * Seals every 250 ms, by default 1,000 records: far more than a service writes in this time. Rounds of 20 passes with and
 * without the log alternate. The witnesses are processes on this machine. Exits with 1 above 5%, which is the goal.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { newNoteKey, readNoteSigner, verifyEd25519 } from '../../adapters/jose/log-key.ts';
import { httpWitnesses } from '../../adapters/outbound/http-witnesses.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { eventLoopTurn, systemClock } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { logGrowing } from '../../application/log/grow-log.ts';
import { logWitnessing } from '../../application/log/witnessing.ts';
import type { LogWitness } from '../../application/ports/log-witnesses.ts';
import { ED25519, formatVerifierKey, parseVerifierKey } from '../../domain/log/verifier-key.ts';
import { capturedLog } from '../../test/support/captured-log.ts';
import { chainOf } from '../../test/support/ledger/chain.ts';
import { ledgerFixture } from '../../test/support/ledger-fixture.ts';
import { agreeing } from '../../test/support/moved-clock.ts';
import { type Cleanup, withCleanup } from '../cleanup.ts';
import { freePort } from '../free-port.ts';
import { describeMachine } from '../machine.ts';
import { builtProgram, spawnMandate, untilReady } from '../mandate-process.ts';

const GOAL = 5;
const EVERY_MS = 250;
const PASSES = 20;
const START_LIMIT_MS = 20_000;

const [rounds = 10, records = 1000] = process.argv.slice(2).map(Number);

await withCleanup(async (cleanup) => {
  const read = await readNoteSigner(newNoteKey().reveal(), {
    hash: sha256Bytes,
    name: 'bench.test/ledger',
    type: ED25519,
  });
  if (read.kind !== 'read') throw new Error(read.problem);
  const { signer } = read;
  const witnesses = await Promise.all(
    [1, 2, 3].map((nth) => startWitness(nth, formatVerifierKey(signer.key), cleanup)),
  );
  const fixture = await ledgerFixture();
  cleanup(() => fixture.close());
  const { transparencyLog, checkpoints } = fixture.storage;
  const log = capturedLog();
  const grow = logGrowing({
    ...{ log: transparencyLog, checkpoints, chain: chainOf(checkpoints), signer },
    ...{ hash: sha256Bytes, turn: eventLoopTurn, hasWitnesses: true },
  });
  const ask = logWitnessing({
    ...{ transparencyLog, witnesses, quorum: 3, clock: systemClock(), log, hash: sha256Bytes },
    sharedTime: agreeing(systemClock()),
    ...{ ask: httpWitnesses(httpNetwork(), 5000), verify: verifyEd25519 },
  });

  const took = { with: [] as number[], without: [] as number[] };
  let following = Promise.resolve();
  for (let round = 0; round < 2 * rounds; round += 1) {
    const mode = round % 2 === 0 ? 'without' : 'with';
    await following;
    for (let pass = 0; pass < PASSES; pass += 1) {
      await fixture.append(records);
      const next = pause(EVERY_MS);
      const began = performance.now();
      await fixture.seal();
      took[mode].push(performance.now() - began);
      if (mode === 'with') following = following.then(() => grow()).then(ask);
      await next;
    }
  }
  await following;
  const { published, size } = (await transparencyLog.state()) ?? { size: 0 };
  const cosignatures = (published?.note.match(/^—/gm)?.length ?? 1) - 1;
  const [off, on] = [median(took.without), median(took.with)];
  const more = (100 * (on - off)) / off;
  for (const line of describeMachine(new Date())) console.log(`- ${line}`);
  console.log(
    `- ${took.with.length} passes each, ${records} records a pass, the log has ${size} leaves with ${cosignatures} cosignatures`,
  );
  console.log(
    `- median of a sealing pass: ${off.toFixed(2)} ms without the log, ${on.toFixed(2)} ms with it: ${more.toFixed(1)}%`,
  );
  if (more > GOAL || cosignatures !== witnesses.length || log.lines.length > 0) process.exitCode = 1;
});

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function startWitness(nth: number, log: string, cleanup: Cleanup): Promise<LogWitness> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-bench-witness-'));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  const files = ['--key', join(folder, 'key.pem'), '--state', join(folder, 'state.db')];
  const init = spawn(process.execPath, [...builtProgram, 'witness', 'init', '--name', `witness.test/${nth}`, ...files]);
  let vkey = '';
  init.stdout.on('data', (text) => {
    vkey += text;
  });
  await once(init, 'close');
  const port = await freePort();
  const logFile = join(folder, 'witness.log');
  const line = [...builtProgram, 'witness', 'serve', ...files, '--log', log, '--port', String(port)];
  const child = spawnMandate(line, {}, logFile);
  cleanup(() => void child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, url, logFile, START_LIMIT_MS);
  const key = parseVerifierKey(sha256Bytes, vkey.trim());
  if (key === undefined) throw new Error(`not a verifier key: ${vkey}`);
  return { url, key };
}
