/** The keys that an auditor requires of an evidence bundle (docs/auditing.md, "Evidence"). */

import type { Hash } from '../ledger/merkle-tree.ts';
import { isJsonObject, parseStrictJson } from '../tokens/strict-json.ts';
import type { BelievedKey } from './bundle-log.ts';
import type { VerifiedBundle } from './bundle-verdict.ts';
import { COSIGNATURE, ED25519, parseVerifierKey } from './verifier-key.ts';

export interface BundlePolicy {
  /** RFC 7638 thumbprints, of which each key of a checkpoint must have one; `undefined`: any key, because the log vouches. */
  readonly checkpointKeys: readonly string[] | undefined;
  /** Verifier keys, of which one must have signed the note of the log; `undefined`: the bundle need not have a log. */
  readonly logKeys: readonly string[] | undefined;
  /** Verifier keys. */
  readonly witnesses: readonly string[];
  /** How many of the witnesses must have cosigned the note. */
  readonly quorum: number;
}

const MEMBERS = new Set(['checkpoint_keys', 'log_keys', 'witnesses', 'quorum']);
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

/** Many times the size of a policy of a hundred keys. */
const MAX_BYTES = 1_048_576;

/** The policy, or a sentence that says why the text is not a policy. It repeats nothing of the text. */
export function parseBundlePolicy(hash: Hash, text: string): BundlePolicy | string {
  const json = Buffer.byteLength(text) > MAX_BYTES ? undefined : parseStrictJson(text);
  if (!isJsonObject(json) || Object.keys(json).some((name) => !MEMBERS.has(name))) {
    return `A policy is a JSON object with no other members than ${[...MEMBERS].join(', ')}, each at most once.`;
  }
  const listed = (name: string, isItem: (text: string) => boolean): readonly string[] | undefined => {
    const value = json[name];
    const isList = Array.isArray(value) && value.length > 0 && new Set(value).size === value.length;
    return isList && value.every((item) => typeof item === 'string' && isItem(item)) ? value.map(String) : undefined;
  };
  const ofType = (type: number) => (text: string) => parseVerifierKey(hash, text)?.type === type;
  const checkpointKeys = listed('checkpoint_keys', (text) => THUMBPRINT.test(text));
  const logKeys = listed('log_keys', ofType(ED25519));
  const witnesses = listed('witnesses', ofType(COSIGNATURE));
  if (json.checkpoint_keys !== undefined && checkpointKeys === undefined) {
    return 'checkpoint_keys of a policy is a list of different RFC 7638 thumbprints.';
  }
  if (json.log_keys !== undefined && logKeys === undefined) return keysSentence('log_keys', 'a log');
  if (json.witnesses !== undefined && witnesses === undefined) return keysSentence('witnesses', 'a witness');
  if (checkpointKeys === undefined && logKeys === undefined) {
    return 'A policy names checkpoint_keys or log_keys: without them anybody could have made the bundle.';
  }
  const { quorum = 0 } = json;
  const most = logKeys === undefined ? 0 : new Set(witnesses?.map(keyOf)).size;
  const least = witnesses === undefined ? 0 : 1;
  if (typeof quorum !== 'number' || !Number.isInteger(quorum) || quorum < least || quorum > most) {
    return 'quorum of a policy is how many of its witnesses must have signed: at least 1, and at most as many as it names. It needs log_keys too.';
  }
  return { checkpointKeys, logKeys, witnesses: witnesses ?? [], quorum };
}

function keysSentence(member: string, whose: string): string {
  return `${member} of a policy is a list of different verifier keys, each of the type that ${whose} signs with.`;
}

/** The sentence that says which demand is not met, by a bundle or by a whole ledger with a note of its log. */
export function policyFault(
  policy: BundlePolicy,
  { keys, log }: Pick<VerifiedBundle, 'keys' | 'log'>,
): string | undefined {
  const { checkpointKeys, logKeys, witnesses, quorum } = policy;
  const strangers = keys.filter(
    ({ use, thumbprint }) => use === 'checkpoint' && checkpointKeys?.includes(thumbprint) === false,
  );
  const [stranger, ...more] = strangers;
  if (stranger !== undefined) return strangerSentence(stranger, more.length);
  if (logKeys === undefined) return undefined;
  if (log === undefined) return 'The policy demands a log, and the bundle has none.';
  if (!keys.some(({ use, vkey = '' }) => use === 'log' && logKeys.includes(vkey))) {
    return 'The key that signed the note of the log is not one of the log_keys of the policy.';
  }
  const signed = keys.filter(({ use, vkey = '' }) => use === 'witness' && witnesses.includes(vkey));
  const count = new Set(signed.map(({ thumbprint }) => thumbprint)).size;
  return count >= quorum ? undefined : `The policy demands ${quorum} of its witnesses, and ${count} cosigned the note.`;
}

function strangerSentence({ thumbprint, checkpoint }: BelievedKey, more: number): string {
  const others = more === 0 ? '' : ` So did ${more} more ${more === 1 ? 'key' : 'keys'} that the policy does not name.`;
  return `The key ${thumbprint} signed checkpoint ${checkpoint}, and is not one of the checkpoint_keys of the policy.${others}`;
}

/** Two verifier keys with different names can be the same key. */
function keyOf(vkey: string): string {
  return vkey.split('+').slice(2).join('+');
}
