/**
 * The memory of a process that seals (supplement "Trust in the ledger"): the newest checkpoint that it sealed or saw.
 *
 * The database's owner can rewrite a ledger with all its checkpoints. Before a process seals, it therefore verifies the
 * newest checkpoint with a configured key, and that the ledger still continues the checkpoint that the process knows.
 * The first examination adopts the newest checkpoint, if its signature is valid. Only a restart of the process forgets that
 * checkpoint.
 */

import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import { continuityFault, type Distrust, describeDistrust } from '../../domain/ledger/distrust.ts';
import { chainFault } from '../../domain/ledger/verification.ts';
import type { Checkpoints, UsedTwice } from '../ports/checkpoints.ts';
import { StorageUnavailable } from '../ports/decisions.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import type { Hash, Turn } from '../ports/runtime.ts';
import { describeUsedTwice } from '../ports/storage.ts';
import type { Log } from '../ports/telemetry.ts';

export interface TrustedChain {
  /** Compares the ledger with the memory, and adopts the newest checkpoint. May throw StorageUnavailable. */
  examine(): Promise<Examined>;
  /** Why the signature of a checkpoint is not believed, by the rule for the newest one. `undefined` if it is. */
  signatureFault(checkpoint: Checkpoint): Promise<SignatureFault | undefined>;
  /**
   * The checkpoints with these ids from which the links lead to the known one. Empty if a link is broken, or if another
   * checkpoint is in the place of the known one.
   */
  linked(ids: readonly number[]): Promise<ReadonlyMap<number, Checkpoint>>;
  /**
   * Looks for a number that two records have, and remembers it. A look that fails is logged, and finds nothing: sealing does
   * not depend on it.
   */
  lookForTwice(): Promise<UsedTwice | undefined>;
  /** Remembers a number that two records have, and that the look did not find. */
  foundTwice(twice: UsedTwice): void;
  /** Remembers a checkpoint that this process added. No two records have an unsealed number that it covers. */
  sealed(checkpoint: Checkpoint): void;
  /**
   * The newest known checkpoint, a sentence why the last examination did not trust the ledger (`distrust`), and the number that two
   * records had at the last pass.
   */
  state(): {
    readonly known: Checkpoint | undefined;
    readonly distrust: string | undefined;
    readonly twice: UsedTwice | undefined;
  };
}

export type Examined =
  | { readonly kind: 'trusted'; readonly newest: Checkpoint | undefined }
  | { readonly kind: 'untrusted'; readonly faults: readonly Distrust[] };

export type SignatureFault = Extract<Distrust, { kind: 'unknown_key' | 'invalid_signature' }>;

interface ChainReading {
  readonly checkpoints: Pick<Checkpoints, 'newest' | 'page' | 'usedTwice'>;
  /** Verifies with the configured keys. */
  readonly verifier: CheckpointVerifier;
  /**
   * Whether no key is configured, as only a development host may have it: each start then generates a key, which cannot
   * verify the checkpoints of the start before.
   */
  readonly isKeyGenerated: boolean;
  readonly hash: Hash;
  readonly turn: Turn;
  readonly log: Log;
}

/** Since the last pass, other replicas added hardly more than one. */
const PAGE_SIZE = 500;

export function trustedChain(service: ChainReading): TrustedChain {
  const { log } = service;
  let known: Checkpoint | undefined;
  let distrust: string | undefined;
  let twice: UsedTwice | undefined;
  let hasLooked = true;
  /** The last state, as its kinds of faults. */
  let logged = '';

  /** Concurrent passes may end in any order, so an older checkpoint does not replace a newer one. */
  function adopt(newest: Checkpoint | undefined): void {
    if (newest !== undefined && newest.checkpointId >= (known?.checkpointId ?? 0)) known = newest;
  }

  /** Logs each state once, not at every pass, and not for each checkpoint that another replica adds. */
  function report(faults: readonly Distrust[]): void {
    const state = faults.map((fault) => ('kid' in fault ? `${fault.kind} ${fault.kid}` : fault.kind)).join();
    distrust = faults.length === 0 ? undefined : faults.map(describeDistrust).join(' ');
    if (distrust !== undefined && state !== logged) {
      // The log writes no message of an error. This one has only numbers and the id of a key.
      log.error('nothing is sealed: the checkpoints cannot be trusted', new Error(distrust), { problem: distrust });
    }
    if (distrust === undefined && logged !== '') log.info('the checkpoints can be trusted again: sealing goes on');
    logged = state;
  }

  /** Logs each number once, and again once it is sealed or not. */
  function remember(found: UsedTwice | undefined): void {
    if (found !== undefined && (found.seq !== twice?.seq || found.isSealed !== twice.isSealed)) {
      const problem = describeUsedTwice(found);
      log.error(found.isSealed ? USED_TWICE : `nothing is sealed: ${USED_TWICE}`, new Error(problem), { problem });
    }
    if (found === undefined && twice !== undefined) log.info('no two records have one number any more');
    twice = found;
  }

  return {
    async examine() {
      // Before the read: a concurrent pass may adopt a newer checkpoint than this pass reads.
      const before = known;
      const { newest, faults } = await read(service, before);
      report(faults);
      if (faults.length > 0) return { kind: 'untrusted', faults };
      adopt(newest);
      return { kind: 'trusted', newest };
    },
    signatureFault: (checkpoint) => signatureFault(service, checkpoint),
    linked: (ids) => linked(service, known, ids),
    async lookForTwice() {
      try {
        const found = await service.checkpoints.usedTwice();
        remember(found);
        hasLooked = true;
        return found;
      } catch (error) {
        if (hasLooked) log.error('whether two records have one number could not be examined', error);
        hasLooked = false;
        return undefined;
      }
    },
    foundTwice: remember,
    sealed(checkpoint) {
      adopt(checkpoint);
      if (twice?.isSealed === false && twice.seq <= checkpoint.lastSeq) remember(undefined);
    },
    state: () => ({ known, distrust, twice }),
  };
}

