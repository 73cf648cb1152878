/**
 * Measures the time and memory of `mandate audit-verify` for a large ledger on SQLite, and of `audit-bundle` for a part of it:
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/audit.ts [records] [records in a checkpoint]
 *
 * Writes the ledger to a temporary file: by default a million records, 5,000 in a checkpoint. The bundle has the last tenth
 * of them. Runs the built command, or the sources if there is no build or SOURCES is set. Exits with 1 above 15 seconds of
 * verification or 200 MB, which are the goals for a million records.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import { sealLedger } from '../../application/ledger/seal.ts';
import { instantFromMicros, toMillisecondText } from '../../domain/instant.ts';
import { capturedLog } from '../../test/support/captured-log.ts';
import { chainOf } from '../../test/support/ledger/chain.ts';
import { fullEntry } from '../../test/support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../../test/support/ledger/sealing-key.ts';
import { cpuSeconds, residentMegabytes } from '../machine.ts';
import { builtProgram, sourceProgram } from '../mandate-process.ts';

const SECONDS_GOAL = 15;
const MEGABYTES_GOAL = 200;
const SAMPLE_MS = 50;
const START = instantFromMicros(1_789_653_821_882_457);

const [records = 1_000_000, checkpointSize = 5_000] = process.argv.slice(2).map(Number);

const folder = mkdtempSync(join(tmpdir(), 'mandate-audit-'));
try {
  const path = join(folder, 'mandate.db');
  const key = await makeSealingKey();
  await writeLedger(path, key);
  const jwks = join(folder, 'jwks.json');
  writeFileSync(jwks, JSON.stringify(key.jwks));
  await measure(path, ['audit-verify', '--jwks', jwks], SECONDS_GOAL);
  const bundle = join(folder, 'evidence.json');
  const from = toMillisecondText(instantFromMicros(START + records * 0.9 * 1000));
  await measure(path, ['audit-bundle', '--from', from, '--jwks', jwks, '--out', bundle]);
  console.log(`a bundle of ${Math.round(statSync(bundle).size / 1e6)} MB`);
  await measure(path, ['audit-verify', '--bundle', bundle]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Inserts the rows of a checkpoint in one transaction. Through the service, each record would wait for the disk. */
async function writeLedger(path: string, key: SealingKey): Promise<void> {
  const clock = { now: () => START };
  const storage = await openSqlite({ path }, { clock, log: capturedLog() });
  await storage.migrate();
  const direct = new Database(path);
  const insert = direct.prepare(`insert into ledger (ts, event, task_id, agent_id, sponsor, audience, scope, jti,
    delegation_depth, decision, reason, count, detail) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const began = performance.now();
  for (let first = 0; first < records; first += checkpointSize) {
    direct.transaction(() => {
      for (let index = first; index < Math.min(first + checkpointSize, records); index += 1) {
        const { at, event, taskId, agentId, sponsor, audience, scope, jti, delegationDepth, decision, reason } =
          fullEntry(index, instantFromMicros(START + index * 1000));
        insert.run(
          ...[at, event, taskId, agentId, sponsor, audience, scope, jti, delegationDepth, decision, reason, null, null],
        );
      }
    })();
    const { checkpoints } = storage;
    const chain = chainOf(checkpoints);
    await sealLedger({ checkpoints, chain, signer: key.signer, hash: sha256Bytes, clock, turn: eventLoopTurn });
  }
  direct.close();
  await storage.close();
  console.log(`${records} records, ${checkpointSize} in a checkpoint, made in ${seconds(began)} s`);
}

async function measure(
  path: string,
  command: readonly string[],
  secondsGoal = Number.POSITIVE_INFINITY,
): Promise<void> {
  const program = existsSync(builtProgram[0] ?? '') && process.env.SOURCES === undefined ? builtProgram : sourceProgram;
  const began = performance.now();
  const child = spawn(process.execPath, [...program, ...command], {
    env: { PATH: process.env.PATH, Service__Database__Provider: 'sqlite', Service__Database__Path: path },
    stdio: 'inherit',
  });
  let [megabytes, cpu] = [0, 0];
  const sampling = setInterval(() => {
    megabytes = residentMegabytes(child.pid ?? 0, 'VmHWM') ?? megabytes;
    cpu = cpuSeconds(child.pid ?? 0) ?? cpu;
  }, SAMPLE_MS);
  const [code] = await once(child, 'exit');
  clearInterval(sampling);
  const took = seconds(began);
  const largest = Math.round(megabytes);
  console.log(
    `${command.slice(0, 2).join(' ')} ended with ${code} after ${took} s (${cpu} s of CPU), at most ${largest} MB resident`,
  );
  if (code !== 0 || took > secondsGoal || largest > MEGABYTES_GOAL) process.exitCode = 1;
}

function seconds(began: number): number {
  return Math.round((performance.now() - began) / 100) / 10;
}
