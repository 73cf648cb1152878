/** Studies that are not part of a run: each starts separate processes, and is measured once, in several rounds. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../temporary-database.ts';
import type { Studies } from './goals.ts';
import { measureCommand, writeLargeLedger } from './large-ledger.ts';
import { measureManyRows } from './many-rows.ts';
import { measureTwoReplicas } from './two-replicas.ts';

const RECORDS = 1_000_000;
const RECORDS_IN_CHECKPOINT = 5_000;
const VERIFICATIONS = 3;

export async function measureStudies(databases: readonly Engine[]): Promise<Studies> {
  const isMeasured = (engine: Engine) => databases.includes(engine);
  return {
    'two replicas': isMeasured('postgres') ? await measureTwoReplicas() : [],
    'many rows, SQLite': isMeasured('sqlite') ? await measureManyRows('sqlite') : [],
    'many rows, Postgres': isMeasured('postgres') ? await measureManyRows('postgres') : [],
    ...(isMeasured('sqlite') ? await verifyMillion() : {}),
  };
}

/** `mandate audit-verify` of a million records. */
async function verifyMillion(): Promise<Studies> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-audit-'));
  try {
    const { path, jwks } = await writeLargeLedger(folder, RECORDS, RECORDS_IN_CHECKPOINT);
    const costs = [];
    for (let round = 0; round < VERIFICATIONS; round += 1) {
      const cost = await measureCommand(path, ['audit-verify', '--jwks', jwks]);
      if (cost.code !== 0) throw new Error(`audit-verify ended with ${cost.code}`);
      costs.push(cost);
    }
    return {
      'seconds of a million records': costs.map(({ seconds }) => seconds),
      'megabytes of a million records': costs.map(({ megabytes }) => megabytes),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
