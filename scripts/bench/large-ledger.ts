/** A large ledger on SQLite, and the time and memory that a command of Mandate takes for it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { openSqlite } from '../../adapters/storage/sqlite/open.ts';
import { sealLedger } from '../../application/ledger/seal.ts';
import { type Instant, instantFromMicros } from '../../domain/instant.ts';
import { capturedLog } from '../../test/support/captured-log.ts';
import { chainOf } from '../../test/support/ledger/chain.ts';
import { fullEntry } from '../../test/support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../../test/support/ledger/sealing-key.ts';
import { cpuSeconds, residentMegabytes } from '../machine.ts';
import { builtProgram, sourceProgram } from '../mandate-process.ts';

const SAMPLE_MS = 50;
/** Of the first record. Each is a millisecond later than the one before. */
const START = instantFromMicros(1_789_653_821_882_457);

interface LargeLedger {
  readonly path: string;
  /** The file of the key set. */
  readonly jwks: string;
}

/** Writes a ledger of this many records into a folder. */
export async function writeLargeLedger(folder: string, records: number, checkpointSize: number): Promise<LargeLedger> {
  const path = join(folder, 'mandate.db');
  const key = await makeSealingKey();
  await writeLedger(path, key, records, checkpointSize);
  const jwks = join(folder, 'jwks.json');
  writeFileSync(jwks, JSON.stringify(key.jwks));
  return { path, jwks };
}

function timeOf(index: number): Instant {
  return instantFromMicros(START + index * 1000);
}

/** Inserts the rows of a checkpoint in one transaction. Through the service, each record would wait for the disk. */
async function writeLedger(path: string, key: SealingKey, records: number, checkpointSize: number): Promise<void> {
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
          fullEntry(index, timeOf(index));
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
  console.log(`${records} records, ${checkpointSize} in a checkpoint, made in ${secondsSince(began).toFixed(0)} s`);
}

interface CommandCost {
  readonly code: number | null;
  readonly seconds: number;
  readonly megabytes: number;
}

/** Runs a command of the build, or of the sources if there is no build or SOURCES is set. */
export async function measureCommand(path: string, command: readonly string[]): Promise<CommandCost> {
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
  const took = secondsSince(began);
  console.log(
    `${command.slice(0, 2).join(' ')} ended with ${code} after ${took.toFixed(1)} s (${cpu} s of CPU), ` +
      `at most ${Math.round(megabytes)} MB resident`,
  );
  return { code, seconds: took, megabytes };
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1000;
}
