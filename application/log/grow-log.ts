/**
 * One pass of the transparency log: adds the new checkpoints to its tree, and signs the tree. Of concurrent instances
 * one stores its tree, so the log never signs two trees of one size (C2SP tlog-checkpoint, "Signatures").
 *
 * The log's life: record-keys.ts records the keys at the start. A pass takes the checkpoints that it may sign
 * (chain-tail.ts). witnessing.ts then gets the new tree cosigned, and witness-problems.ts reports what fails. Readers
 * get the log from read-log.ts and listed-keys.ts, proofs from prove-in-log.ts, and evidence for others from
 * make-bundle.ts. The other side, a witness, is cosign-checkpoint.ts with witness-clock.ts.
 */

import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { toHex } from '../../domain/ledger/checkpoint.ts';
import { entryHash, HASH_BYTES, type Hash } from '../../domain/ledger/merkle-tree.ts';
import { describeFault } from '../../domain/ledger/verification.ts';
import { formatTreeHead } from '../../domain/log/checkpoint-note.ts';
import { edgeTiles, type GrowingTree, growingTree, grown, rootOf } from '../../domain/log/growing-tree.ts';
import { logEntry } from '../../domain/log/log-entry.ts';
import { formatNote } from '../../domain/log/note.ts';
import { TILE_WIDTH } from '../../domain/log/tiles.ts';
import { isSameCheckpoint } from '../ledger/trusted-chain.ts';
import type { NoteSigner } from '../ports/keys.ts';
import type { LogState, TransparencyLog } from '../ports/transparency-log.ts';
import {
  BATCH,
  type ChainReading,
  type ChainTail,
  chainTail,
  linkFault,
  type NotBelieved,
  replaced,
} from './chain-tail.ts';
import { inclusionPath, isContinued } from './prove-in-log.ts';

interface LogGrowing extends ChainReading {
  readonly log: Pick<TransparencyLog, 'begin' | 'tiles' | 'grow' | 'withdraw' | 'halt'>;
  readonly signer: NoteSigner;
  /** Whether the witnesses are asked about a note before it is published. */
  readonly hasWitnesses: boolean;
}

export type GrowOutcome =
  /** The log has every checkpoint. `size` is its number of leaves. */
  | { readonly kind: 'current'; readonly size: number }
  | { readonly kind: 'halted'; readonly reason: string }
  | NotBelieved
  /** The stored log has another name: an operator must adopt the new one. */
  | { readonly kind: 'other_origin'; readonly stored: string };

/** The returned function runs one pass. It keeps the newest tree that this process signed or saw: only a restart forgets. */
export function logGrowing(service: LogGrowing): (shouldContinue?: () => boolean) => Promise<GrowOutcome> {
  const { log, signer, hash, turn } = service;
  const { name: origin } = signer.key;
  const emptyRoot = toHex(rootOf(hash, { size: 0, edge: [] }));
  let last: SignedTree | undefined;

  return async (shouldContinue = () => true) => {
    const tail = chainTail(service);
    for (;;) {
      const state = await log.begin(origin, emptyRoot);
      if (state.origin !== origin) return { kind: 'other_origin', stored: state.origin };
      if (state.halted !== undefined) return { kind: 'halted', reason: state.halted };
      const loss = await lossSince(service, last, state);
      // Readers may have seen another tree: the note of this one is not shown to them.
      if (loss !== undefined) await log.withdraw(origin, state.size);
      const next = loss ?? (await storedFault(service, last, state)) ?? (await extend(service, state, tail));
      if (typeof next === 'string') {
        await log.halt(next);
        return { kind: 'halted', reason: next };
      }
      last = state;
      if (next === undefined) return { kind: 'current', size: state.size };
      if ('kind' in next) return next;
      const { tree, tiles } = next;
      const root = rootOf(hash, tree);
      const to = { size: tree.size, root: toHex(root), note: signedNote(signer, { size: tree.size, root }) };
      const outcome = await log.grow({ origin, from: state, to, tiles, publish: !service.hasWitnesses });
      if (outcome === 'overtaken') return { kind: 'overtaken' };
      last = to;
      if (!shouldContinue()) return { kind: 'current', size: tree.size };
      await turn();
    }
  };
}

function signedNote(signer: NoteSigner, tree: { readonly size: number; readonly root: Uint8Array }): string {
  const { name, keyId } = signer.key;
  const text = formatTreeHead({ origin: name, ...tree });
  return formatNote({ text, signatures: [{ name, keyId, signature: signer.sign(Buffer.from(text)) }] });
}

type SignedTree = Pick<LogState, 'size' | 'root'>;

/** Why the log must halt: the stored tree does not continue the last one of this process. */
async function lossSince(
  service: LogGrowing,
  last: SignedTree | undefined,
  { size, root }: LogState,
): Promise<string | undefined> {
  if (last === undefined || (size === last.size && root === last.root)) return undefined;
  if (size < last.size) {
    return `The database went back in time: its log has ${size} leaves, and a log of ${last.size} was signed.`;
  }
  const [old, next] = [last, { size, root }].map((tree) => ({ size: tree.size, root: Buffer.from(tree.root, 'hex') }));
  if (old !== undefined && next !== undefined && (await isContinued(service, old, next))) return undefined;
  return `The stored tree of ${size} leaves does not continue the tree of ${last.size} that this process signed or saw: it was replaced.`;
}

