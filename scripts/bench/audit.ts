/**
 * How long `mandate audit-verify` takes over a large ledger on SQLite, and how much memory:
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/audit.ts [records] [in a checkpoint]
 *
 * It makes the ledger in a temporary file (a million records, five thousand in a checkpoint, unless told otherwise),
 * runs the built command on it when there is one, else its sources, and prints seconds and the largest resident size.
 * The goal for a million: 20 seconds and 300 MB.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import { sealLedger } from '../../application/ledger/seal.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { capturedLog } from '../../test/support/captured-log.ts';
import { fullEntry } from '../../test/support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../../test/support/ledger/sealing-key.ts';
import { builtProgram, sourceProgram } from '../mandate-process.ts';

const SECONDS_GOAL = 20;
const MEGABYTES_GOAL = 300;
/** Rather more often than a verification's memory changes. */
const SAMPLE_MS = 50;
const START = instantFromMicros(1_789_653_821_882_457);

const [records = 1_000_000, sealedAtOnce = 5_000] = process.argv.slice(2).map(Number);

const folder = mkdtempSync(join(tmpdir(), 'mandate-audit-'));
try {
  const path = join(folder, 'mandate.db');
  const key = await makeSealingKey();
  await makeLedger(path, key);
  const jwks = join(folder, 'jwks.json');
  writeFileSync(jwks, JSON.stringify(key.jwks));
  await measure(path, jwks);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Written row by row in few transactions, beside the service's own way, which waits for the disk each time. */
async function makeLedger(path: string, key: SealingKey): Promise<void> {
  const clock = { now: () => START };
  const storage = await openSqlite({ path }, { clock, log: capturedLog() });
  await storage.migrate();
  const direct = new Database(path);
  const insert = direct.prepare(`insert into ledger (ts, event, task_id, agent_id, sponsor, audience, scope, jti,
    delegation_depth, decision, reason, count, detail) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const began = performance.now();
  for (let first = 0; first < records; first += sealedAtOnce) {
    direct.transaction(() => {
      for (let index = first; index < Math.min(first + sealedAtOnce, records); index += 1) {
        const { at, event, taskId, agentId, sponsor, audience, scope, jti, delegationDepth, decision, reason } =
          fullEntry(index, instantFromMicros(START + index * 1000));
        insert.run(
          ...[at, event, taskId, agentId, sponsor, audience, scope, jti, delegationDepth, decision, reason, null, null],
        );
      }
    })();
    const { checkpoints } = storage;
    await sealLedger({ checkpoints, signer: key.signer, hash: sha256Bytes, clock, turn: eventLoopTurn });
  }
  direct.close();
  await storage.close();
  console.log(`${records} records, ${sealedAtOnce} in a checkpoint, made in ${seconds(began)} s`);
}

async function measure(path: string, jwks: string): Promise<void> {
  const program = existsSync(builtProgram[0] ?? '') && process.env.SOURCES === undefined ? builtProgram : sourceProgram;
  const began = performance.now();
  const child = spawn(process.execPath, [...program, 'audit-verify', '--jwks', jwks], {
    env: { PATH: process.env.PATH, Service__Database__Provider: 'sqlite', Service__Database__Path: path },
    stdio: 'inherit',
  });
  let [largest, cpu] = [0, 0];
  const sampling = setInterval(() => {
    largest = Math.max(largest, residentMegabytes(child.pid ?? 0));
    cpu = Math.max(cpu, cpuSeconds(child.pid ?? 0));
  }, SAMPLE_MS);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(sampling);
  const taken = seconds(began);
  console.log(`audit-verify ended with ${code} after ${taken} s (${cpu} s of CPU), at most ${largest} MB resident`);
  console.log(`goals: ${SECONDS_GOAL} s, ${MEGABYTES_GOAL} MB`);
  if (code !== 0 || taken > SECONDS_GOAL || largest > MEGABYTES_GOAL) process.exitCode = 1;
}

/** Of all its threads, on Linux, where a tick is a hundredth of a second; elsewhere 0. */
function cpuSeconds(pid: number): number {
  try {
    // The name, which comes second, may hold anything; what follows its bracket does not.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** Linux keeps the peak itself; elsewhere 0 is shown. */
function residentMegabytes(pid: number): number {
  try {
    const [, kilobytes = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}

function seconds(began: number): number {
  return Math.round((performance.now() - began) / 100) / 10;
}
