/**
 * Which of the driver's errors mean that Postgres did not answer or could not take a decision. Everything else (a
 * constraint, a type, a syntax error) is a bug of ours and is thrown as it came.
 */

import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { DatabaseRefusal, type RefusalReason } from '../database-refusal.ts';

/** No connection over which the call could still be answered is worth keeping. */
export class ServerSilent extends StorageUnavailable {}

/** What our own functions raise when the ledger's sequence was set back: "object not in prerequisite state". */
export const SET_BACK = '55000';

/** Classes of SQLSTATE: connection, rollback, resources, operator intervention, system, damaged data. */
const UNAVAILABLE_CLASSES = new Set(['08', '40', '53', '57', '58']);

/** Read-only: a standby, or a server on its way down. */
const READ_ONLY = '25006';

const UNAVAILABLE_STATES = new Set([
  READ_ONLY,
  '25P03', // idle in transaction for too long
  '25P04', // a transaction for too long
  '55P03', // lock not available within the limit
  'XX001', // data corrupted
  'XX002', // index corrupted
]);

const CHECK_VIOLATION = '23514';
const UNIQUE_VIOLATION = '23505';
/** The ledger's partitions, and its outbox: what is unique there is the number, alone or beside the time. */
const NUMBERED = /^(ledger_\d{4}_\d{2}|outbox)$/;
const LOCK_NOT_AVAILABLE = '55P03';
const ROLLED_BACK = new Set(['40001', '40P01']);

/** What pg says, in plain errors, of connections that are gone. */
const LOST_CONNECTION = /^(Connection terminated|Query read timeout|timeout expired|Client (has|was) )/;

export function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ROLLED_BACK.has(error.code ?? '');
}

/**
 * Whether the connection can't be used again; whether its last statement was applied is then unknown, unless that was
 * refused as read-only. Then somebody else may have taken over at the server's address, or the session may have been
 * told so once and for all: only a new connection finds out.
 */
export function losesConnection(error: unknown): boolean {
  if (error instanceof ServerSilent) return true;
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error);
  return error.severity === 'FATAL' || error.severity === 'PANIC' || error.code === READ_ONLY;
}

/** Whether it was for a lock that was not to be had within the limit that nothing happened. */
export function isLockTimeout(error: unknown): boolean {
  return hasCode(error, LOCK_NOT_AVAILABLE);
}

/** Whether it was because the server takes no writes that nothing happened. */
export function isReadOnly(error: unknown): boolean {
  return hasCode(error, READ_ONLY);
}

function hasCode(error: unknown, code: string): boolean {
  const cause = error instanceof StorageUnavailable ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code === code;
}

/** Whether the ledger took nothing because its sequence would number a record as an earlier one is. */
export function isSetBack(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === SET_BACK || (error.code === UNIQUE_VIOLATION && NUMBERED.test(error.table ?? ''));
}

/**
 * Whether the decisions of a transaction that failed so must not run again: they may have been committed, or no connection
 * was free in time, or the ledger's sequence was set back. After any other failure the transaction was rolled back.
 */
export function losesDecision(error: unknown): boolean {
  if (!(error instanceof StorageUnavailable)) return losesConnection(error);
  const { cause } = error;
  return !(cause instanceof pg.DatabaseError) || losesConnection(cause) || isSetBack(cause);
}

export function asUnavailable(error: unknown): unknown {
  if (error instanceof StorageUnavailable || !isUnavailable(error)) return error;
  return new StorageUnavailable('Postgres did not answer, or could not take it', { cause: error });
}

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error);
  const state = error.code ?? '';
  return (
    UNAVAILABLE_CLASSES.has(state.slice(0, 2)) ||
    UNAVAILABLE_STATES.has(state) ||
    isMissingPartition(error) ||
    isSetBack(error)
  );
}

/** The ledger has no partition for the month: a check violation like a constraint's, but of no constraint. */
function isMissingPartition(error: pg.DatabaseError): boolean {
  return error.code === CHECK_VIOLATION && error.constraint === undefined;
}

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || LOST_CONNECTION.test(error.message));
}

/** Tells a server that says no from one that does not answer. */

const REASONS: Readonly<Record<string, RefusalReason>> = {
  '3D000': 'no_such_database',
  '28P01': 'role_not_let_in',
  '28000': 'role_not_let_in',
  '42501': 'role_without_rights',
};

/** @throws DatabaseRefusal in place of what `ask` throws, where that is the server's refusal */
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
