/** The sources of the doctor: the configured signing keys, files and database, and the service at its own address. */

import { readMetadata } from '../../adapters/identity-provider/discovery.ts';
import { checkpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { canSign } from '../../adapters/jose/signing-key.ts';
import { askReplica } from '../../adapters/outbound/replica-keys.ts';
import { exposureOf } from '../../adapters/platform/key-file.ts';
import { timeLimit } from '../../adapters/platform/system-clock.ts';
import { DatabaseRefusal } from '../../adapters/storage/database-refusal.ts';
import type { LedgerFileProblem } from '../../adapters/storage/sqlite/open-ledger.ts';
import type { OwnAnswer } from '../../application/doctor/address.ts';
import { EXAMINATION_LIMIT_MS } from '../../application/doctor/examine.ts';
import type { KeyFile, LoadedKeys } from '../../application/doctor/signing.ts';
import type { OpenedStorage } from '../../application/doctor/storage.ts';
import type { CheckpointVerifier, SigningKeys } from '../../application/ports/keys.ts';
import { NetworkFailure, type Problem } from '../../application/ports/network.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { describeDatabaseRefusal, FILE_PROBLEMS, unusableConnection } from '../database-refusals.ts';
import { type CLIENT_SECRETS, loadClientSecret } from '../files/client-secret.ts';
import { loadScopeWords } from '../files/scope-words.ts';
import { configuredSigningKeys } from '../files/signing.ts';
import { databaseChoice, signingKeyChoices } from '../settings/alternatives.ts';
import type { Settings, SettingsSection } from '../settings/settings.ts';
import { StartupError } from '../settings/startup-error.ts';
import type { NetworkAccess } from './provider-sources.ts';

/** The findings say what is wrong. */
export const noLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export interface ConfiguredSigning {
  loaded(): Promise<LoadedKeys>;
  files(): Promise<readonly KeyFile[]>;
  /** The ids of all keys; `undefined` if they cannot be loaded. */
  kids(): Promise<readonly string[] | undefined>;
  /** `undefined` if they cannot be loaded. */
  signingKeys(): Promise<SigningKeys | undefined>;
  /** Of checkpoints; `undefined` if the keys cannot be loaded. */
  verifier(): Promise<CheckpointVerifier | undefined>;
}

/** Loads the signing keys once, for all examinations. */
export function configuredSigning(
  settings: SettingsSection<'Service:Signing'>,
  isDevelopment: boolean,
): ConfiguredSigning {
  const choices = signingKeyChoices(settings);
  const loading = load();

  async function load(): Promise<{
    readonly loaded: LoadedKeys;
    readonly signingKeys?: SigningKeys;
    /** The settings of keys without a private half. */
    readonly publicHalves?: readonly string[];
  }> {
    if (choices.length === 0) {
      return {
        loaded: isDevelopment ? { kind: 'ephemeral' } : { kind: 'unusable', reasons: ['There is no signing key.'] },
      };
    }
    try {
      const { keys, signingKeys } = await configuredSigningKeys(settings);
      const kids = keys.map(({ key }) => key.keyId);
      const publicHalves = keys.flatMap(({ choice, key }) => (canSign(key) ? [] : [choice.setting]));
      return { loaded: { kind: 'loaded', kids, active: signingKeys.checkpoints.kid }, signingKeys, publicHalves };
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return { loaded: { kind: 'unusable', reasons: error.reasons } };
    }
  }

  return {
    loaded: async () => (await loading).loaded,
    signingKeys: async () => (await loading).signingKeys,
    async verifier() {
      const { signingKeys } = await loading;
      return signingKeys && checkpointVerifier(signingKeys.published());
    },
    async kids() {
      const { loaded } = await loading;
      return loaded.kind === 'loaded' ? loaded.kids : undefined;
    },
    async files() {
      const { publicHalves = [] } = await loading;
      const files = choices.map(async ({ source, setting }): Promise<readonly KeyFile[]> => {
        const exposure = source.kind === 'path' ? await exposureOf(source.path) : undefined;
        if (exposure === undefined) return [];
        // A public half is no secret. But who can replace it decides which checkpoints are believed.
        const isFine = exposure === 'readable' && publicHalves.includes(setting);
        return [{ setting, exposure: isFine ? 'none' : exposure }];
      });
      return (await Promise.all(files)).flat();
    },
  };
}

const CORRECT_IT =
  'Correct the connection string, or put the file where it says, readable to the user that the service runs as.';
const REBUILD = 'Run it where the service is installed, with the Node that the service runs on.';
const RESTORE = 'Stop the service first. Keep the damaged file, and its -wal, until the backup is verified.';
const NAME_A_FILE = 'Name the file that `mandate migrate` made, and that the service may read and write.';

/** Opens the configured database without changing anything in it. */
export async function openCondition(settings: SettingsSection<'Service:Database'>): Promise<OpenedStorage> {
  const chosen = databaseChoice(settings);
  if (chosen.provider === 'postgres') {
    const sentences = await unusableConnection(chosen, 'serving');
    if (sentences.length > 0) return { kind: 'unusable', sentence: sentences.join(' '), remedy: CORRECT_IT };
    const { openPostgresCondition } = await import('../../adapters/storage/postgres/condition.ts');
    const condition = await openPostgresCondition(chosen.connectionString.reveal(), noLog);
    return { kind: 'opened', condition, refusal: describeRefusal, exposure: undefined };
  }
  const { LedgerFileUnusable, openSqliteCondition } = await import('../../adapters/storage/sqlite/open-ledger.ts');
  try {
    const condition = await openSqliteCondition(chosen.path);
    return { kind: 'opened', condition, refusal: describeRefusal, exposure: await exposureOf(chosen.path) };
  } catch (error) {
    if (!(error instanceof LedgerFileUnusable)) throw error;
    const remedy = remedyOf(error.problem);
    return { kind: 'unusable', sentence: FILE_PROBLEMS[error.problem], remedy };
  }
}

function remedyOf(problem: LedgerFileProblem): string {
  if (problem === 'damaged') return RESTORE;
  return problem.startsWith('driver') ? REBUILD : NAME_A_FILE;
}

/** Closing waits for running queries. The findings are already complete, so after this time the doctor stops waiting. */
const CLOSE_LIMIT_MS = 1000;

/** Closes the database if it was opened, and never rejects. */
export async function closeStorage(opened: Promise<OpenedStorage> | undefined): Promise<void> {
  const close = async () => {
    const storage = await opened;
    if (storage?.kind === 'opened') await storage.condition.close();
  };
  await timeLimit(
    close().catch(() => undefined),
    CLOSE_LIMIT_MS,
  );
}

function describeRefusal(error: unknown): string | undefined {
  return error instanceof DatabaseRefusal ? describeDatabaseRefusal(error) : undefined;
}

/** More than a status list with the most indices. */
const MAX_BYTES = 1_048_576;

/** The body of an answer with the status 200, or why no such answer came. */
export async function askFor(url: string, { network }: NetworkAccess): Promise<string | Problem> {
  try {
    const request = { method: 'GET', url, timeoutMs: EXAMINATION_LIMIT_MS, maxBytes: MAX_BYTES } as const;
    const { status, body } = await network.send(request);
    return status === 200 ? body : { problem: `The answer's status was ${status}.`, status };
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    return { problem: error.message, status: error.status };
  }
}

/** Why a file of the page cannot be used; `undefined` if all can. */
export function pageFileProblem(settings: Settings): Promise<string | undefined> {
  const words = settings['Service:Me:ScopeDescriptions'];
  return problemOf(async () => {
    await loadClientSecret(settings, 'Service:Me:ClientSecret:Path');
    if (words !== undefined) await loadScopeWords(words);
  });
}

/** Why the file of a client's secret cannot be used; `undefined` if it can. */
export function secretFileProblem(
  settings: Settings,
  key: (typeof CLIENT_SECRETS)[number],
): Promise<string | undefined> {
  return problemOf(() => loadClientSecret(settings, key));
}

async function problemOf(load: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await load();
    return undefined;
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.reasons.join(' ');
  }
}

/**
 * Requests the service's metadata and keys from its public address, as any client would.
 *
 * @param issuer `Service:Issuer` @param signing the keys to compare with the published ones, if they can be loaded
 */
export async function askOwnAddress(
  issuer: string,
  signing: ConfiguredSigning | undefined,
  { network }: NetworkAccess,
): Promise<OwnAnswer | Problem> {
  const url = `${issuer}/.well-known/openid-configuration`;
  const metadata = await readMetadata({ kind: 'metadata_url', url }, network);
  if ('problem' in metadata) return metadata;
  const keys = await signing?.signingKeys();
  const { published, missing, surplus } = await askReplica(network, issuer, keys?.published().keys ?? []);
  if ('problem' in published) return published;
  const compared = keys === undefined ? { missing: [], surplus: [] } : { missing, surplus };
  return { issuer: metadata.description.issuer, ...compared };
}
