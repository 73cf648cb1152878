/** The service's signing keys, from the settings (specification "Configuration rules"). */

import {
  generateSigningKey,
  type PublicHalf,
  readSigningKey,
  type SigningKey,
} from '../../adapters/jose/signing-key.ts';
import { onlySigningKey, signingKeys } from '../../adapters/jose/signing-keys.ts';
import { KeyFileUnusable, readKeyFile } from '../../adapters/platform/key-file.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import type { NoteSigner, SigningKeys } from '../../application/ports/keys.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import type { JwkSet } from '../../domain/agents/public-key.ts';
import { ED25519 } from '../../domain/log/verifier-key.ts';
import { logChoice, type SigningKeyChoice, signingKeyChoices } from '../settings/alternatives.ts';
import type { Settings, SettingsSection } from '../settings/settings.ts';
import { describeSettingError, type SettingError, StartupError } from '../settings/startup-error.ts';

const KEY_FILE =
  'one EC P-256 private key in PEM (PKCS#8 or SEC1, not encrypted), or the public half of a retired key (SPKI)';

/** @throws StartupError with every unusable key, without any part of its text */
export async function loadSigningKeys(settings: Settings, log: Log): Promise<SigningKeys> {
  const choices = signingKeyChoices(settings);
  if (choices.length === 0) {
    // The settings allow this only on a development host.
    log.warn(
      'no signing key is configured: tokens are signed with a generated key that is lost when this process ends',
    );
    return onlySigningKey(await generateSigningKey());
  }
  return chosen(settings, await loadKeys(choices));
}

/** The public keys of the configured keys, for verification. Empty if none is configured. @throws StartupError */
export async function publicHalves(settings: Pick<Settings, 'Service:Signing:Keys'>): Promise<JwkSet> {
  const keys = await loadKeys(signingKeyChoices(settings));
  return { keys: keys.map(({ key }) => key.publicJwk) };
}

/** A configured key, with its setting. */
export interface ConfiguredKey {
  readonly choice: SigningKeyChoice;
  /** Without its private half, the key is published and verifies, and cannot sign. */
  readonly key: SigningKey | PublicHalf;
}

/**
 * All keys in the order of their numbers, and the key that signs. @throws StartupError if one is unusable or there is
 * none
 */
export async function configuredSigningKeys(
  settings: Pick<Settings, 'Service:Signing:Keys' | 'Service:Signing:ActiveKid'>,
): Promise<{ readonly keys: readonly ConfiguredKey[]; readonly signingKeys: SigningKeys }> {
  const keys = await loadKeys(signingKeyChoices(settings));
  return { keys, signingKeys: await chosen(settings, keys) };
}

async function loadKeys(choices: readonly SigningKeyChoice[]): Promise<readonly ConfiguredKey[]> {
  const results = await Promise.all(choices.map(loadKey));
  const errors = results.flatMap((result) => ('problem' in result ? [result] : []));
  if (errors.length > 0) throw new StartupError(errors.map(describeSettingError));
  const keys = results.flatMap((result) => ('problem' in result ? [] : [result]));
  const repeated = keys.flatMap(({ choice, key }, at) => {
    const same = keys.slice(0, at).find((other) => isSameKey(other.key, key));
    return same === undefined ? [] : [repeatedKey(choice.setting, same.choice.setting)];
  });
  if (repeated.length > 0) throw new StartupError(repeated.map(describeSettingError));
  return keys;
}

export function isSameKey(one: PublicHalf, other: PublicHalf): boolean {
  return one.publicJwk.x === other.publicJwk.x && one.publicJwk.y === other.publicJwk.y;
}

function repeatedKey(key: string, other: string): SettingError {
  return { key, problem: `names the same key as ${other}`, accepted: 'each key once' };
}

/** The text of a key. @param accepted the accepted contents of the file */
async function readPem(
  source: SigningKeyChoice['source'],
  setting: string,
  accepted: string,
): Promise<string | SettingError> {
  try {
    const pem = source.kind === 'pem' ? source.pem.reveal() : await readKeyFile(source.path);
    return pem ?? { key: setting, problem: 'names no file', accepted };
  } catch (error) {
    if (!(error instanceof KeyFileUnusable)) throw error;
    return { key: setting, problem: `names a file that ${error.problem}`, accepted };
  }
}

