/** The database as a whole: its condition for the doctor, its backlogs for the metrics, and its upkeep. */

import { type Instant, toShortText } from '../../domain/instant.ts';
import type { Difference } from '../../domain/ledger/compared.ts';
import type { Month } from '../../domain/ledger/time-range.ts';
import type { SessionKind } from '../../domain/sessions/session.ts';
import type { SignalSource } from '../../domain/signals/without-effect.ts';
import type { SubjectSession } from '../../domain/sponsors/subject-token.ts';
import type { Agents } from './agents.ts';
import type { Checkpoints, UsedTwice } from './checkpoints.ts';
import type { DatabaseFault } from './decisions.ts';
import type { Sponsors } from './sponsors.ts';
import type { StatusLists } from './status-lists.ts';
import type { TransparencyLog } from './transparency-log.ts';

/** How the connection to the database is protected. */
export type DatabaseLink =
  /** The connection does not leave this machine. */
  | 'local'
  /** Encrypted, with a verified server certificate. */
  | 'verified'
  /** Encrypted, but to an unverified server. */
  | 'unverified'
  | 'plain';

/** The database role of the service. `surplus` and `missing` compare its privileges with those that decisions need. */
export interface RoleCondition {
  /** The role's name in the database. */
  readonly role: string;
  readonly isSuperuser: boolean;
  /** Whether it has the privileges of the ledger's owner, or can take them with SET ROLE. */
  readonly isOwner: boolean;
  /** Set if another role than the owner may create objects in the ledger's schema: this one, or every role. */
  readonly creation: { readonly isOpenToAll: boolean; readonly closingStatement: string } | undefined;
  /** For example `update on checkpoints`. */
  readonly surplus: readonly string[];
  readonly missing: readonly string[];
}

/** A missing guard. A guard is a trigger or a revoked privilege that prevents changes to a table of the ledger. */
export interface MissingGuard {
  readonly table: string;
  /** For example `the trigger ledger_append_only is disabled`. */
  readonly what: string;
}

export interface GuardCondition {
  /** The number of inspected tables, including partitions. */
  readonly tables: number;
  readonly missing: readonly MissingGuard[];
}

/** The records that are not sealed yet. */
export interface SealingBacklog {
  /** The time of the oldest unsealed record. */
  readonly oldestUnsealedAt: Instant | undefined;
  readonly unsealed: number;
  readonly newestCheckpoint: { readonly checkpointId: number; readonly closedAt: Instant } | undefined;
}

export interface SealingCondition extends SealingBacklog {
  /** The ids of all keys that signed a checkpoint; first that of the newest checkpoint. */
  readonly signers: readonly string[];
}

export interface OutboxCondition {
  readonly queueing: boolean;
  readonly waiting: number;
  /** Waiting records that the sink has refused at least once. */
  readonly failing: number;
}

/** The records that are not delivered yet. */
export interface OutboxBacklog extends OutboxCondition {
  /** The time of the oldest waiting record. */
  readonly oldestAt: Instant | undefined;
}

/** The backlogs, cheap enough to read every few seconds while the service runs. Counts stop at 100,000. */
export interface Backlog {
  readonly sealing: SealingBacklog;
  readonly outbox: OutboxBacklog;
}

/** The current state of one queue for the database, read without querying the database. */
export interface DatabaseLine {
  /** The queue's name, one word. */
  readonly name: string;
  readonly waiting: number;
  /** `undefined` if the queue is not for connections. */
  readonly connections: { readonly used: number; readonly free: number; readonly most: number } | undefined;
}

/** What `/readyz` and `mandate doctor` say of the numbering `beyond`. */
export const NUMBERS_BEYOND =
  'The ledger holds a record with a number beyond 2^53 - 1, or its next number is one: nothing more is recorded or sealed.';

/** The page about it, for each sentence that names a number that two records have. */
export const SEE_USED_TWICE = 'See docs/operating.md ("Two records have one number").';

/** What the log, `/readyz`, `mandate doctor` and `mandate after-restore` say of two records with one number. */
export function describeUsedTwice({ seq, isSealed }: UsedTwice): string {
  const sealing = isSealed
    ? 'A checkpoint has sealed this number, so `mandate audit-verify` finds the ledger not intact. Later records are sealed'
    : 'No record from there on can be sealed';
  return `Two records have the number ${seq}. ${sealing}. The owner of the database, or a tool, inserted one of them. ${SEE_USED_TWICE}`;
}

/** How `/readyz` begins its sentence about a database that answers, but in which no decision succeeds. */
export const DECISIONS_FAIL = 'Decisions fail:';

/**
 * The numbers of new records. `set_back`: they would be taken ones. `beyond`: they, or a stored one, are beyond the safe integers.
 */
