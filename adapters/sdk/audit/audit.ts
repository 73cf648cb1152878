/**
 * The exports of `@mandate/audit`, with which an auditor's script verifies published records and checkpoints. They share
 * the sealing code with the service, and load no part of its server (specification "Ledger and seal"; docs/auditing.md).
 */

import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { canonicalCheckpoint, canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, formatMark, parseMark, toHex } from '../../../domain/ledger/checkpoint.ts';
import { inclusionFault, isIn } from '../../../domain/ledger/inclusion.ts';
import { leafHash, treeBuilder } from '../../../domain/ledger/merkle-tree.ts';
import { readCheckpoint, readProof, readRecord, Unreadable } from '../../../domain/ledger/published.ts';
import {
  chainFault,
  contradictedMark,
  describeFault,
  unmatchedMark,
  type VerificationFault,
} from '../../../domain/ledger/verification.ts';
import { isEs256, sha256 } from './signatures.ts';

export type { PublishedCheckpoint, PublishedProof, PublishedRecord } from '../../../domain/ledger/published.ts';
export { type BundleDemands, type BundleOptions, type BundleVerdict, verifyBundle } from './bundle.ts';

/** A published key set (RFC 7517 §5): the body of `GET /.well-known/jwks.json`, or a saved copy. */
export interface JwkSet {
  readonly keys: readonly JsonWebKey[];
}

/**
 * Why a verification failed:
 * - `unreadable`: the input does not have the published form.
 * - `other_record`: the proof belongs to another record, or another checkpoint sealed the record.
 * - `root_mismatch`: the record differs from the sealed one.
 * - all others: faults that `mandate audit-verify` also reports for a checkpoint.
 */
export type Fault = 'unreadable' | 'other_record' | VerificationFault['kind'];

interface Refuted {
  readonly verified: false;
  readonly fault: Fault;
  /** A sentence for an auditor. It quotes no part of a record. */
  readonly message: string;
}

export type Verdict =
  | {
      readonly verified: true;
      readonly checkpointId: number;
      /** `checkpoint_id:root`. Save it where the operators of the database cannot change it. */
      readonly mark: string;
    }
  | Refuted;

export type ChainVerdict =
  | {
      readonly verified: true;
      /** The number of verified checkpoints. */
      readonly checkpoints: number;
      /** The mark of the last checkpoint. `undefined` without checkpoints. */
      readonly mark: string | undefined;
    }
  | Refuted;

export interface Auditor {
  /** Verifies that the checkpoint sealed this record at this index, and that its signature is valid. */
  verifyRecord(record: unknown, proof: unknown): Verdict;
  /**
   * Verifies each checkpoint's signature, and its link to the previous one.
   *
   * @param checkpoints oldest first, without a gap. They begin with the ledger's first one, unless `after` is given
   * @param after the last checkpoint of the previous page, which is already verified
   * @param marks saved marks (`checkpoint_id:root`). A checkpoint with that id must have that root. No mark may name a
   * checkpoint after the last
   * @param more whether another page follows, which may hold the checkpoints of later marks. The default is false
   */
  verifyCheckpoints(
    checkpoints: readonly unknown[],
    options?: { readonly after?: unknown; readonly marks?: readonly string[]; readonly more?: boolean },
  ): ChainVerdict;
  /** Verifies that these are all records of the checkpoint, in the order of `seq`, and that its signature is valid. */
  verifySealed(checkpoint: unknown, records: readonly unknown[]): Verdict;
  /** The leaf of a record: SHA-256 of the byte 0 and its canonical JSON, in lowercase hex. @throws if it is no record */
  leafHash(record: unknown): string;
}

/**
 * @param keys the trusted keys. All but EC keys on P-256 with a `kid` are ignored
 * @throws TypeError if no key is usable, or a key is not a point of its curve
 */
