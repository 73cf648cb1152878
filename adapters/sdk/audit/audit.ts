/**
 * The exports of `@mandate/audit`, with which an auditor's script verifies published records and checkpoints. They
 * share the sealing code with the service, and load no part of its server (specification "Ledger and seal";
 * docs/auditing.md).
 *
 * The script names the keys that it trusts (keys.ts). Then it verifies a chain of checkpoints, the records of a range,
 * or the proof of one record (here), or an evidence bundle (bundle.ts).
 */

import { canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, formatMark, parseMark, toHex } from '../../../domain/ledger/checkpoint.ts';
import { inclusionFault, isIn } from '../../../domain/ledger/inclusion.ts';
import { leafHash, treeBuilder } from '../../../domain/ledger/merkle-tree.ts';
import { type Proof, readCheckpoint, readProof, readRecord, Unreadable } from '../../../domain/ledger/published.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { VERIFIED_WITH_RECORDED_KEYS } from '../../../domain/ledger/recorded-keys.ts';
import {
  chainFault,
  contradictedMark,
  describeFault,
  unmatchedMark,
  type VerificationFault,
} from '../../../domain/ledger/verification.ts';
import { anything, type Checks, checkArguments, flag, listOf, must, optional, optionsOf } from '../arguments.ts';
import {
  believeRecorded,
  type JwkSet,
  jwkSet,
  type RecordedKeys,
  recordedKeysGiven,
  signerOf,
  usableKeys,
} from './keys.ts';
import { sha256 } from './signatures.ts';

export type { PublishedCheckpoint, PublishedProof, PublishedRecord } from '../../../domain/ledger/published.ts';
export { type BundleDemands, type BundleOptions, type BundleVerdict, verifyBundle } from './bundle.ts';
export type { JwkSet, RecordedKeys } from './keys.ts';

/** Only in a verdict that needed keys of {@link RecordedKeys}. */
interface NeededRecordedKeys {
  /** The RFC 7638 thumbprints of these keys. */
  readonly recordedKeys?: readonly string[];
  /** "Verified with keys that the ledger itself names", and their thumbprints. */
  readonly message?: string;
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
  | (NeededRecordedKeys & {
      readonly verified: true;
      readonly checkpointId: number;
      /** `checkpoint_id:root`. Save it where the operators of the database cannot change it. */
      readonly mark: string;
    })
  | Refuted;

export type ChainVerdict =
  | (NeededRecordedKeys & {
      readonly verified: true;
      /** The number of verified checkpoints. */
      readonly checkpoints: number;
      /** The mark of the last checkpoint. `undefined` without checkpoints. */
      readonly mark: string | undefined;
    })
  | Refuted;

/**
 * A published text is evidence, and a fault of it is a verdict. An argument that JSON cannot hold is a mistake of the
 * program, and a TypeError.
 */
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
  verifyCheckpoints(checkpoints: readonly unknown[], options?: ChainOptions): ChainVerdict;
  /** Verifies that these are all records of the checkpoint, in the order of `seq`, and that its signature is valid. */
  verifySealed(checkpoint: unknown, records: readonly unknown[]): Verdict;
  /**
   * The leaf of a record: SHA-256 of the byte 0 and its canonical JSON, in lowercase hex.
   *
   * @throws TypeError if it is no record
   */
  leafHash(record: unknown): string;
}

interface ChainOptions {
  readonly after?: unknown;
  readonly marks?: readonly string[];
  readonly more?: boolean;
}

interface AuditorOptions {
  readonly keys: JwkSet;
  readonly recordedKeys?: RecordedKeys;
}

const fromJson = (what: string) =>
  must(
    `be a ${what} as published, parsed from JSON`,
    (value) => !['undefined', 'function', 'symbol'].includes(typeof value),
  );
const someText = must('be a text', (value) => typeof value === 'string');

const OPTIONS: Checks<AuditorOptions> = {
  // The same sets as in `mandate audit-verify`: keys of other kinds are ignored, so one usable key is enough.
  keys: (value, name) => {
    const problems = jwkSet(value, name);
    const isUsable = problems.length > 0 || usableKeys((value as JwkSet).keys).length > 0;
    return isUsable
      ? problems
      : [`${name} must be a key set that holds a usable key: this set holds no EC key on P-256 with a kid`];
  },
  recordedKeys: optional(recordedKeysGiven),
};
const RECORD = optionsOf({ record: fromJson('record'), proof: fromJson('proof') });
const CHAIN = optionsOf({
  checkpoints: listOf(anything),
  options: optional(
    optionsOf({
      after: anything,
      marks: optional(listOf(someText)),
      more: optional(flag),
    } satisfies Checks<ChainOptions>),
  ),
});
const SEALED = optionsOf({ checkpoint: fromJson('checkpoint'), records: listOf(anything) });

/** The keys that a verification believes. */
interface BelievedKeys {
  readonly trusted: ReturnType<typeof usableKeys>;
  readonly recorded: ReturnType<typeof believeRecorded> | undefined;
}

/**
 * @param keys the trusted keys. Keys that cannot verify checkpoints are ignored, as `mandate audit-verify` does: all but
 * public EC keys on P-256 with a `kid`, and keys for another use
 * @param recordedKeys also believed, if given. By default no key that comes from the ledger is
 * @throws TypeError if no key is usable, or a record of `recordedKeys` is unreadable, names no key, or is not proved
 *
 * @example
 * ```ts
 * import { createAuditor } from '@mandate/audit';
 *
 * const auditor = createAuditor({ keys });
 * const verdict = auditor.verifyCheckpoints(checkpoints, { marks });
 * console.log(verdict.verified ? `${verdict.checkpoints} checkpoints are intact` : verdict.message);
 * ```
 */
