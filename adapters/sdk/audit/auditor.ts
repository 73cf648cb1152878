/** Verifies records, proofs and checkpoints as they are published, with published keys. */

import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { canonicalCheckpoint, canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, formatMark, parseMark, toHex } from '../../../domain/ledger/checkpoint.ts';
import { foldPath, leafHash, treeBuilder } from '../../../domain/ledger/merkle-tree.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import {
  chainFault,
  contradictedMark,
  describeFault,
  unmatchedMark,
  type VerificationFault,
} from '../../../domain/ledger/verification.ts';
import { readCheckpoint, readProof, readRecord, Unreadable } from './published.ts';

/** A key set as it is published (RFC 7517 §5): `GET /.well-known/jwks.json`, or a copy that was kept. */
export interface JwkSet {
  readonly keys: readonly JsonWebKey[];
}

/**
 * - `unreadable`: not of the form that the service publishes.
 * - `other_record`: the proof is of another record, or the record was sealed by another checkpoint.
 * - `root_mismatch`: the record is not what was sealed there.
 * - the others: as `mandate audit-verify` says them of a checkpoint.
 */
export type Fault = 'unreadable' | 'other_record' | VerificationFault['kind'];

interface Refuted {
  readonly verified: false;
  readonly fault: Fault;
  /** A sentence for an auditor; it repeats nothing of what a record holds. */
  readonly message: string;
}

export type Verdict =
  | {
      readonly verified: true;
      readonly checkpointId: number;
      /** `checkpoint_id:root`, to be kept where the database's operators cannot reach it. */
      readonly mark: string;
    }
  | Refuted;

export type ChainVerdict =
  | {
      readonly verified: true;
      /** How many checkpoints were looked at. */
      readonly checkpoints: number;
      /** Of the last one; `undefined` when there was none. */
      readonly mark: string | undefined;
    }
  | Refuted;

export interface Auditor {
  /** That the record is the one that its checkpoint sealed at this place, and that the checkpoint is signed. */
  verifyRecord(record: unknown, proof: unknown): Verdict;
  /**
   * That each checkpoint is signed, follows the one before and links to it.
   *
   * @param checkpoints oldest first, without a gap; the ledger's first at the beginning, unless `after` is said
   * @param after the last one of the page before, which was verified then
   * @param marks as they were kept, `checkpoint_id:root`: none may be contradicted by a checkpoint among these, nor name
   *   one that comes after the last
   * @param more whether a page follows, in which the later marks may be met; without it these are the last there are
   */
  verifyCheckpoints(
    checkpoints: readonly unknown[],
    options?: { readonly after?: unknown; readonly marks?: readonly string[]; readonly more?: boolean },
  ): ChainVerdict;
  /** That these are all the records that a checkpoint sealed, in the order of their numbers, and that it is signed. */
  verifySealed(checkpoint: unknown, records: readonly unknown[]): Verdict;
  /** A record's leaf: SHA-256 of the byte 0 and its canonical JSON, in lowercase hex. @throws for what is no record */
  leafHash(record: unknown): string;
}

/**
 * @param keys those that are trusted; only EC keys on P-256 with a `kid` are looked at
 * @throws TypeError when there is none, or one is no point of its curve
 */
export function createAuditor({ keys }: { readonly keys: JwkSet }): Auditor {
  const trusted = keysByName(keys);

  const signatureFault = (checkpoint: Checkpoint): VerificationFault | undefined => {
    const { checkpointId, kid, signature } = checkpoint;
    const named = trusted.get(kid) ?? [];
    if (named.length === 0) return { kind: 'unknown_key', checkpointId };
    const signed = Buffer.from(canonicalCheckpoint(checkpoint), 'latin1');
    const isSigned = SIGNATURE.test(signature) && named.some((key) => isSignature(key, signed, signature));
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
        const { checkpoint } = proof;
        const { checkpointId, treeSize } = checkpoint;
        if (proof.seq !== record.seq) return other('The proof is of a record with another number.');
        if (!isIn(checkpoint, record)) {
          return other('The record does not lie in the checkpoint of the proof.');
        }
        if (!hasRoomBeside(checkpoint, record.seq, proof.index)) {
          return other('The number of the record is not one that can stand at its place.');
        }
        const leaf = leafHash(sha256, canonicalRecord(record));
        const root = foldPath(sha256, { leaf, index: proof.index, size: treeSize, path: proof.path });
        if (root === undefined || toHex(root) !== checkpoint.rootHash) {
          return refuted({ kind: 'root_mismatch', checkpointId });
        }
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

/** A record that was read before it was sealed, as a sink reads every one, names no checkpoint. */
function isIn({ checkpointId, firstSeq, lastSeq }: Checkpoint, { seq, checkpoint = checkpointId }: LedgerRecord) {
  return seq >= firstSeq && seq <= lastSeq && checkpoint === checkpointId;
}

/**
 * A record's number is sealed by its place alone: as many numbers as there are leaves before it come before, and as many
 * come after. Between two holes that leaves a choice; without holes it leaves none.
 */
function hasRoomBeside({ firstSeq, lastSeq, treeSize }: Checkpoint, seq: number, index: number): boolean {
  return seq - firstSeq >= index && lastSeq - seq >= treeSize - 1 - index;
}

/** One signature is written in one way only: r and s, 64 bytes, in lowercase. */
const SIGNATURE = /^[0-9a-f]{128}$/;

function isSignature(key: KeyObject, signed: Uint8Array, signature: string): boolean {
  return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'hex'));
}

/** Sets that were put together over the years may name a key twice: whoever trusts the set trusts both. */
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

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
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