export type Numbering = 'ok' | 'set_back' | 'beyond';

/** A session that holds a lock for which decisions wait, or that waits for one ahead of them. */
export interface LockHolder {
  /** The process id of the session in Postgres. */
  readonly pid: number;
  /** The table that it locks; `undefined` if it locks rows, or no table. */
  readonly table: string | undefined;
}

/** `process 4711 on ledger`: the end of a sentence about the sessions that hold a lock. */
export function describeLockHolders(holders: readonly LockHolder[]): string {
  const names = holders.map(({ pid, table }) => {
    // Postgres reports a prepared transaction, which has no session, as 0.
    const who = pid === 0 ? 'a prepared transaction' : `process ${pid}`;
    return table === undefined ? who : `${who} on ${table}`;
  });
  return names.join(', ');
}

/**
 * What Postgres offers beyond what decisions need, and a hosted one not always. `needs`: the functions that the serving role must be
 * able to call. `without`: what happens if it cannot. The log, `mandate doctor` and docs/high-availability.md say so.
 */
export const CAPABILITIES = {
  timeline: {
    needs: 'pg_walfile_name and pg_current_wal_lsn',
    without:
      'after a failover, connections go on at an old primary for up to a minute, or for as long as the address leads there',
  },
  wal_message: {
    needs: 'pg_logical_emit_message',
    without: 'a kill switch that finds nothing to end does not wait for a standby, so an old primary can answer it',
  },
} as const;

export type Capability = keyof typeof CAPABILITIES;

export interface MissingCapability {
  readonly capability: Capability;
  /** The SQLSTATE with which Postgres refused it. */
  readonly code: string;
}

/** How well a failover would be noticed. */
export interface FailoverCondition {
  /** A standby is not asked for its capabilities. */
  readonly isStandby: boolean;
  readonly missing: readonly MissingCapability[];
}

/** Whether a decision could be written. */
export interface WritingCondition {
  /** Why a row could not be written; `undefined` if it could. */
  readonly fault: DatabaseFault | undefined;
  /** Whether the server is a standby, which only repeats the writes of another. */
  readonly isStandby: boolean;
  readonly lockHolders: readonly LockHolder[];
  /** The sessions of the serving role whose commit waits for a synchronous standby. */
  readonly awaitingStandby: number;
  /** How many synchronous standbys a commit waits for, and how many standbys follow the server. */
  readonly standbys: { readonly needed: number; readonly connected: number };
  /** `undefined` if the server has found none. */
  readonly damage: PageDamage | undefined;
}

/** Pages of the database whose checksum was wrong when the server read them. */
export interface PageDamage {
  /** A page counts each time that it is read. */
  readonly count: number;
  readonly lastAt: Instant;
}

export function describeDamage({ count, lastAt }: PageDamage): string {
  const times = count === 1 ? 'once' : `${count} times, last`;
  return `Postgres found damaged pages (checksums), ${times} at ${toShortText(lastAt)}.`;
}

export const DAMAGED_PAGES = 'See docs/operating.md ("A page of Postgres is damaged").';

/** A row of `ledger_archives`, which is not sealed. */
export interface ListedExport {
  readonly month: string;
  /** `undefined` for a month without records. */
  readonly lastCheckpoint: number | undefined;
}

/**
 * `absent`: never migrated. `behind`: `mandate migrate` must run. `ahead`: migrated by a newer release, which older
 * replicas see during a rollout.
 */
export type SchemaStatus = 'current' | 'absent' | 'behind' | 'ahead';

/**
 * The condition of the database, read from outside the service (doctor, metrics). Nothing stays written. Every method may
 * throw StorageUnavailable, and gives up within a few seconds.
 */
