/** The keys that an auditor's script trusts, and those that the ledger names, if it asks for them. */

import type { JsonWebKey, KeyObject } from 'node:crypto';
import { canonicalCheckpoint } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, checkpointHash, type Mark } from '../../../domain/ledger/checkpoint.ts';
import { checkpointKeys } from '../../../domain/ledger/checkpoint-keys.ts';
import { inclusionFault } from '../../../domain/ledger/inclusion.ts';
import { readProof, readRecord, Unreadable } from '../../../domain/ledger/published.ts';
import { believedBefore, type KeyNaming, namedKey } from '../../../domain/ledger/recorded-keys.ts';
import { ecKeyOf, thumbprintOf } from '../../../domain/log/bundle.ts';
import type { Json } from '../../../domain/tokens/strict-json.ts';
import { anything, type Check, checkArguments, listOf, membersOf, optionsOf } from '../arguments.ts';
import { importP256, isEs256, sha256 } from './signatures.ts';

/** A published key set (RFC 7517 §5): the body of `GET /.well-known/jwks.json`, or a saved copy. */
export interface JwkSet {
  readonly keys: readonly JsonWebKey[];
}

/**
 * Keys that the ledger itself names, which are never believed by default. An owner of the database can have a key
 * recorded, and rewrite with it all that it signed. A key is believed for the checkpoints before the one that seals a
 * record about it, if a believed key signed that one. Verify the chain first: records verify only if their checkpoint is
 * in it, before one by a key that you passed.
 */
export interface RecordedKeys {
  /** Such as the `jwk` of each key in `GET /log/keys`. */
  readonly keys: readonly JsonWebKey[];
  /** The records `key.activated` and `key.retired` that name them, as published, each with its proof. */
  readonly records: readonly { readonly record: unknown; readonly proof: unknown }[];
}

/** The only accepted form of a signature: r and s, 64 bytes, in lowercase hex. */
const SIGNATURE = /^[0-9a-f]{128}$/;

interface NamedKey {
  readonly kid: string;
  readonly key: KeyObject;
  /** RFC 7638. */
  readonly thumbprint: string;
}

/** A key set collected over years may use one `kid` for several keys. All of them are trusted. */
export function usableKeys(keys: readonly JsonWebKey[]): readonly NamedKey[] {
  return checkpointKeys(keys as readonly Json[]).flatMap(({ jwk: { kid, ...jwk } }) => {
    const [key, members] = [importP256(jwk), ecKeyOf({ ...jwk })];
    return key === undefined || members === undefined ? [] : [{ kid, key, thumbprint: thumbprintOf(sha256, members) }];
  });
}

export function signerOf(keys: readonly NamedKey[], checkpoint: Checkpoint): NamedKey | undefined {
  const { kid, signature } = checkpoint;
  if (!SIGNATURE.test(signature)) return undefined;
  const signed = Buffer.from(canonicalCheckpoint(checkpoint), 'latin1');
  return keys.find((key) => key.kid === kid && isEs256(key.key, signed, Buffer.from(signature, 'hex')));
}

export const jwkSet = membersOf({ keys: listOf(anything) });

export const recordedKeysGiven: Check = optionsOf({
  keys: listOf(anything),
  records: listOf(optionsOf({ record: published(readRecord), proof: published(readProof) })),
});

/** Accepts a value in the published form. */
function published(read: (value: unknown) => unknown): Check {
  return (value, name) => {
    try {
      read(value);
      return [];
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return [`${name} must be of the published form: ${error.message.replace(/\.$/, '')}`];
    }
  };
}

/** @throws TypeError if a record names no key, is not proved, or no known key signed its checkpoint */
export function believeRecorded(trusted: readonly NamedKey[], { keys, records }: RecordedKeys) {
  const candidates = usableKeys(keys);
  const marks: Mark[] = [];
  const problems: string[] = [];
  const namings = records.flatMap(({ record, proof }, index): readonly KeyNaming[] => {
    const [read, { seq, ...claim }] = [readRecord(record), readProof(proof)];
    const thumbprint = namedKey(read);
    const isProved = seq === read.seq && inclusionFault(sha256, read, claim) === undefined;
    const isTrusted = signerOf(trusted, claim.checkpoint) !== undefined;
    const signer = isTrusted ? undefined : signerOf(candidates, claim.checkpoint)?.thumbprint;
    if (thumbprint === undefined || !isProved || (!isTrusted && signer === undefined)) {
      problems.push(`recordedKeys.records[${index}] must name a key, and its proof must verify`);
      return [];
    }
    marks.push(claim.checkpoint);
    return [{ thumbprint, checkpointId: claim.checkpoint.checkpointId, signer }];
  });
  checkArguments('createAuditor', records, () => problems);
  const before = believedBefore(namings);
  /**
   * Signers of the checkpoints by recorded keys that a checkpoint by a trusted key covers through the links, by the
   * checkpoint's hash.
   */
  const covered = new Map<string, string>();
  /** The checkpoints of the present chain that no trusted key covers yet, and the hash of its last checkpoint. */
  let [open, last]: [Map<string, string>, string?] = [new Map()];
  const hashOf = (checkpoint: Checkpoint) => `${checkpointHash(sha256, checkpoint)} ${checkpoint.signature}`;
  return {
    marks,
    /** The thumbprint of the believed key that signed the checkpoint. Only the links show that it is of this ledger. */
    signer(checkpoint: Checkpoint): string | undefined {
      const believed = candidates.filter(({ thumbprint }) => checkpoint.checkpointId < (before.get(thumbprint) ?? 0));
      return signerOf(believed, checkpoint)?.thumbprint;
    },
    /** The same, only for a checkpoint in a chain that was verified: a recorded key could have signed any other one. */
    linked: (checkpoint: Checkpoint) => covered.get(hashOf(checkpoint)),
    chainAfter(previous: Checkpoint | undefined) {
      if (previous === undefined || hashOf(previous) !== last) open = new Map();
      return {
        /** @param thumbprint of the recorded key that signed it; `undefined` for a trusted key */
        add(checkpoint: Checkpoint, thumbprint: string | undefined): void {
          last = hashOf(checkpoint);
          if (thumbprint !== undefined) open.set(last, thumbprint);
          else {
            for (const [hash, signer] of open) covered.set(hash, signer);
            open = new Map();
          }
        },
      };
    },
  };
}