/**
 * Why a stored tree that the key of this process did not sign is not extended. Its leaves must be the checkpoints that lead
 * to the examined one: a tree of another replica's key, or of a former name or key. An owner of the database can write any.
 */
async function storedFault(
  { log, checkpoints, chain, signer, hash, turn }: LogGrowing,
  last: SignedTree | undefined,
  { size, root, note }: LogState,
): Promise<NotBelieved | string | undefined> {
  const from = last?.size ?? 0;
  // Ed25519 signatures are deterministic (RFC 8032 §5.1.6).
  if (size === from || note === signedNote(signer, { size, root: Buffer.from(root, 'hex') })) return undefined;
  const examined = await chain.examine();
  if (examined.kind === 'untrusted') return { kind: 'untrusted' };
  const { newest } = examined;
  if (newest === undefined) return 'Checkpoint 1 is missing, and is in the log.';
  let tree = growingTree(from, await log.tiles(edgeTiles(from)));
  let [previous] = from === 0 ? [] : await checkpoints.page(from - 1, 1);
  for (let after = from; tree !== undefined && after < newest.checkpointId; await turn()) {
    const page = (await checkpoints.page(after, BATCH)).filter(
      ({ checkpointId }) => checkpointId <= newest.checkpointId,
    );
    const end = page.at(-1);
    if (end === undefined) return `Checkpoint ${after + 1} is missing.`;
    const fault = linkFault(hash, previous, page);
    if (fault !== undefined) return fault;
    for (const checkpoint of page) {
      // The links fix what a key signed that is no longer configured.
      const unsigned = await chain.signatureFault(checkpoint);
      if (unsigned?.kind === 'invalid_signature') return describeFault(unsigned);
    }
    const leaves = page.filter(({ checkpointId }) => checkpointId <= size);
    tree = grown(
      hash,
      tree,
      leaves.map((checkpoint) => entryHash(hash, logEntry(checkpoint))),
    ).tree;
    [previous, after] = [end, end.checkpointId];
  }
  if (tree?.size !== size || toHex(rootOf(hash, tree)) !== root) {
    return `The stored tree of ${size} leaves is not that of the checkpoints, and the key of this log did not sign it.`;
  }
  return isSameCheckpoint(previous, newest) ? undefined : replaced(newest);
}

/** `undefined` if a value is impossible. Only an owner of the database can write one, and the sealer reports it. */
function leavesOf(hash: Hash, page: readonly Checkpoint[]): readonly Uint8Array[] | undefined {
  try {
    return page.map((checkpoint) => entryHash(hash, logEntry(checkpoint)));
  } catch {
    return undefined;
  }
}

/** The next tree; `undefined` if the stored one is signed and complete; or why the log must halt, as a sentence. */
async function extend(
  service: LogGrowing,
  state: LogState,
  tail: ChainTail,
): Promise<ReturnType<typeof grown> | NotBelieved | string | undefined> {
  const { log, checkpoints, hash } = service;
  const { size } = state;
  // 1. The stored tree must be the one that was signed.
  const tree = growingTree(size, await log.tiles(edgeTiles(size)));
  if (tree === undefined || toHex(rootOf(hash, tree)) !== state.root) {
    return 'The stored tiles no longer have the root that was signed.';
  }
  // 2. The checkpoints of its last tile must be those that were logged.
  const start = size - (size % TILE_WIDTH);
  const page = await checkpoints.page(start, BATCH);
  const leaves = leavesOf(hash, page);
  if (leaves === undefined) return { kind: 'untrusted' };
  const fault = contradiction(tree, start, page, leaves);
  if (fault !== undefined) return fault;
  if (page.length === size - start) return state.note === undefined ? grown(hash, tree, []) : undefined;
  // 3. The new ones must be those that the service sealed.
  const logged = page[size - start - 1] ?? (await lastLogged(service, state, tree));
  if (typeof logged === 'string') return logged;
  const added = await tail.believed(logged, page.slice(size - start));
  if (typeof added !== 'number') return added;
  // 4. Add them.
  return grown(hash, tree, leaves.slice(size - start, size - start + added));
}

/** The last checkpoint of the tree, if the last tile is full; `undefined` for the empty tree. A sentence if it changed. */
async function lastLogged(
  service: LogGrowing,
  { size }: LogState,
  tree: GrowingTree,
): Promise<Checkpoint | string | undefined> {
  if (size === 0) return undefined;
  const [checkpoint] = await service.checkpoints.page(size - 1, 1);
  if (checkpoint?.checkpointId !== size) return `Checkpoint ${size} is missing, and is in the log.`;
  const path = await inclusionPath(service, checkpoint, { size, root: rootOf(service.hash, tree) });
  return path === undefined ? `Checkpoint ${size} is not the one that was logged.` : checkpoint;
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