export function createAuditor({ keys }: { readonly keys: JwkSet }): Auditor {
  const trusted = keysByName(keys);

  const signatureFault = (checkpoint: Checkpoint): VerificationFault | undefined => {
    const { checkpointId, kid, signature } = checkpoint;
    const named = trusted.get(kid) ?? [];
    if (named.length === 0) return { kind: 'unknown_key', checkpointId };
    const signed = Buffer.from(canonicalCheckpoint(checkpoint), 'latin1');
    const isSigned =
      SIGNATURE.test(signature) && named.some((key) => isEs256(key, signed, Buffer.from(signature, 'hex')));
    return isSigned ? undefined : { kind: 'invalid_signature', checkpointId };
  };
  const verdictOn = (checkpoint: Checkpoint): Verdict => {
    const fault = signatureFault(checkpoint);
    if (fault !== undefined) return refuted(fault);
    return { verified: true, checkpointId: checkpoint.checkpointId, mark: formatMark(checkpoint) };
  };

  return {
    verifyRecord: (publishedRecord, publishedProof) =>
      reading(() => {
        const [record, proof] = [readRecord(publishedRecord), readProof(publishedProof)];
        if (proof.seq !== record.seq) return other('The proof is of a record with another number.');
        const { checkpoint } = proof;
        const fault = inclusionFault(sha256, record, proof);
        if (fault === 'root_mismatch') return refuted({ kind: fault, checkpointId: checkpoint.checkpointId });
        if (fault !== undefined) return other(OTHER[fault]);
        return verdictOn(checkpoint);
      }),

    verifyCheckpoints: (published, { after, marks = [], more = false } = {}) =>
      reading(() => {
        const kept = marks.map(readMark);
        let previous = after === undefined ? undefined : readCheckpoint(after);
        for (const each of published) {
          const next = readCheckpoint(each);
          const fault = chainFault(sha256, previous, next) ?? signatureFault(next) ?? contradictedMark(kept, next);
          if (fault !== undefined) return refuted(fault);
          previous = next;
        }
        const unmatched = more ? undefined : unmatchedMark(kept, previous);
        if (unmatched !== undefined) return refuted(unmatched);
        const mark = previous === undefined ? undefined : formatMark(previous);
        return { verified: true, checkpoints: published.length, mark };
      }),

    verifySealed: (published, records) =>
      reading(() => {
        const checkpoint = readCheckpoint(published);
        const { checkpointId, treeSize: sealed } = checkpoint;
        const tree = treeBuilder(sha256);
        let before = 0;
        for (const record of records.map(readRecord)) {
          if (record.seq <= before || !isIn(checkpoint, record))
            return other('The records are not those of the checkpoint, in the order of their numbers.');
          tree.add(leafHash(sha256, canonicalRecord(record)));
          before = record.seq;
        }
        if (tree.size !== sealed) return refuted({ kind: 'tree_size', checkpointId, sealed, held: tree.size });
        if (toHex(tree.root()) !== checkpoint.rootHash) return refuted({ kind: 'root_mismatch', checkpointId });
        return verdictOn(checkpoint);
      }),

    leafHash: (record) => toHex(leafHash(sha256, canonicalRecord(readRecord(record)))),
  };
}

const OTHER = {
  other_checkpoint: 'The record does not lie in the checkpoint of the proof.',
  other_place: 'The number of the record is not one that can stand at its place.',
} as const;

/** The only accepted form of a signature: r and s, 64 bytes, in lowercase hex. */
const SIGNATURE = /^[0-9a-f]{128}$/;

/** A key set collected over years may use one `kid` for several keys. All of them are trusted. */
function keysByName({ keys }: JwkSet): ReadonlyMap<string, readonly KeyObject[]> {
  const named = new Map<string, KeyObject[]>();
  for (const jwk of keys) {
    const { kty, crv, kid } = jwk;
    if (kty !== 'EC' || crv !== 'P-256' || typeof kid !== 'string') continue;
    named.set(kid, [...(named.get(kid) ?? []), createPublicKey({ key: jwk, format: 'jwk' })]);
  }
  if (named.size === 0) throw new TypeError('The key set holds no EC key on P-256 with a kid.');
  return named;
}

function readMark(text: string) {
  const mark = parseMark(text);
  if (mark === undefined) throw new Unreadable('A mark is written checkpoint_id:root, the root in lowercase hex.');
  return mark;
}

function reading<Answer>(verification: () => Answer | Refuted): Answer | Refuted {
  try {
    return verification();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { verified: false, fault: 'unreadable', message: error.message };
  }
}

function refuted(fault: VerificationFault): Refuted {
  return { verified: false, fault: fault.kind, message: describeFault(fault) };
}

function other(message: string): Refuted {
  return { verified: false, fault: 'other_record', message };
}
