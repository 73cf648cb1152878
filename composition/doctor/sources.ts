/**
 * The doctor's sources: the configured signing keys and database, and other servers, read with the service's own adapters.
 */

import { randomUUID } from 'node:crypto';
import type { tryClient } from '../../adapters/identity-provider/client-trial.ts';
import { discovery, type ProviderLocation } from '../../adapters/identity-provider/discovery.ts';
import { polledSponsors } from '../../adapters/identity-provider/polled-sponsors.ts';
import { fixedToken, serviceAssertion, serviceTokens } from '../../adapters/identity-provider/service-token.ts';
import { providerKeys } from '../../adapters/jose/provider-keys.ts';
import { canSign } from '../../adapters/jose/signing-key.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { exposureOf } from '../../adapters/platform/key-file.ts';
import { timeLimit } from '../../adapters/platform/system-clock.ts';
import { systemRandomness } from '../../adapters/platform/system-crypto.ts';
import { DatabaseRefusal } from '../../adapters/storage/database-refusal.ts';
import type { LedgerFileProblem } from '../../adapters/storage/sqlite/open-ledger.ts';
import type { OwnAnswer } from '../../application/doctor/address.ts';
import { EXAMINATION_LIMIT_MS } from '../../application/doctor/examine.ts';
import { observedNetwork, type Problem, recordingLog } from '../../application/doctor/observation.ts';
import type { Signer } from '../../application/doctor/provider.ts';
import type { ReadinessReport } from '../../application/doctor/readiness.ts';
import type { KeyFile, LoadedKeys } from '../../application/doctor/signing.ts';
import type { SponsorQueries } from '../../application/doctor/sponsors.ts';
import type { OpenedStorage } from '../../application/doctor/storage.ts';
import type { ClientTrial, ProviderDescription, ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { ProviderKeys, SigningKeys } from '../../application/ports/keys.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { isJsonObject, type Json, type JsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { visibleExcerpt } from '../../domain/visible.ts';
import { loadClientSecret } from '../client-secret.ts';
import { describeDatabaseRefusal, FILE_PROBLEMS, unusableConnection } from '../database-refusals.ts';
import { askReplica } from '../rotation-plan.ts';
import { loadScopeWords } from '../scope-words.ts';
import {
  databaseChoice,
  type SponsorCheckChoice,
  signingKeyChoices,
  upstreamChoice,
} from '../settings/alternatives.ts';
import type { Settings, SettingsSection } from '../settings/settings.ts';
import { configuredSigningKeys } from '../signing.ts';
import { StartupError } from '../startup-error.ts';

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

/** How the doctor sends requests to other servers. */
export interface NetworkAccess {
  readonly network: Network;
  readonly clock: Clock;
  /** The time limit in milliseconds for all requests to one server together. */
  readonly limitMs: number;
}

/** Shorter than the examination's own limit: the finding can then still name the request that did not end. */
const NETWORK_LIMIT_MS = EXAMINATION_LIMIT_MS - 500;

export function networkAccess(clock: Clock): NetworkAccess {
  return { network: httpNetwork(), clock, limitMs: NETWORK_LIMIT_MS };
}

export interface ObservedSigner extends Signer {
  readonly keys: ProviderKeys;
  readonly provider: ProviderMetadata;
}

/** Reads a signer's metadata and keys with the service's own adapters. */
export function observedSigner(location: ProviderLocation, access: NetworkAccess): ObservedSigner {
  const { clock, limitMs } = access;
  const network = observedNetwork(access.network, clock, limitMs);
  const log = recordingLog();
  const provider = discovery(location, network, log);
  const owner = location.kind === 'transmitter' ? 'transmitter' : 'identity provider';
  const keys = providerKeys(provider, network, clock, log, undefined, owner);
  let reading: Promise<ProviderDescription | undefined> | undefined;
  const metadata = (): Promise<ProviderDescription | undefined> => {
    reading ??= provider.refresh();
    return reading;
  };
  return {
    address: location.kind === 'metadata_url' ? location.url : location.issuer,
    metadata,
    async fetchKeys() {
      await metadata();
      await keys.refreshIfDue();
      return keys.lastFetchedAt() !== undefined;
    },
    unusedKeys: () => log.unused(),
    problem: () => ({ sentence: log.problem(), status: network.lastStatus('') }),
    ahead: () => network.ahead(''),
    keys,
    provider,
  };
}

export function identityProvider(
  upstream: SettingsSection<'Service:UpstreamIdp'>,
  access: NetworkAccess,
): ObservedSigner {
  const chosen = upstreamChoice(upstream);
  return observedSigner(chosen.kind === 'issuer' ? chosen : { kind: 'metadata_url', url: chosen.url }, access);
}

/** Queries the identity provider about people with the service's own adapters. */
export function sponsorQueries(
  chosen: SponsorCheckChoice & { readonly mode: 'poll' },
  signingKeys: SigningKeys,
  { provider, metadata }: Pick<ObservedSigner, 'provider' | 'metadata'>,
  access: NetworkAccess,
): Omit<SponsorQueries, 'publishesKeys'> {
  const { clock } = access;
  const network = observedNetwork(access.network, clock, access.limitMs);
  const log = recordingLog();
  const { access: way } = chosen;
  const client = 'bearerToken' in way ? undefined : way;
  const assertion = serviceAssertion(signingKeys, clock, systemRandomness());
  const tokens =
    'bearerToken' in way
      ? fixedToken(way.bearerToken)
      : serviceTokens(way, { network, clock, metadata: provider, assertion });
  const unknownId = randomUUID();
  return {
    needsMetadata: client?.assertionAudience === 'issuer',
    hasBearerToken: client === undefined,
    metadata,
    async requestToken() {
      const answer = await tokens.current();
      return answer.kind === 'token' ? undefined : answer.problem;
    },
    directory: polledSponsors(chosen.usersUrl, { network, clock, log, tokens }),
    unknownId,
    problem: () => ({ sentence: log.problem(), status: network.lastStatus(chosen.usersUrl) }),
    tokenStatus: () => client && network.lastStatus(client.tokenUrl),
    async knowsPaths() {
      const service = await tokens.current();
      if (service.kind !== 'token') return true;
      const headers = { authorization: `Bearer ${service.token}`, accept: 'application/json' };
      const answerAt = async (url: string) => {
        const limits = { timeoutMs: access.limitMs, maxBytes: MAX_BYTES };
        const { status, body } = await network.send({ method: 'GET', url, headers, ...limits });
        // A server may repeat the path, and the time.
        return `${status} ${body.replaceAll(`/${unknownId}`, '').replace(/\d/g, '')}`;
      };
      const ofPerson = `${chosen.usersUrl.replace(/\/+$/, '')}/${unknownId}`;
      const answers = await Promise.all([answerAt(ofPerson), answerAt(`${ofPerson}/${unknownId}`)]).catch(noAnswers);
      return answers === undefined || answers[0] !== answers[1];
    },
  };
}

function noAnswers(error: unknown): undefined {
  if (!(error instanceof NetworkFailure)) throw error;
  return undefined;
}

/** Tries the client of a sign-in with the service's own adapters, whose code is loaded only with that client. */
export async function clientTrial(
  client: Parameters<typeof tryClient>[0],
  document: JsonObject,
  signingKeys: SigningKeys | undefined,
  { network, clock, limitMs }: NetworkAccess,
): Promise<ClientTrial | 'no_key'> {
  if (client.clientSecret === undefined && signingKeys === undefined) return 'no_key';
  const { tryClient } = await import('../../adapters/identity-provider/client-trial.ts');
  const randomness = systemRandomness();
  const assertion = signingKeys === undefined ? async () => '' : serviceAssertion(signingKeys, clock, randomness);
  return tryClient(client, document, { network: observedNetwork(network, clock, limitMs), assertion, randomness });
}

/** More than a status list with the most indices, and than an answer about a person. */
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