export function createAuditor(given: AuditorOptions): Auditor {
  checkArguments('createAuditor', given, optionsOf(OPTIONS));
  const { keys, recordedKeys } = given;
  const trusted = usableKeys(keys.keys);
  const believed: BelievedKeys = { trusted, recorded: recordedKeys && believeRecorded(trusted, recordedKeys) };

  return {
    verifyRecord(record, proof) {
      checkArguments('verifyRecord', { record, proof }, RECORD);
      return reading(() => verifyRecord(believed, readRecord(record), readProof(proof)));
    },
    verifyCheckpoints(checkpoints, options) {
      checkArguments('verifyCheckpoints', { checkpoints, options }, CHAIN);
      return reading(() => verifyCheckpoints(believed, checkpoints, options));
    },
    verifySealed(checkpoint, records) {
      checkArguments('verifySealed', { checkpoint, records }, SEALED);
      return reading(() => verifySealed(believed, readCheckpoint(checkpoint), records.map(readRecord)));
    },
    leafHash(record) {
      const read = reading(() => readRecord(record));
      if ('fault' in read) throw new TypeError(`leafHash: record must be a record as published. ${read.message}`);
      return toHex(leafHash(sha256, canonicalRecord(read)));
    },
  };
}

function verifyRecord(believed: BelievedKeys, record: LedgerRecord, proof: Proof): Verdict {
  if (proof.seq !== record.seq) return other('The proof is of a record with another number.');
  const { checkpoint } = proof;
  const fault = inclusionFault(sha256, record, proof);
  if (fault === 'root_mismatch') return refuted({ kind: fault, checkpointId: checkpoint.checkpointId });
  if (fault !== undefined) return other(OTHER[fault]);
  return verdictOn(believed, checkpoint);
}

function verifyCheckpoints(
  { trusted, recorded }: BelievedKeys,
  published: readonly unknown[],
  { after, marks = [], more = false }: ChainOptions = {},
): ChainVerdict {
  // A checkpoint that vouches for a recorded key has to be one of this chain.
  const kept = [...marks.map(readMark), ...(recorded?.marks ?? [])];
  const needed = new Set<string>();
  let previous = after === undefined ? undefined : readCheckpoint(after);
  const chain = recorded?.chainAfter(previous);
  for (const each of published) {
    const next = readCheckpoint(each);
    const isTrusted = signerOf(trusted, next) !== undefined;
    const thumbprint = isTrusted ? undefined : recorded?.signer(next);
    const unsigned = isTrusted || thumbprint !== undefined ? undefined : signatureFault(trusted, next);
    const fault = chainFault(sha256, previous, next) ?? unsigned ?? contradictedMark(kept, next);
    if (fault !== undefined) return refuted(fault);
    if (thumbprint !== undefined) needed.add(thumbprint);
    chain?.add(next, thumbprint);
    previous = next;
  }
  const unmatched = more ? undefined : unmatchedMark(kept, previous);
  if (unmatched !== undefined) return refuted(unmatched);
  const mark = previous === undefined ? undefined : formatMark(previous);
  return { verified: true, checkpoints: published.length, mark, ...neededKeys(needed) };
}

function verifySealed(believed: BelievedKeys, checkpoint: Checkpoint, records: readonly LedgerRecord[]): Verdict {
  const { checkpointId, treeSize: sealed } = checkpoint;
  const tree = treeBuilder(sha256);
  let before = 0;
  for (const record of records) {
    if (record.seq <= before || !isIn(checkpoint, record)) {
      return other('The records are not those of the checkpoint, in the order of their numbers.');
    }
    tree.add(leafHash(sha256, canonicalRecord(record)));
    before = record.seq;
  }
  if (tree.size !== sealed) return refuted({ kind: 'tree_size', checkpointId, sealed, held: tree.size });
  if (toHex(tree.root()) !== checkpoint.rootHash) return refuted({ kind: 'root_mismatch', checkpointId });
  return verdictOn(believed, checkpoint);
}

function verdictOn({ trusted, recorded }: BelievedKeys, checkpoint: Checkpoint): Verdict {
  const isTrusted = signerOf(trusted, checkpoint) !== undefined;
  const thumbprint = isTrusted ? undefined : recorded?.linked(checkpoint);
  if (!isTrusted && thumbprint === undefined) return refuted(signatureFault(trusted, checkpoint));
  const { checkpointId } = checkpoint;
  const needed = new Set(thumbprint === undefined ? [] : [thumbprint]);
  return { verified: true, checkpointId, mark: formatMark(checkpoint), ...neededKeys(needed) };
}

/** The fault of a checkpoint that no believed key signed. */
function signatureFault(trusted: BelievedKeys['trusted'], { checkpointId, kid }: Checkpoint): VerificationFault {
  return { kind: trusted.some((key) => key.kid === kid) ? 'invalid_signature' : 'unknown_key', checkpointId };
}

const OTHER = {
  other_checkpoint: 'The record does not lie in the checkpoint of the proof.',
  other_place: 'The number of the record is not one that can stand at its place.',
} as const;

function neededKeys(needed: ReadonlySet<string>): NeededRecordedKeys {
  if (needed.size === 0) return {};
  return { recordedKeys: [...needed], message: `${VERIFIED_WITH_RECORDED_KEYS}: ${[...needed].join(', ')}.` };
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
