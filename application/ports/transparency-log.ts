/** The stored state of the transparency log: its size and root, its note, tiles, cosignatures and keys. */

import type { Instant } from '../../domain/instant.ts';
import type { StoredTile } from '../../domain/log/growing-tree.ts';
import type { LogKey } from '../../domain/log/log-key.ts';

export interface LogState {
  readonly origin: string;
  /** The tree of the newest signed note. 0 before the first checkpoint. */
  readonly size: number;
  /** Lowercase hex. */
  readonly root: string;
  /** The newest note, with the signature of the log only; `undefined` until the tree is signed under this origin. */
  readonly note: string | undefined;
  /** The newest note with enough cosignatures, which readers get. */
  readonly published: PublishedNote | undefined;
  /** Whether a witness contradicted a tree of this size or a larger one: the newest note is not published. */
  readonly isWithheld: boolean;
  /** Why no further tree is signed; `undefined` while trees are signed. */
  readonly halted: string | undefined;
}

export interface PublishedNote {
  readonly size: number;
  /** The signed note with its cosignatures. */
  readonly note: string;
}

/** A tree that grew, and its note. */
export interface LogGrowth {
  readonly origin: string;
  readonly from: { readonly size: number; readonly root: string };
  readonly to: { readonly size: number; readonly root: string; readonly note: string };
  /** The tiles that changed. */
  readonly tiles: readonly StoredTile[];
  /** Whether the note is published at once: no witness is asked about it. */
  readonly publish: boolean;
}

export interface StoredCosignature {
  /** The name of the witness's key. */
  readonly witness: string;
  readonly size: number;
  /** The signature line, without its newline. */
  readonly line: string;
  readonly at: Instant;
}

/** Why the newest checkpoint has no cosignature of a witness. */
export interface WitnessProblem {
  /** The name of the witness's key. */
  readonly witness: string;
  readonly kind: /** It has cosigned a larger tree than the database holds: the database has gone back in time. */
    | 'ahead'
    /** It has cosigned a tree with other leaves. */
    | 'contradicted'
    | 'unknown_key'
    | 'unknown_log'
    /** The time in its cosignature is too far from the time of this service. */
    | 'wrong_clock'
    | 'wrong_answer'
    | 'unavailable';
  /** A sentence, or `undefined`. */
  readonly detail: string | undefined;
  readonly since: Instant;
}

/**
 * The transparency log over the checkpoints. Each method is one transaction, and may throw StorageUnavailable; whether a
 * change was applied is then unknown.
 */
export interface TransparencyLog {
  /** `undefined` before the first start with the log. */
  state(): Promise<LogState | undefined>;
  /** Creates the state of an empty log, unless a state is stored. Returns the stored state, which may have another origin. */
  begin(origin: string, emptyRoot: string): Promise<LogState>;
  /** Renames the log, with its tree. The tree must be signed anew; cosignatures, problems and a halt are forgotten. */
  adoptOrigin(origin: string): Promise<void>;
  /** In the order of the given places; `undefined` for a tile that is not stored. */
  tiles(places: readonly TilePlace[]): Promise<readonly (StoredTile | undefined)[]>;
  /** Stores the tree if its predecessor is the stored one, by size and root, and the log is not halted. */
  grow(growth: LogGrowth): Promise<'grown' | 'overtaken'>;
  /**
   * Stores a note for readers, unless a larger tree is published, a witness contradicted a tree of this size or a larger
   * one, the log is halted, or the origin is another one.
   */
  publish(origin: string, published: PublishedNote): Promise<void>;
  /**
   * A witness contradicted the tree of this size. If its note is published, readers get the one published before it. No
   * note of this size or a smaller one is published from then on, by any instance.
   */
  withdraw(origin: string, size: number): Promise<void>;
  /** Halts the log: no instance signs a further tree. A log that is already halted keeps its first reason. */
  halt(reason: string): Promise<void>;
  resume(): Promise<void>;
  /** Keeps the newest cosignature of each witness, by size. */
  keepCosignature(cosignature: StoredCosignature): Promise<void>;
  /** In the order of the witnesses' names. */
  cosignatures(): Promise<readonly StoredCosignature[]>;
  /** Replaces the problem of a witness; `undefined` if it has none any more. */
  keepProblem(witness: string, problem: WitnessProblem | undefined): Promise<void>;
  /** In the order of the witnesses' names. */
  problems(): Promise<readonly WitnessProblem[]>;
  /** In the order of their first use. */
  keys(): Promise<readonly LogKey[]>;
  /** The ids of the keys that signed checkpoints after this one, and when they did. Reads all of these checkpoints. */
  signers(after: number): Promise<readonly CheckpointKeyUse[]>;
}

/** The first and the last checkpoint that a key signed. */
export interface CheckpointKeyUse {
  readonly kid: string;
  readonly first: Instant;
  readonly last: Instant;
  /** The id of the last one. */
  readonly lastId: number;
}

export interface TilePlace {
  readonly level: number;
  readonly index: number;
}
