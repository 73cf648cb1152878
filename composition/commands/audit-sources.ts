/** The keys and the ledger of a command for auditors. */

import { createReadStream } from 'node:fs';
import type { KeySource } from '../../adapters/cli/argument.ts';
import { holdsCheckpointKey, readCheckpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import type { LedgerReading } from '../../adapters/storage/storage.ts';
import type { FindArchivedPart } from '../../application/ledger/find-archived-part.ts';
import type { RecordedKey } from '../../application/ledger/recorded-signers.ts';
import type { KnownKey } from '../../application/log/make-bundle.ts';
import type { CheckpointVerifier } from '../../application/ports/keys.ts';
import { NetworkFailure } from '../../application/ports/network.ts';
import type { SchemaStatus } from '../../application/ports/storage.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { ecKeyOf, thumbprintOf } from '../../domain/log/bundle.ts';
import { type BundlePolicy, parseBundlePolicy } from '../../domain/log/bundle-policy.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../domain/tokens/strict-utf8.ts';
import { provedArchivedPart } from '../archived-part.ts';
import { describeOldSchema, FILE_PROBLEMS, NO_LEDGER, refuseUnusableConnection } from '../database-refusals.ts';
import { publicHalves } from '../files/signing.ts';
import { type DatabaseChoice, databaseChoice } from '../settings/alternatives.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { StartupError } from '../settings/startup-error.ts';
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
  const verifier = readCheckpointVerifier({ keys: await auditorKeySet(source, settings) });
  if (verifier !== undefined) return verifier;
  throw new StartupError([NO_KEYS]);
}

export const NO_KEYS =
  'There are no keys to verify with: give the published key set with --jwks, or the settings Service:Signing:Keys.';

/** The same keys, each unchecked; none if no key is configured. @throws StartupError if the key set is unusable */
export async function auditorKeySet(source: KeySource | undefined, settings: SettingSources): Promise<readonly Json[]> {
  if (source === undefined) {
    const { keys } = await publicHalves(validSection(settings, 'Service:Signing'));
    return keys.map((key) => ({ ...key }));
  }
  const json = parseStrictJson(await textOf(source, '--jwks', PUBLISHED_KEYS));
  const keys = isJsonObject(json) ? member(json, 'keys') : undefined;
  if (Array.isArray(keys) && (await holdsCheckpointKey(keys))) return keys;
  throw new StartupError(['--jwks names something that is no key set, or one without a named EC key on P-256.']);
}

/** The keys of checkpoints that the transparency log recorded. */
export function recordedJwks(keys: readonly LogKey[]): readonly Json[] {
  return keys.flatMap(({ use, publicKey }) => (use === 'checkpoint' ? (parseStrictJson(publicKey) ?? []) : []));
}

/** Each key with its own verifier. Keys that cannot verify checkpoints are left out. */
export function knownKeys(jwks: readonly Json[]): readonly (KnownKey & RecordedKey)[] {
  return jwks.flatMap((jwk) => {
    const verifier = readCheckpointVerifier({ keys: [jwk] });
    const key = isJsonObject(jwk) ? ecKeyOf(jwk) : undefined;
    const kid = isJsonObject(jwk) ? member(jwk, 'kid') : undefined;
    if (verifier === undefined || key === undefined || typeof kid !== 'string') return [];
    return [{ kid, key, thumbprint: thumbprintOf(sha256Bytes, key), verifier }];
  });
}

const PUBLISHED_KEYS: FetchedText = {
  accept: 'application/jwk-set+json, application/json',
  what: 'The published keys',
};

export interface FetchedText {
  readonly accept: string;
  /** The subject of the sentence of a failure, with an article. */
  readonly what: string;
  /** A further sentence for some statuses. */
  readonly hints?: Readonly<Record<number, string>>;
}

/** @param option names a file @throws StartupError if the text cannot be read or is too long */
export async function textOf(source: KeySource, option: string, fetched: FetchedText): Promise<string> {
  return source.kind === 'file' ? textOfFile(source.path, option) : textAt(source.url, fetched);
}

/** @param end the position of the last byte to read @throws StartupError if the file cannot be read */
export async function* bytesOf(path: string, option: string, end?: number): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { end }) as AsyncIterable<Uint8Array>;
  } catch {
    throw new StartupError([`${option} names a file that cannot be read.`]);
  }
}