export interface StorageCondition {
  /** For example `Postgres 18.1`. */
  server(): Promise<string>;
  /** Read from the configuration alone. `undefined` if the database is a file. */
  link(): Promise<DatabaseLink | undefined>;
  schema(): Promise<SchemaStatus>;
  /**
   * How the schema differs from the one that the migrations of this release make: tables, columns, keys, constraints, unique
   * indexes, triggers. For example `the column title of the table approvals is missing`. `guards` and `role` compare the rest.
   * Asked only if `schema` is current.
   */
  schemaDifferences(): Promise<readonly string[]>;
  /** The database's own clock; `undefined` if it has none. */
  now(): Promise<Instant | undefined>;
  /** `undefined` if the engine has no roles. */
  role(): Promise<RoleCondition | undefined>;
  guards(): Promise<GuardCondition>;
  /** The months with a partition for records; `undefined` if the ledger is not partitioned. */
  months(): Promise<readonly Month[] | undefined>;
  numbering(): Promise<Numbering>;
  /**
   * Writes a row in a transaction that it rolls back. On SQLite, where a rolled-back row never reaches the disk, only the modes
   * of the files are read: `undefined` if none is read-only.
   */
  writing(): Promise<WritingCondition | undefined>;
  /** Writes one message to the write-ahead log, and to no table. `undefined` if the database is a file. */
  failover(): Promise<FailoverCondition | undefined>;
  sealing(): Promise<SealingCondition>;
  /** Oldest month first. */
  listedExports(): Promise<readonly ListedExport[]>;
  /** Also to prove the record that says what was archived (application/ledger/find-archived-part.ts). */
  readonly checkpoints: Pick<Checkpoints, 'archivings' | 'sealing' | 'records' | 'usedTwice'>;
  outbox(): Promise<OutboxCondition>;
  readonly transparencyLog: Pick<TransparencyLog, 'state' | 'problems'>;
  readonly statusLists: Pick<StatusLists, 'usage'>;
  readonly sponsors: Pick<Sponsors, 'findBlocks'>;
  readonly agents: Pick<Agents, 'list' | 'longestTokens'>;
  /** Whether a remembered logout refuses the subject token at that time (`../decisions/open-task.ts`, `logged_out`). */
  isLoggedOut(token: SubjectSession, at: Instant): Promise<boolean>;
  /**
   * Whether the ledger has a record of the time `since` or later of a signal that ended nothing
   * (`domain/signals/without-effect.ts`).
   */
  signalEndedNothing(about: { readonly source: SignalSource; readonly since: Instant }): Promise<boolean>;
  signIns(question: SignInsQuestion): Promise<SignInsSeen>;
  /** Compares the newest rows beside the ledger with their records, up to `limit` of each kind. */
  besideLedger(question: { readonly limit: number; readonly keysAreSubjects: boolean }): Promise<BesideCondition>;
  close(): Promise<void>;
}

/** Where people sign in: at a page, by the kind of its sessions, or at `/oauth2/authorize`, which has none. */
export type SignInPlace = SessionKind | 'authorization';

/** The sign-ins at one place, by one identity provider. */
export interface SignInsQuestion {
  readonly kind: SignInPlace;
  /** `iss` of the ID tokens. */
  readonly issuer: string;
  /** Records before this time are not looked for. */
  readonly since: Instant;
}

export interface SignInsSeen {
  /** When the newest sign-in was that is stored or recorded: expired sessions are deleted. `undefined` without one. */
  readonly lastAt: Instant | undefined;
  /** When the provider last demanded a proof of a key for a sign-in (`sign_in_dpop_demanded`). */
  readonly dpopDemandedAt: Instant | undefined;
  /** The newest refusal of the access token of a sign-in at `/oauth2/authorize`. */
  readonly tokenRefused?: { readonly at: Instant; readonly reason: string } | undefined;
}

export interface BesideCondition {
  readonly compared: number;
  /** Also those whose month may have been archived (`settled` in domain/ledger/compared.ts). */
  readonly differences: readonly Difference[];
}

/** Deletes expired rows. No decision depends on an expired row. */
export interface Sweeping {
  /**
   * Deletes up to `limit` rows of each kind that had to be kept only until `until`: used assertions, revoked tokens,
   * accepted signals, logouts, sessions. Frees the indices in status lists of up to `limit` ended tasks whose time had
   * passed by `until`: their lists are open again. Closes, then deletes, lists without tasks that are older than a day.
   * Each call is one transaction; the caller repeats it until it returns 0. Instances that call it concurrently do not
   * wait for each other.
   *
   * @throws StorageUnavailable
   */
  forget(until: Instant, limit: number): Promise<number>;

  /** Erases up to `limit` reasons of acts done by `until`, with their salts. Repeated like `forget`. */
  eraseReasons(until: Instant, limit: number): Promise<number>;
}

export interface RestoreRequest {
  /** The time of the record. */
  readonly at: Instant;
  /** Assertions issued by this time are refused. */
  readonly latest: Instant;
  /** The highest number that is known from outside the database; 0 if none is known. */
  readonly above: number;
}

/**
 * `beyond`: `above` is too far from the ledger, or a million further from the safe integers. `used_twice`: two records have this
 * number, and a checkpoint over the range that the move leaves would seal both if it is not sealed. Both times nothing was changed.
 */
export type RestoreOutcome =
  /** The last number taken before, and the last one that is passed over. */
  | { readonly kind: 'moved'; readonly from: number; readonly to: number }
  | { readonly kind: 'beyond' }
  | { readonly kind: 'used_twice'; readonly twice: UsedTwice };
