/** The sources of the doctor: the configured signing keys, files and database, and the service at its own address. */

import { discovery } from '../../adapters/identity-provider/discovery.ts';
import { canSign } from '../../adapters/jose/signing-key.ts';
import { exposureOf } from '../../adapters/platform/key-file.ts';
import { timeLimit } from '../../adapters/platform/system-clock.ts';
import { DatabaseRefusal } from '../../adapters/storage/database-refusal.ts';
import type { LedgerFileProblem } from '../../adapters/storage/sqlite/open-ledger.ts';
import type { OwnAnswer } from '../../application/doctor/address.ts';
import { observedNetwork, type Problem, recordingLog } from '../../application/doctor/observation.ts';
import type { ReadinessReport } from '../../application/doctor/readiness.ts';
import type { KeyFile, LoadedKeys } from '../../application/doctor/signing.ts';
import type { OpenedStorage } from '../../application/doctor/storage.ts';
import type { SigningKeys } from '../../application/ports/keys.ts';
import { NetworkFailure } from '../../application/ports/network.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { visibleExcerpt } from '../../domain/visible.ts';
import { loadClientSecret } from '../client-secret.ts';
import { describeDatabaseRefusal, FILE_PROBLEMS, unusableConnection } from '../database-refusals.ts';
import { askReplica } from '../replica-keys.ts';
import { loadScopeWords } from '../scope-words.ts';
import { databaseChoice, signingKeyChoices } from '../settings/alternatives.ts';
import type { Settings, SettingsSection } from '../settings/settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';
import type { NetworkAccess } from './provider-sources.ts';

export interface ConfiguredSigning {
  loaded(): Promise<LoadedKeys>;
  files(): Promise<readonly KeyFile[]>;
  /** The ids of all keys; `undefined` if they cannot be loaded. */
  kids(): Promise<readonly string[] | undefined>;
  /** `undefined` if they cannot be loaded. */
  signingKeys(): Promise<SigningKeys | undefined>;
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
  const log = recordingLog();
  if (chosen.provider === 'postgres') {
    const sentences = await unusableConnection(chosen, 'serving');
    if (sentences.length > 0) return { kind: 'unusable', sentence: sentences.join(' '), remedy: CORRECT_IT };
    const { openPostgresCondition } = await import('../../adapters/storage/postgres/condition.ts');
    const condition = await openPostgresCondition(chosen.connectionString.reveal(), log);
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

/** Closes the database if it was opened. Never rejects. */
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

/** The returned function resolves with the body of an answer with the status 200, or with the reason why there is none. */
export function asking({ network, clock, limitMs }: NetworkAccess): (url: string) => Promise<string | Problem> {
  const limited = observedNetwork(network, clock, limitMs);
  return async (url) => {
    try {
      const { status, body } = await limited.send({ method: 'GET', url, timeoutMs: limitMs, maxBytes: MAX_BYTES });
      return status === 200 ? body : { sentence: `The answer's status was ${status}.`, status };
    } catch (error) {
      if (!(error instanceof NetworkFailure)) throw error;
      return { sentence: error.message, status: error.status };
    }
  };
}

/** Why a file of the page cannot be used; `undefined` if all can. */
export function pageFileProblem(settings: Settings): Promise<string | undefined> {
  const words = settings['Service:Me:ScopeDescriptions'];
  return problemOf(async () => {
    await loadClientSecret(settings, 'Service:Me:ClientSecret:Path');
    if (words !== undefined) await loadScopeWords(words);
  });
}

/** Why the file of the console's client secret cannot be used; `undefined` if it can. */
export function consoleFileProblem(settings: Settings): Promise<string | undefined> {
  return problemOf(() => loadClientSecret(settings, 'Service:Operators:ClientSecret:Path'));
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
  access: NetworkAccess,
): Promise<OwnAnswer> {
  const network = observedNetwork(access.network, access.clock, access.limitMs);
  const log = recordingLog();
  const url = `${issuer}/.well-known/openid-configuration`;
  const description = await discovery({ kind: 'metadata_url', url }, network, log).refresh();
  const failed = (sentence: string | undefined): OwnAnswer => ({
    kind: 'failed',
    problem: { sentence, status: network.lastStatus('') },
  });
  if (description === undefined) return failed(log.problem());
  const keys = await signing?.signingKeys();
  const replica = await askReplica(network, issuer, keys?.published().keys ?? []);
  if ('problem' in replica.published) return failed(replica.published.problem);
  const { missing, surplus } = keys === undefined ? { missing: [], surplus: [] } : replica;
  return { kind: 'answered', issuer: description.issuer, missing, surplus };
}

/** A report has a few lines. */
const MAX_READINESS_BYTES = 64 * 1024;
/** Longer than every detail of the service. Longer text comes from another program. */
const MAX_DETAIL = 1000;
const READINESS_STATUSES = ['Healthy', 'Degraded', 'Unhealthy'] as const;

/** The checks of `/readyz` at the public address; `undefined` if the answer is not such a report, or there is none. */
export async function askReadiness(
  issuer: string,
  { network, clock, limitMs }: NetworkAccess,
): Promise<readonly ReadinessReport[] | undefined> {
  try {
    const { status, body } = await observedNetwork(network, clock, limitMs).send({
      ...{ method: 'GET', url: `${issuer}/readyz`, headers: { accept: 'application/json' } },
      ...{ timeoutMs: limitMs, maxBytes: MAX_READINESS_BYTES },
    });
    return status === 200 || status === 503 ? readinessIn(parseStrictJson(body)) : undefined;
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    return undefined;
  }
}

function readinessIn(body: Json | undefined): readonly ReadinessReport[] | undefined {
  const checks = isJsonObject(body) ? member(body, 'checks') : undefined;
  if (!isJsonObject(checks)) return undefined;
  const reports = Object.keys(checks).map((name): ReadinessReport | undefined => {
    const check = member(checks, name);
    if (!isJsonObject(check)) return undefined;
    const [said, detail] = [member(check, 'status'), member(check, 'detail')];
    const status = READINESS_STATUSES.find((one) => one === said);
    return status && typeof detail === 'string'
      ? { name: visibleExcerpt(name, MAX_DETAIL), status, detail: visibleExcerpt(detail, MAX_DETAIL) }
      : undefined;
  });
  return reports.every((report) => report !== undefined) ? reports : undefined;
}