async function textOfFile(path: string, option: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  // Read one byte more than the limit, to detect a longer file. A device such as /dev/zero never ends.
  for await (const chunk of bytesOf(path, option, MAX_BYTES)) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (bytes.length > MAX_BYTES) throw new StartupError([`${option} names a file of more than ${MAX_BYTES} bytes.`]);
  const text = readUtf8(bytes);
  if (text === undefined) throw new StartupError([`${option} names a file whose text is not UTF-8.`]);
  return text;
}

async function textAt(url: string, { accept, what, hints = {} }: FetchedText): Promise<string> {
  const failed = `${what} could not be fetched`;
  try {
    const { status, body } = await httpNetwork().send({
      method: 'GET',
      url,
      headers: { accept },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status === 200) return body;
    throw new StartupError([`${failed}: the answer's status was ${status}. ${hints[status] ?? ''}`.trimEnd()]);
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    throw new StartupError([`${failed}. ${error.message}`]);
  }
}

/** @throws StartupError if the file cannot be read, or has no policy */
export async function policyOfFile(path: string): Promise<{ readonly policy: BundlePolicy; readonly text: string }> {
  const text = await textOfFile(path, '--policy');
  const policy = parseBundlePolicy(sha256Bytes, text);
  if (typeof policy === 'string') throw new StartupError([policy]);
  return { policy, text };
}

/** Opens the ledger for the work, which only reads. Refuses a schema of another release. @throws StartupError, StorageUnavailable */
export async function withLedger<Answer>(
  settings: SettingSources,
  log: Log,
  work: (ledger: LedgerReading) => Promise<Answer>,
): Promise<Answer> {
  const chosen = databaseChoice(validSection(settings, 'Service:Database'));
  const ledger = chosen.provider === 'sqlite' ? await openFile(chosen.path, log) : await openServer(chosen, log);
  try {
    const status = await ledger.schemaStatus();
    if (status === 'absent' && chosen.provider === 'sqlite') throw new StartupError([NO_LEDGER]);
    refuseOtherSchema(status);
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

async function openServer(
  chosen: DatabaseChoice & { readonly provider: 'postgres' },
  log: Log,
): Promise<LedgerReading> {
  await refuseUnusableConnection(chosen, 'serving');
  const { openPostgresLedger } = await import('../../adapters/storage/postgres/open-ledger.ts');
  return openPostgresLedger(chosen.connectionString.reveal(), log);
}

async function openFile(path: string, log: Log): Promise<LedgerReading> {
  const { LedgerFileUnusable, openSqliteLedger } = await import('../../adapters/storage/sqlite/open-ledger.ts');
  try {
    return await openSqliteLedger(path);
  } catch (error) {
    if (!(error instanceof LedgerFileUnusable)) throw error;
    if (error.problem === 'failed') log.error('the database file could not be opened', error);
    throw new StartupError([FILE_PROBLEMS[error.problem]]);
  }
}

/** @throws StartupError */
export function refuseOtherSchema(status: SchemaStatus): void {
  if (status === 'current') return;
  throw new StartupError([
    status === 'ahead' ? 'The database schema is of a newer release than this one.' : describeOldSchema(status),
  ]);
}

/**
 * What has left the ledger, for a command that is no verification: with the configured keys, if there are any. Without
 * keys no signature is checked.
 */
export async function archivedPartOf(
  { checkpoints }: Pick<LedgerReading, 'checkpoints'>,
  settings: SettingSources,
): Promise<FindArchivedPart> {
  const verifier = await auditorKeys(undefined, settings).catch((error: unknown) => {
    if (error instanceof StartupError) return undefined;
    throw error;
  });
  return provedArchivedPart(checkpoints, verifier);
}

/** How often the service seals, in seconds. If the settings are unreadable, the default counts. */
export function sealingInterval(settings: SettingSources): number | undefined {
  for (const sources of [settings, NO_SETTINGS]) {
    const read = readSettingsSection(sources, 'Service:Audit:Checkpoint');
    if (read.kind === 'valid') return read.settings['Service:Audit:Checkpoint:Interval'];
  }
  return undefined;
}

const NO_SETTINGS: SettingSources = { environment: {}, overrides: [] };
