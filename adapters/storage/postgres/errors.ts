/**
 * Classifies errors of the driver: does an error mean that Postgres did not answer, or cannot write now? All other errors
 * (a constraint, a type, syntax) are bugs of Mandate, and are thrown unchanged.
 */

import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { DatabaseRefusal, type RefusalReason } from '../database-refusal.ts';

/** The watchdog aborted the call. Its late answer may still come, so the connection must be destroyed. */
export class ServerSilent extends StorageUnavailable {}

/** No connection could be opened, or none was free in time: nothing was sent. */
export class NoConnection extends StorageUnavailable {}

/** The connection leads to a standby, or to an earlier primary. Its answers may be outdated. */
export class NotThePrimary extends StorageUnavailable {}

/** The ledger no longer holds a record that this process saw. Nothing is read or decided until a restart. */
export class WentBack extends StorageUnavailable {
  constructor() {
    super('The database went back in time');
  }
}

/** The error of a call after `close`. The call changed nothing. */
export function databaseClosed(): StorageUnavailable {
  return new StorageUnavailable('The Postgres database is closed');
}

/** The functions of `schema.sql` raise it if the ledger's sequence was set back: "object not in prerequisite state". */
export const SET_BACK = '55000';

/** SQLSTATE classes: connection, transaction rollback, resources, operator intervention, system error. */
const UNAVAILABLE_CLASSES = new Set(['08', '40', '53', '57', '58']);

/** The server is read-only: a standby, or a server that is shutting down. */
const READ_ONLY = '25006';

const UNAVAILABLE_STATES = new Set([
  READ_ONLY,
  '25P03', // idle in transaction for too long
  '25P04', // a transaction for too long
  '55P03', // lock not available within the limit
  '55006', // a record was not stored (schema.sql)
  'XX001', // data corrupted
  'XX002', // index corrupted
]);

const CHECK_VIOLATION = '23514';
const UNIQUE_VIOLATION = '23505';
/** The tables whose unique key contains the sequence number of a record: the ledger's partitions and the outbox. */
const NUMBERED = /^(ledger_\d{4}_\d{2}|outbox)$/;
const LOCK_NOT_AVAILABLE = '55P03';
const DISK_FULL = '53100';
const TOO_MANY_CONNECTIONS = '53300';
const ROLLED_BACK = new Set(['40001', '40P01']);
/** Of two concurrent transactions that take one index of a status list, the second one fails. Read again, it finds another. */
const INDEX_TAKEN = 'tasks_status_index';

/** The message of pg's error after its `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

/** The messages of pg's errors about a lost connection. These errors have no code. */
const LOST_CONNECTION = /^(Connection terminated|Query read timeout|timeout expired|Client (has|was) )/;

export function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (ROLLED_BACK.has(error.code ?? '') || isIndexTaken(error));
}

export function isIndexTaken(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION && error.constraint === INDEX_TAKEN;
}

/**
 * Whether the connection must be destroyed, because it is unusable, or a late answer may still arrive. It also is if the
 * server refused a write as read-only: after a failover, only a new connection reaches the new primary.
 */
export function losesConnection(error: unknown): boolean {
  if (error instanceof ServerSilent || error instanceof NotThePrimary || error instanceof WentBack) return true;
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error);
  return error.severity === 'FATAL' || error.severity === 'PANIC' || error.code === READ_ONLY;
}

/** Whether the server neither answered the call nor closed the connection, so that it may still commit. */
export function gotNoAnswer(error: unknown): boolean {
  return error instanceof ServerSilent || (error instanceof Error && error.message === NO_ANSWER);
}

/** Whether the server, the database or the role has no free connection. */
export function isTooManyConnections(error: unknown): boolean {
  return hasCode(error, TOO_MANY_CONNECTIONS);
}

/** Whether the call changed nothing, because it reached the time limit of a lock. */
export function isLockTimeout(error: unknown): boolean {
  return hasCode(error, LOCK_NOT_AVAILABLE);
}

/** Whether the call changed nothing, because a disk of the server is full. */
export function isDiskFull(error: unknown): boolean {
  return hasCode(error, DISK_FULL);
}

/** Whether the call changed nothing, because the server is read-only. */
export function isReadOnly(error: unknown): boolean {
  return hasCode(error, READ_ONLY);
}

function hasCode(error: unknown, code: string): boolean {
  const cause = error instanceof StorageUnavailable ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code === code;
}

/** Whether nothing was recorded, because the ledger's sequence returned a number that is taken. */
export function isSetBack(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === SET_BACK || (error.code === UNIQUE_VIOLATION && NUMBERED.test(error.table ?? ''));
}

/**
 * Whether the decisions of the failed transaction must not run again: they may have been committed, no connection was free
 * in time, or the ledger's sequence was set back. After any other failure the transaction is rolled back.
 */
export function losesDecision(error: unknown): boolean {
  if (!(error instanceof StorageUnavailable)) return losesConnection(error);
  const { cause } = error;
  return !(cause instanceof pg.DatabaseError) || losesConnection(cause) || isSetBack(cause);
}

export function asUnavailable(error: unknown): unknown {
  if (error instanceof StorageUnavailable || !isUnavailable(error)) return error;
  return new StorageUnavailable('Postgres did not answer, or could not write', { cause: error });
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error);
  const state = error.code ?? '';
  return (
    UNAVAILABLE_CLASSES.has(state.slice(0, 2)) ||
    UNAVAILABLE_STATES.has(state) ||
    isIndexTaken(error) ||
    isMissingPartition(error) ||
    isBeyond(error) ||
    isSetBack(error)
  );
}

/** Whether the ledger has no partition for the month: Postgres then reports a check violation that names no constraint. */
function isMissingPartition(error: pg.DatabaseError): boolean {
  return error.code === CHECK_VIOLATION && error.constraint === undefined;
}

/** Whether the ledger's sequence returned a number that is too large. */
function isBeyond(error: pg.DatabaseError): boolean {
  return error.code === CHECK_VIOLATION && error.constraint === 'ledger_number';
}

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || LOST_CONNECTION.test(error.message));
}

const REASONS: Readonly<Record<string, RefusalReason>> = {
  '3D000': 'no_such_database',
  '28P01': 'role_not_let_in',
  '28000': 'role_not_let_in',
  '42501': 'role_without_rights',
};

/** @throws DatabaseRefusal if the server answered and refused. Other errors of `ask` are thrown unchanged */
export async function orRefusal<Answer>(role: DatabaseRefusal['role'], ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    const reason = reasonOf(cause);
    throw reason === undefined ? cause : new DatabaseRefusal(reason, role, { cause });
  }
}

function reasonOf(error: unknown): RefusalReason | undefined {
  if (error instanceof pg.DatabaseError) return REASONS[error.code ?? ''];
  return error instanceof Error ? reasonOf(error.cause) : undefined;
}
