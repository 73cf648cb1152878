/**
 * One pass of the transparency log: adds the new checkpoints to its tree, and signs the tree. Of concurrent instances one
 * stores its tree, so the log never signs two trees of one size (C2SP tlog-checkpoint, "Signatures").
 */

import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { toHex } from '../../domain/ledger/checkpoint.ts';
import { entryHash, HASH_BYTES } from '../../domain/ledger/merkle-tree.ts';
import { formatTreeHead } from '../../domain/log/checkpoint-note.ts';
import { edgeTiles, type GrowingTree, growingTree, grown, rootOf } from '../../domain/log/growing-tree.ts';
import { logEntry } from '../../domain/log/log-entry.ts';
import { formatNote } from '../../domain/log/note.ts';
import { TILE_WIDTH } from '../../domain/log/tiles.ts';
import type { TrustedChain } from '../ledger/trusted-chain.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { NoteSigner } from '../ports/keys.ts';
import type { Hash, Turn } from '../ports/runtime.ts';
import type { LogState, TransparencyLog } from '../ports/transparency-log.ts';

export interface LogGrowing {
  readonly log: Pick<TransparencyLog, 'begin' | 'tiles' | 'grow' | 'withdraw' | 'halt'>;
  readonly checkpoints: Pick<Checkpoints, 'page'>;
  readonly signer: NoteSigner;
  readonly hash: Hash;
  readonly turn: Turn;
  /** What this process knows of the chain. */
  readonly chain: Pick<TrustedChain, 'examine'>;
  /** Whether the witnesses are asked about a note before it is published. */
  readonly hasWitnesses: boolean;
}

export type GrowOutcome =
  /** The log has every checkpoint. `size` is its number of leaves. */
  | { readonly kind: 'current'; readonly size: number }
  /** Another instance stored its tree first. */
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'halted'; readonly reason: string }
  /** The checkpoints cannot be trusted, so none is added. */
  | { readonly kind: 'untrusted' }
  /** The stored log has another name: an operator must adopt the new one. */
  | { readonly kind: 'other_origin'; readonly stored: string };

/** Hashing a batch takes about two milliseconds. */
const BATCH = 2 * TILE_WIDTH;

/** The returned function runs one pass. It keeps the last tree of this process, to notice an older database. */
export function logGrowing(service: LogGrowing): (shouldContinue?: () => boolean) => Promise<GrowOutcome> {
  const { log, chain, signer, hash, turn } = service;
  const { name: origin } = signer.key;
  const emptyRoot = toHex(rootOf(hash, { size: 0, edge: [] }));
  let last: Pick<LogState, 'size' | 'root'> | undefined;

  return async (shouldContinue = () => true) => {
    for (;;) {
      const state = await log.begin(origin, emptyRoot);
      if (state.origin !== origin) return { kind: 'other_origin', stored: state.origin };
      if (state.halted !== undefined) return { kind: 'halted', reason: state.halted };
      const loss = lossSince(last, state);
      // Readers may have seen a larger tree: the note of this one is not shown to them.
      if (loss !== undefined) await log.withdraw(origin, state.size);
      const next = loss ?? (await extend(service, state));
      if (typeof next === 'string') {
        await log.halt(next);
        return { kind: 'halted', reason: next };
      }
      last = state;
      if (next === undefined) return { kind: 'current', size: state.size };
      const { tree, tiles } = next;
      if (tree.size > state.size && (await chain.examine()).kind === 'untrusted') return { kind: 'untrusted' };
      const root = rootOf(hash, tree);
      const text = formatTreeHead({ origin, size: tree.size, root });
      const { keyId } = signer.key;
      const note = formatNote({
        text,
        signatures: [{ name: origin, keyId, signature: signer.sign(Buffer.from(text)) }],
      });
      const to = { size: tree.size, root: toHex(root), note };
      const outcome = await log.grow({ origin, from: state, to, tiles, publish: !service.hasWitnesses });
      if (outcome === 'overtaken') return { kind: 'overtaken' };
      last = to;
      if (!shouldContinue()) return { kind: 'current', size: tree.size };
      await turn();
    }
  };
}

/** Why the log must halt: the stored tree is older than the last one of this process. */
function lossSince(last: Pick<LogState, 'size' | 'root'> | undefined, { size, root }: LogState): string | undefined {
  if (last === undefined || size > last.size || (size === last.size && root === last.root)) return undefined;
  return `The database went back in time: its log has ${size} leaves, and a log of ${last.size} was signed.`;
}

/** The next tree; `undefined` if the stored one is signed and complete; or why the log must halt, as a sentence. */
async function extend(
  { log, checkpoints, hash }: LogGrowing,
  state: LogState,
): Promise<ReturnType<typeof grown> | string | undefined> {
  const { size } = state;
  // 1. The stored tree must be the one that was signed.
  const tree = growingTree(size, await log.tiles(edgeTiles(size)));
  if (tree === undefined || toHex(rootOf(hash, tree)) !== state.root) {
    return 'The stored tiles no longer have the root that was signed.';
  }
  // 2. The checkpoints of its last tile must be those that were logged.
  const start = size - (size % TILE_WIDTH);
  const page = await checkpoints.page(start, BATCH);
  const leaves = page.map((checkpoint) => entryHash(hash, logEntry(checkpoint)));
  const fault = contradiction(tree, start, page, leaves);
  if (fault !== undefined) return fault;
  // 3. Add the new ones.
  const added = leaves.slice(size - start);
  if (added.length === 0 && state.note !== undefined) return undefined;
  return grown(hash, tree, added);
}

function contradiction(
  { size, edge }: GrowingTree,
  start: number,
  page: readonly Checkpoint[],
  leaves: readonly Uint8Array[],
): string | undefined {
  const gap = page.findIndex(({ checkpointId }, at) => checkpointId !== start + at + 1);
  if (gap >= 0) return `Checkpoint ${start + gap + 1} is missing.`;
  if (start + page.length < size) return `Checkpoint ${start + page.length + 1} is missing, and is in the log.`;
  const logged = edge[0] ?? new Uint8Array();
  for (let at = 0; at < size - start; at += 1) {
    const hash = logged.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES);
    if (Buffer.compare(hash, leaves[at] ?? hash.subarray(0, 0)) !== 0) {
      return `Checkpoint ${start + at + 1} is not the one that was logged.`;
    }
  }
  return undefined;
}