const USED_TWICE = 'two records have one number';

async function read(
  service: ChainReading,
  known: Checkpoint | undefined,
): Promise<{ readonly newest?: Checkpoint | undefined; readonly faults: readonly Distrust[] }> {
  try {
    const newest = await service.checkpoints.newest();
    return { newest, faults: await faultsOf(service, known, newest) };
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    // An owner of the database can write values that no code of this service writes, such as a time without a date.
    return { faults: [{ kind: 'unreadable' }] };
  }
}

async function faultsOf(
  service: ChainReading,
  known: Checkpoint | undefined,
  newest: Checkpoint | undefined,
): Promise<readonly Distrust[]> {
  if (isSameCheckpoint(known, newest)) return [];
  const broken = known && (await continuity(service, known, newest));
  const unsigned = newest && (await signatureFault(service, newest));
  return [broken, unsigned].filter((fault) => fault !== undefined);
}

async function continuity(
  { checkpoints, hash, turn }: ChainReading,
  known: Checkpoint,
  newest: Checkpoint | undefined,
): Promise<Distrust | undefined> {
  const newestId = newest?.checkpointId ?? 0;
  if (newestId < known.checkpointId) {
    return { kind: 'known_is_missing', checkpointId: known.checkpointId, newestId };
  }
  for (let previous = known; ; ) {
    const page = await checkpoints.page(previous.checkpointId - 1, PAGE_SIZE);
    const fault = continuityFault(hash, previous, page);
    if (fault !== undefined) return fault;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return undefined;
    previous = last;
    await turn();
  }
}

async function linked(
  { checkpoints, hash, turn }: ChainReading,
  known: Checkpoint | undefined,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Checkpoint>> {
  const found = new Map<number, Checkpoint>();
  const wanted = new Set(ids.filter((id) => known !== undefined && id <= known.checkpointId));
  if (known === undefined || wanted.size === 0) return found;
  let previous: Checkpoint | undefined;
  for (let after = Math.min(...wanted) - 1; after < known.checkpointId; await turn()) {
    const page = await checkpoints.page(after, PAGE_SIZE);
    for (const next of page) {
      const isNext = previous ? chainFault(hash, previous, next) === undefined : next.checkpointId === after + 1;
      if (!isNext) return new Map();
      if (wanted.has(next.checkpointId)) found.set(next.checkpointId, next);
      if (next.checkpointId === known.checkpointId) return isSameCheckpoint(next, known) ? found : new Map();
      previous = next;
    }
    if (page.length === 0) return new Map();
    after = previous?.checkpointId ?? after;
  }
  return found;
}

async function signatureFault(
  { verifier, isKeyGenerated }: ChainReading,
  checkpoint: Checkpoint,
): Promise<SignatureFault | undefined> {
  const { checkpointId, kid, signature } = checkpoint;
  const verdict = await verifier.verify(kid, canonicalCheckpoint(checkpoint), signature);
  const isExcused = isKeyGenerated && verdict === 'unknown_key';
  return verdict === 'verified' || isExcused ? undefined : { kind: verdict, checkpointId, kid };
}

/** Compares the signatures too, which no link covers: the same checkpoint as a verified one is verified. */
export function isSameCheckpoint(one: Checkpoint | undefined, other: Checkpoint | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.signature === other.signature && canonicalCheckpoint(one) === canonicalCheckpoint(other);
}
