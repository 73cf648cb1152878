/** The keys and the ledger of a command for auditors. */

import { createReadStream } from 'node:fs';
import type { KeySource } from '../../adapters/cli/argument.ts';
import { checkpointVerifier, readCheckpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import type { LedgerReading, SchemaStatus } from '../../adapters/storage/storage.ts';
import type { CheckpointVerifier } from '../../application/ports/keys.ts';
import { NetworkFailure } from '../../application/ports/network.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { describeOldSchema, FILE_PROBLEMS, NO_LEDGER, refuseUnusableConnection } from '../database-refusals.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { publicHalves } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import { validSection } from './run-command.ts';

/** The largest accepted key set. Real key sets are much smaller. */
const MAX_BYTES = 1_048_576;
const TIMEOUT_MS = 10_000;

/**
 * The keys that verify checkpoints: the public halves of the configured keys, or a published key set from the auditor.
 * @throws StartupError if there are no keys, or they cannot be read
 */
export async function auditorKeys(
  source: KeySource | undefined,
  settings: SettingSources,
): Promise<CheckpointVerifier> {
  if (source !== undefined) return published(await textOf(source));
  const keys = await publicHalves(validSection(settings, 'Service:Signing'));
  if (keys.keys.length > 0) return checkpointVerifier(keys);
  throw new StartupError([
    'There are no keys to verify with: give the published key set with --jwks, or the settings Service:Signing:Keys.',
  ]);
}

function published(text: string): CheckpointVerifier {
  const verifier = readCheckpointVerifier(parseStrictJson(text));
  if (verifier !== undefined) return verifier;
  throw new StartupError(['--jwks names something that is no key set, or one without a named EC key on P-256.']);
}

async function textOf(source: KeySource): Promise<string> {
  return source.kind === 'file' ? textOfFile(source.path) : textAt(source.url);
}

async function textOfFile(path: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    // Read one byte more than the limit, to detect a longer file. A device such as /dev/zero never ends.
    for await (const chunk of createReadStream(path, { end: MAX_BYTES })) chunks.push(chunk);
  } catch {
    throw new StartupError(['--jwks names a file that cannot be read.']);
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.length > MAX_BYTES) throw new StartupError([`--jwks names a file of more than ${MAX_BYTES} bytes.`]);
  return bytes.toString('utf8');
}

async function textAt(url: string): Promise<string> {
  try {
    const { status, body } = await httpNetwork().send({
      method: 'GET',
      url,
      headers: { accept: 'application/jwk-set+json, application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status === 200) return body;
    throw new StartupError([`The published keys could not be fetched: the answer's status was ${status}.`]);
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    throw new StartupError([`The published keys could not be fetched. ${error.message}`]);
  }
}

/** Opens the ledger for reading, and refuses a schema of another release. @throws StartupError, StorageUnavailable */
export async function openLedger(settings: SettingsSection<'Service:Database'>, log: Log): Promise<LedgerReading> {
  const chosen = databaseChoice(settings);
  if (chosen.provider === 'sqlite') return openFile(chosen.path, log);
  await refuseUnusableConnection(chosen, 'serving');
  const { openPostgresLedger } = await import('../../adapters/storage/postgres/open-ledger.ts');
  return ofThisRelease(openPostgresLedger(chosen.connectionString.reveal(), log), refuseOtherSchema);
}

async function openFile(path: string, log: Log): Promise<LedgerReading> {
  const { LedgerFileUnusable, openSqliteLedger } = await import('../../adapters/storage/sqlite/open-ledger.ts');
  try {
    return await ofThisRelease(await openSqliteLedger(path), (status) => {
      if (status === 'absent') throw new StartupError([NO_LEDGER]);
      refuseOtherSchema(status);
    });
  } catch (error) {
    if (!(error instanceof LedgerFileUnusable)) throw error;
    if (error.problem === 'failed') log.error('the database file could not be opened', error);
    throw new StartupError([FILE_PROBLEMS[error.problem]]);
  }
}

async function ofThisRelease(ledger: LedgerReading, refuse: (status: SchemaStatus) => void): Promise<LedgerReading> {
  try {
    refuse(await ledger.schemaStatus());
    return ledger;
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

/** @throws StartupError */
export function refuseOtherSchema(status: SchemaStatus): void {
  if (status === 'current') return;
  throw new StartupError([
    status === 'ahead' ? 'The database schema is of a newer release than this one.' : describeOldSchema(status),
  ]);
}