async function loadKey(choice: SigningKeyChoice): Promise<ConfiguredKey | SettingError> {
  const { source, kid, setting } = choice;
  const pem = await readPem(source, setting, KEY_FILE);
  if (typeof pem !== 'string') return pem;
  const read = await readSigningKey(pem, kid);
  return read.kind === 'unusable'
    ? { key: setting, problem: read.problem, accepted: KEY_FILE }
    : { choice, key: read.key };
}

const NO_KEYS: SettingError = {
  key: 'Service:Signing:Keys:0:Path',
  problem: 'is not set, and neither is any other signing key',
  accepted: 'a key by Path or by Pem; mandate keys generate generates one',
};

const ACTIVE_PROBLEMS = {
  repeated_key_id: 'cannot name one of two keys that have the same Kid',
  active_key_id_missing: 'is required when there is more than one key',
  active_key_id_unknown: 'does not name a configured key',
} as const;

/** @throws StartupError if none of the keys can be the one that signs */
async function chosen(
  { 'Service:Signing:ActiveKid': activeKid }: Pick<Settings, 'Service:Signing:ActiveKid'>,
  keys: readonly ConfiguredKey[],
): Promise<SigningKeys> {
  const result = await signingKeys(
    keys.map(({ key }) => key),
    activeKid,
  );
  if (result.kind === 'chosen') return result.signingKeys;
  if (result.kind === 'no_keys') throw new StartupError([describeSettingError(NO_KEYS)]);
  if (result.kind === 'active_key_cannot_sign') {
    const setting = keys.find(({ key }) => key === result.active)?.choice.setting ?? '';
    throw new StartupError([describeSettingError(publicActiveKey(setting, activeKid))]);
  }
  throw new StartupError([
    describeSettingError({
      key: 'Service:Signing:ActiveKid',
      problem: ACTIVE_PROBLEMS[result.kind],
      accepted: 'the Kid, or the RFC 7638 thumbprint, of one of the keys, each of which has its own',
    }),
  ]);
}

/** @param setting that of the key */
function publicActiveKey(setting: string, activeKid: string | undefined): SettingError {
  const accepted = 'the private key of the key that signs; a public half is for a retired key beside it';
  if (activeKid === undefined) return { key: setting, problem: 'holds only the public half of the only key', accepted };
  const problem = `names the key of ${setting}, of which only the public half is configured: it cannot sign`;
  return { key: 'Service:Signing:ActiveKid', problem, accepted };
}

const LOG_KEY_FILE = 'one Ed25519 private key in PEM (PKCS#8, not encrypted), which signs nothing else';

/** The key of the transparency log; `undefined` if the log is off. @throws StartupError for an unusable key */
export async function loadNoteSigner(
  settings: SettingsSection<'Service:Audit:Log'>,
  signingKeys: Pick<SigningKeys, 'published'>,
): Promise<NoteSigner | undefined> {
  const chosen = logChoice(settings);
  if (chosen === undefined) return undefined;
  const { readNoteSigner } = await import('../../adapters/jose/log-key.ts');
  const { source, setting, origin: name, witnesses } = chosen;
  const pem = await readPem(source, setting, LOG_KEY_FILE);
  const read =
    typeof pem === 'string'
      ? await readNoteSigner(pem, { hash: sha256Bytes, name, type: ED25519, taken: signingKeys.published().keys })
      : { kind: 'unusable' as const, problem: pem.problem };
  const refusal = (problem: string) =>
    new StartupError([describeSettingError({ key: setting, problem, accepted: LOG_KEY_FILE })]);
  if (read.kind === 'unusable') throw refusal(read.problem);
  // The owner of the log would also be the witness that readers trust against the owner.
  const { publicKey } = read.signer.key;
  const isWitness = witnesses.some(({ key }) => Buffer.compare(key.publicKey, publicKey) === 0);
  if (isWitness) throw refusal('is also the key of a witness in Service:Audit:Log:Witnesses');
  return read.signer;
}
