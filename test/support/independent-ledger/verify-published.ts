/**
 * Verifies the ledger from what the API publishes: `GET /audit`, `GET /audit/checkpoints`, the proofs and the keys. It
 * does not use the service's code.
 */

import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { canonicalCheckpointForm, leafOf, type PublishedObject } from './canonical-form.ts';
import { rootOfPath, treeHash } from './tree-recursion.ts';

export interface PublishedKeys {
  readonly keys: readonly JsonWebKey[];
}

/** The faults of a ledger that begins with its first record. An intact ledger has none. */
export function faultsOfLedger(
  records: readonly PublishedObject[],
  checkpoints: readonly PublishedObject[],
  jwks: PublishedKeys,
): readonly string[] {
  const faults: string[] = [];
  let previous: PublishedObject | undefined;
  for (const checkpoint of checkpoints) {
    const id = Number(checkpoint.checkpoint_id);
    const fault = (what: string) => faults.push(`${id}: ${what}`);
    if (id !== Number(previous?.checkpoint_id ?? 0) + 1) fault('id');
    if (checkpoint.first_seq !== Number(previous?.last_seq ?? 0) + 1) fault('range');
    if (checkpoint.prev_checkpoint_hash !== (previous === undefined ? null : signedHash(previous))) fault('link');
    if (!isSigned(checkpoint, jwks)) fault('signature');
    const sealed = records.filter(({ seq }) => isWithin(Number(seq), checkpoint));
    if (sealed.some((record) => record.checkpoint !== id)) fault('checkpoint of a record');
    if (sealed.length !== checkpoint.tree_size) fault('tree_size');
    if (hex(treeHash(sealed.map(leafOf))) !== checkpoint.root_hash) fault('root');
    previous = checkpoint;
  }
  const unsealed = records.filter(({ seq }) => Number(seq) > Number(previous?.last_seq ?? 0));
  if (unsealed.some(({ checkpoint }) => checkpoint !== null)) faults.push('an unsealed record names a checkpoint');
  return faults;
}

/** Tells whether this proof shows that its checkpoint sealed the record. */
export function isProven(record: PublishedObject, proof: PublishedObject, jwks: PublishedKeys): boolean {
  const checkpoint = proof.checkpoint as PublishedObject;
  const path = (proof.audit_path as readonly string[]).map((node) => Buffer.from(node, 'hex'));
  const root = rootOfPath(leafOf(record), Number(proof.leaf_index), Number(checkpoint.tree_size), path);
  return root !== undefined && hex(root) === checkpoint.root_hash && isSigned(checkpoint, jwks);
}

/** "SHA-256 of the previous checkpoint's signed bytes" */
export function signedHash(checkpoint: PublishedObject): string {
  return createHash('sha256').update(canonicalCheckpointForm(checkpoint), 'ascii').digest('hex');
}

/** "ES256 over the canonical JSON … of the checkpoint fields except `signature`" */
export function isSigned(checkpoint: PublishedObject, { keys }: PublishedKeys): boolean {
  const jwk = keys.find(({ kid }) => kid === checkpoint.kid);
  if (jwk === undefined) return false;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const signature = Buffer.from(String(checkpoint.signature), 'hex');
  const signed = Buffer.from(canonicalCheckpointForm(checkpoint), 'ascii');
  return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

function isWithin(seq: number, { first_seq, last_seq }: PublishedObject): boolean {
  return seq >= Number(first_seq) && seq <= Number(last_seq);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
