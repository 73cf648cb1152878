/** The definitions of RFC 6962 §2.1, word for word. This file must not import the service's code. */

import { createHash } from 'node:crypto';

/** MTH(D[n]) of RFC 6962, over hashed leaves. */
export function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves;
  if (only === undefined) return createHash('sha256').digest();
  if (leaves.length === 1) return only;
  const k = split(leaves.length);
  return node(treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}

/** PATH(m, D[n]) of RFC 6962. */
export function treePath(m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] {
  if (leaves.length <= 1) return [];
  const k = split(leaves.length);
  return m < k
    ? [...treePath(m, leaves.slice(0, k)), treeHash(leaves.slice(k))]
    : [...treePath(m - k, leaves.slice(k)), treeHash(leaves.slice(0, k))];
}

/** The root to which a path leads, by the recursion of PATH; `undefined` if the path has the wrong length. */
export function rootOfPath(
  leaf: Uint8Array,
  m: number,
  n: number,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  if (m < 0 || m >= n) return undefined;
  const last = path.at(-1);
  if (n === 1) return last === undefined ? leaf : undefined;
  if (last === undefined) return undefined;
  const k = split(n);
  const rest = path.slice(0, -1);
  const below = m < k ? rootOfPath(leaf, m, k, rest) : rootOfPath(leaf, m - k, n - k, rest);
  if (below === undefined) return undefined;
  return m < k ? node(below, last) : node(last, below);
}

/** RFC 6962: "the largest power of two strictly below n". */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

function node(left: Uint8Array, right: Uint8Array): Uint8Array {
  return createHash('sha256').update(Buffer.of(1)).update(left).update(right).digest();
}

/** PROOF(m, D[n]) of RFC 6962 §2.1.2. */
export function consistencyProof(m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] {
  return m === 0 ? [] : subproof(m, leaves, true);
}

/** SUBPROOF(m, D[n], b). */
function subproof(m: number, leaves: readonly Uint8Array[], b: boolean): readonly Uint8Array[] {
  if (m === leaves.length) return b ? [] : [treeHash(leaves)];
  const k = split(leaves.length);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), b), treeHash(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), treeHash(leaves.slice(0, k))];
}
