/**
 * The condition of the database, for whoever looks at it from outside the service. Nothing is written. Every method may
 * throw StorageUnavailable, and gives up within a few seconds.
 */

import type { Instant } from '../../domain/instant.ts';
import type { Month } from '../../domain/ledger/month.ts';
import type { SubjectSession } from './signals.ts';
import type { Sponsors } from './sponsors.ts';

/** How what is sent to the database is kept from others on the way. */
export type DatabaseLink =
  /** It does not leave this machine. */
  | 'local'
  /** Encrypted, and the server shows that it is the right one. */
  | 'verified'
  /** Encrypted, with whoever answers. */
  | 'unverified'
  | 'plain';

/** What the role that serves is, and may do beyond or short of what its decisions need. */
export interface RoleCondition {
  /** Its name in the database. */
  readonly role: string;
  readonly isSuperuser: boolean;
  /** Whether it may do with the ledger what its owner may. */
  readonly isOwner: boolean;
  /** As in `update on checkpoints`. */
  readonly surplus: readonly string[];
  readonly missing: readonly string[];
}

/** A guard that should keep a table of the ledger from being changed, and is not there. */
export interface MissingGuard {
  readonly table: string;
  /** As in `the trigger ledger_append_only is disabled`. */
  readonly what: string;
}

export interface GuardCondition {
  /** Tables that were looked at, partitions among them. */
  readonly tables: number;
  readonly missing: readonly MissingGuard[];
}

/** What the sealer has still to do. */
export interface SealingBacklog {
  /** Of the oldest record that no checkpoint covers. */
  readonly oldestUnsealedAt: Instant | undefined;
  readonly unsealed: number;
  readonly newestCheckpoint: { readonly checkpointId: number; readonly closedAt: Instant } | undefined;
}

export interface SealingCondition extends SealingBacklog {
  /** The names of all keys that signed a checkpoint. */
  readonly signers: readonly string[];
}

export interface OutboxCondition {
  readonly queueing: boolean;
  readonly waiting: number;
  /** Those among them that the sink has refused at least once. */
  readonly failing: number;
}

/** What the delivery to the sink has still to do. */
export interface OutboxBacklog extends OutboxCondition {
  /** Of the oldest record that waits. */
  readonly oldestAt: Instant | undefined;
}

/** What has piled up, cheap enough to be asked every few seconds while the database serves. Counts end at 100,000. */
export interface Backlog {
  readonly sealing: SealingBacklog;
  readonly outbox: OutboxBacklog;
}

/** One line in front of the database, as it is now: nothing is asked of that. */
export interface DatabaseLine {
  /** Whose it is, in a word. */
  readonly name: string;
  readonly waiting: number;
  /** `undefined` where the line is for something else than connections. */
  readonly connections: { readonly used: number; readonly free: number; readonly most: number } | undefined;
}

export interface StorageCondition {
  /** As in `Postgres 18.1`. */
  server(): Promise<string>;
  /** As it is configured; nothing is asked. `undefined` where the database is a file. */
  link(): Promise<DatabaseLink | undefined>;
  schema(): Promise<'current' | 'absent' | 'behind' | 'ahead'>;
  /** The database's own clock; `undefined` where it has none. */
  now(): Promise<Instant | undefined>;
  /** `undefined` where the engine knows no roles. */
  role(): Promise<RoleCondition | undefined>;
  guards(): Promise<GuardCondition>;
  /** The months that the ledger can take records of; `undefined` where it is not partitioned. */
  months(): Promise<readonly Month[] | undefined>;
  /** Whether new records would get numbers that are taken. */
  isSetBack(): Promise<boolean>;
  sealing(): Promise<SealingCondition>;
  outbox(): Promise<OutboxCondition>;
  findBlocks: Sponsors['findBlocks'];
  /** Whether a remembered logout refuses the subject token at that time (Tasks.open, `logged_out`). */
  isLoggedOut(token: SubjectSession, at: Instant): Promise<boolean>;
  close(): Promise<void>;
}
