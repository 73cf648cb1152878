/** A process whose sealers seal repeatedly until its standard input ends. */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { seal } from '../../../contract/minimal-sealer.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { openPostgres } from '../../../support/open-postgres.ts';

const connectionString = process.env.DATABASE ?? '';
const storage = await openPostgres({ connectionString }, { clock: { now: () => NOON }, log: capturedLog() });
let ending = false;
let added = 0;

async function sealOn(): Promise<void> {
  while (!ending) {
    const outcome = await seal(storage.checkpoints).catch((error: unknown) => {
      // A running append held the lock of the ledger for too long. The next pass tries again.
      if (error instanceof StorageUnavailable) return 'nothing' as const;
      throw error;
    });
    if (typeof outcome !== 'string') added++;
    await pause(randomInt(1, 30));
  }
}

process.stdin.resume();
const sealing = Promise.all(Array.from({ length: Number(process.env.SEALERS) }, sealOn));
process.stdout.write('sealing\n');
await once(process.stdin, 'end');
ending = true;
await sealing;
await storage.close();
process.stdout.write(`added ${added}\n`);
