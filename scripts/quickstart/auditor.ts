/**
 * The auditor's side: waits until the ledger is sealed, fetches the keys, and verifies the ledger. Then it changes a copy,
 * to show that the verification fails.
 */

import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { JwkSet } from '@mandate/audit';
import { openHandle } from '../../adapters/storage/sqlite/handle.ts';
import { send } from './http.ts';
import type { LedgerRow, Operator } from './operator.ts';
import type { Stage } from './stage.ts';
import { must } from './story-broke.ts';

export interface Verification {
  readonly exitCode: number;
  /** The lines that the command printed. */
  readonly lines: readonly string[];
}

/** How long to wait: many times the seal interval of the quickstart. */
const PATIENCE_MS = 15_000;
const POLL_MS = 200;

/** Waits until every record has a checkpoint. @returns all records */
export async function untilSealed(operator: Operator): Promise<readonly LedgerRow[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const records = await operator.readLedger();
    if (records.every(({ checkpoint }) => checkpoint !== null)) return records;
    must(performance.now() < deadline, 'Every record should have been sealed within seconds.');
    await pause(POLL_MS);
  }
}

/** The key set that an auditor copies. */
export async function publishedKeys(issuer: string): Promise<JwkSet> {
  const { body } = await send(`${issuer}/.well-known/jwks.json`);
  must(Array.isArray(body.keys), 'The key set of the issuer should hold keys.');
  return { keys: body.keys };
}

/** Runs `mandate audit-verify` on a database file, with only the keys that the issuer publishes. */
export function verifyLedger(stage: Stage, databaseFile: string): Promise<Verification> {
  const settings = ['--Service:Database:Provider=sqlite', `--Service:Database:Path=${databaseFile}`];
  const keys = ['--jwks', `${stage.issuer}/.well-known/jwks.json`];
  return new Promise((resolve) => {
    const run = execFile(process.execPath, [...stage.program, 'audit-verify', ...keys, ...settings], (_error, out) =>
      resolve({ exitCode: run.exitCode ?? -1, lines: out.trim().split('\n') }),
    );
  });
}

/** Makes a copy of the ledger. In it, an owner of the file has removed a guard and widened a granted scope. */
export function tamperWithCopy(databaseFile: string, copy: string, scope: string): void {
  const original = openHandle(databaseFile, { readonly: true });
  original.prepare('vacuum into ?').run(copy);
  original.close();
  const tampered = openHandle(copy);
  tampered.exec('drop trigger ledger_no_update');
  tampered.prepare("update ledger set scope = ? where event = 'token.issued'").run(scope);
  tampered.close();
}
