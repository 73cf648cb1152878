/** Reads the vectors in `test/vectors`. The README there names their origin. */

import { readFileSync } from 'node:fs';
import type { PublishedObject } from './canonical-form.ts';

interface CanonicalRecords {
  readonly vectors: readonly {
    readonly about: string;
    readonly record: PublishedObject;
    readonly canonical_json: string;
    readonly leaf: string;
  }[];
}

interface MerkleTrees {
  readonly trees: readonly {
    readonly tree_size: number;
    readonly root_hash: string;
    readonly proofs: readonly {
      readonly leaf_index: number;
      readonly leaf: string;
      readonly audit_path: readonly string[];
    }[];
  }[];
  readonly certificate_transparency: {
    readonly inputs_hex: readonly string[];
    readonly roots_by_size: readonly string[];
  };
}

interface PublishedLedger {
  readonly jwk: Readonly<Record<'kty' | 'crv' | 'use' | 'alg' | 'kid' | 'x' | 'y', string>>;
  readonly records: readonly PublishedObject[];
  readonly checkpoints: readonly (PublishedObject & { readonly signed_bytes: string })[];
}

function vectors<Content>(name: string): Content {
  return JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8')) as Content;
}

export const canonicalRecords = vectors<CanonicalRecords>('canonical-records').vectors;
export const merkleTrees = vectors<MerkleTrees>('merkle-trees');
export const publishedLedger = vectors<PublishedLedger>('published-ledger');
