/**
 * Measures the time and memory of `mandate audit-verify` for a large ledger on SQLite, and of `audit-bundle` for a part of it:
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/audit.ts [records] [records in a checkpoint]
 *
 * Writes the ledger to a temporary file: by default a million records, 5,000 in a checkpoint. The bundle has the last tenth
 * of them. Runs the built command, or the sources if there is no build or SOURCES is set. Exits with 1 if a command fails.
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toMillisecondText } from '../../domain/instant.ts';
import { measureCommand, writeLargeLedger } from './large-ledger.ts';

const [records = 1_000_000, checkpointSize = 5_000] = process.argv.slice(2).map(Number);

const folder = mkdtempSync(join(tmpdir(), 'mandate-audit-'));
try {
  const { path, jwks, timeOf } = await writeLargeLedger(folder, records, checkpointSize);
  const run = async (...command: readonly string[]) => {
    const { code } = await measureCommand(path, command);
    if (code !== 0) process.exitCode = 1;
  };
  await run('audit-verify', '--jwks', jwks);
  const bundle = join(folder, 'evidence.json');
  await run('audit-bundle', '--from', toMillisecondText(timeOf(records * 0.9)), '--jwks', jwks, '--out', bundle);
  console.log(`a bundle of ${Math.round(statSync(bundle).size / 1e6)} MB`);
  await run('audit-verify', '--bundle', bundle);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
