/** A witness in this process, with its memory in a SQLite file. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newNoteKey, readNoteSigner, verifyEd25519 } from '../../../adapters/jose/log-key.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import {
  createWitnessFile,
  openWitnessFile,
  type WitnessFile,
} from '../../../adapters/storage/witness/witness-file.ts';
import { type CosignOutcome, cosignCheckpoint } from '../../../application/log/cosign-checkpoint.ts';
import { type WitnessClock, witnessClock } from '../../../application/log/witness-clock.ts';
import { COSIGNATURE, formatVerifierKey, parseVerifierKey } from '../../../domain/log/verifier-key.ts';
import { type CapturedLog, capturedLog } from '../captured-log.ts';
import { type MovedClock, movedClock } from '../moved-clock.ts';

export interface TestWitness {
  readonly vkey: string;
  readonly clock: MovedClock;
  readonly path: string;
  readonly file: WitnessFile;
  readonly watching: WitnessClock;
  /** Of the clock. */
  readonly log: CapturedLog;
  /** Watches these logs from now on. */
  watch(...vkeys: readonly string[]): void;
  cosign(body: string): Promise<CosignOutcome>;
  /** Opens the file again, as a new process would. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function testWitness(name = 'witness.test/w1', clock = movedClock()): Promise<TestWitness> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-witness-'));
  const path = join(folder, 'state.db');
  const read = await readNoteSigner(newNoteKey().reveal(), { hash: sha256Bytes, name, type: COSIGNATURE });
  if (read.kind !== 'read') throw new Error(read.problem);
  const { signer } = read;
  const vkey = formatVerifierKey(signer.key);
  await createWitnessFile(path, vkey);
  let logKeys = keysOf([]);
  let file = await opened(path);
  const log = capturedLog();
  const watch = () =>
    witnessClock({
      clock,
      monotonic: clock.monotonic,
      logs: file.logs,
      log,
      origins: logKeys.map((key) => key.name),
    });
  let watching = watch();
  return {
    vkey,
    clock,
    path,
    get file() {
      return file;
    },
    watch(...vkeys) {
      logKeys = [...logKeys, ...keysOf(vkeys)];
      watching = watch();
    },
    log,
    get watching() {
      return watching;
    },
    cosign: (body) =>
      cosignCheckpoint(
        { logs: file.logs, logKeys, signer, verify: verifyEd25519, hash: sha256Bytes, clock: watching },
        body,
      ),
    async restart() {
      await file.close();
      file = await opened(path);
      watching = watch();
    },
    async close() {
      await file.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function keysOf(vkeys: readonly string[]) {
  return vkeys.map((text) => {
    const key = parseVerifierKey(sha256Bytes, text);
    if (key === undefined) throw new Error(`not a verifier key: ${text}`);
    return key;
  });
}

async function opened(path: string): Promise<WitnessFile> {
  const file = await openWitnessFile(path);
  if (file === 'not_a_witness_file') throw new Error('the file was just created');
  return file;
}
