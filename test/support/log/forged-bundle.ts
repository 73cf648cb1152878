/**
 * Evidence bundles as a hostile maker writes them, with keys of the maker and any content. Every hash, every signature and
 * the digest fit, so a reader can refuse such a bundle only for its content.
 */

import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { NoteSigner } from '../../../application/ports/keys.ts';
import { formatSignatureLine } from '../../../domain/log/note.ts';
import {
  COSIGNATURE,
  formatVerifierKey,
  makeVerifierKey,
  type SignatureType,
} from '../../../domain/log/verifier-key.ts';
import { canonicalCheckpointForm, leafOf } from '../independent-ledger/canonical-form.ts';
import { hashLeaf, sha256 } from '../transparency-log.ts';
import { cosign } from './evidence.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });

const RECORD = {
  seq: 1,
  checkpoint: 1,
  ts: '2026-09-21T14:13:20.001Z',
  event: 'admin.denied',
  task_id: null,
  agent_id: null,
  sponsor: null,
  audience: null,
  scope: null,
  jti: null,
  delegation_depth: null,
  decision: 'deny',
  reason: 'x',
};
const CHECKPOINT = {
  checkpoint_id: 1,
  first_seq: 1,
  last_seq: 1,
  tree_size: 1,
  root_hash: '',
  prev_checkpoint_hash: null,
  closed_at: '2026-09-21T14:14:00.000Z',
  kid: 'forged',
};

export interface Forgery {
  readonly record?: Readonly<Record<string, unknown>>;
  readonly checkpoint?: Readonly<Record<string, unknown>>;
  readonly selection?: Readonly<Record<string, unknown>>;
  readonly completeness?: Readonly<Record<string, unknown>>;
  /** The log first, then witnesses. None: the bundle has no log. */
  readonly signers?: readonly NoteSigner[];
  /** Changes a line before the digest is computed. */
  readonly line?: (line: string) => string;
}

/** A bundle of one record. */
export function forgedBundle({ signers = [], line = (text) => text, ...forgery }: Forgery): string {
  const record = { ...RECORD, ...forgery.record };
  const unsigned = { ...CHECKPOINT, root_hash: leafOf(record).toString('hex'), ...forgery.checkpoint };
  const signature = sign('sha256', Buffer.from(canonicalCheckpointForm(unsigned)), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  const checkpoint = { ...unsigned, signature: signature.toString('hex') };
  const [log] = signers;
  const note = `${log?.key.name}\n1\n${hashLeaf(Buffer.from(JSON.stringify(checkpoint))).toString('base64')}\n`;
  const keys = signers.map(({ key }) => formatVerifierKey(key));
  const logged = { note: `${note}\n${signers.map((signer) => lineOf(signer, note)).join('')}`, keys };
  const completeness = { records: 1, started: null, ended: null, not_sealed: 0, not_logged: 0, archived_before: null };
  const lines = [
    '{"format":"mandate-evidence/1",',
    `"selection":${JSON.stringify(forgery.selection ?? {})},`,
    `"log":${JSON.stringify(log === undefined ? null : logged)},`,
    '"evidence":[',
    `${JSON.stringify({ checkpoint, key: { crv, kty, x, y }, ...(log && { log_path: [] }) })},`,
    JSON.stringify({ record, leaf_index: 0, audit_path: [] }),
    '],',
    `"completeness":${JSON.stringify({ ...completeness, ...forgery.completeness })},`,
  ].map((text) => `${line(text)}\n`);
  return `${lines.join('')}"sha256":"${sha256(Buffer.from(lines.join(''))).toString('hex')}"}\n`;
}

const SECONDS = 1_790_000_000;

function lineOf(signer: NoteSigner, text: string): string {
  const { key } = signer;
  if (key.type === COSIGNATURE) return cosign(signer, text, SECONDS);
  return formatSignatureLine({ ...key, signature: signer.sign(Buffer.from(text)) });
}

/** An Ed25519 key from a seed, with any name. */
export function seededSigner(name: string, type: SignatureType, seed: string): NoteSigner {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), sha256(Buffer.from(seed))]);
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const bytes = Buffer.from(String(createPublicKey(key).export({ format: 'jwk' }).x), 'base64url');
  return {
    key: makeVerifierKey(sha256, name, type, bytes),
    thumbprint: '',
    sign: (message) => sign(null, message, key),
  };
}
