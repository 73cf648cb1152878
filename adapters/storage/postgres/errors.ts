/**
 * Classifies errors of the driver. A class says whether the call ended, whether its connection is usable, and whether
 * Postgres did not answer or cannot write now (`faults.ts`). All other errors are bugs of Mandate, and are thrown
 * unchanged.
 */

import pg from 'pg';
import { type DatabaseFault, StorageUnavailable } from '../../../application/ports/decisions.ts';
import { DatabaseRefusal, type RefusalReason } from '../database-refusal.ts';
import {
  faultOf,
  isIndexTaken,
  isLostConnection,
  isNumberTaken,
  isPoolerFull,
  isSetBackNumber,
  MISSING_PARTITION,
  NO_ANSWER,
  NO_CONNECTION,
  WARNED,
  WENT_BACK_FAULT,
} from './faults.ts';

/** The watchdog aborted the call. Its late answer may still come, so the connection must be destroyed. */
export class ServerSilent extends StorageUnavailable {
  constructor(message: string) {
    super(message, { fault: NO_ANSWER });
  }
}

/** No connection could be opened, or none was free in time: nothing was sent. */
export class NoConnection extends StorageUnavailable {}

/** The connection leads to a standby, or to an earlier primary. Its answers may be outdated. */
export class NotThePrimary extends StorageUnavailable {
  constructor(fault: DatabaseFault) {
    super('Postgres answered, and is not the primary', { fault });
  }
}

/** The ledger no longer holds a record that this process saw. Nothing is read or decided until a restart. */
export class WentBack extends StorageUnavailable {
  constructor() {
    super('The database went back in time', { fault: WENT_BACK_FAULT });
  }
}

/** Postgres answered a commit with a warning (`pool/commits.ts`): whether it stays committed is unknown. */
export class CommitWarned extends StorageUnavailable {
  constructor() {
    super('Postgres answered a commit with a warning', { fault: WARNED });
  }
}

/** The error of a call after `close`. The call changed nothing. */
export function databaseClosed(): StorageUnavailable {
  return new StorageUnavailable('The Postgres database is closed');
}

/** The server is read-only: a standby, or a server that is shutting down. */
export const READ_ONLY = '25006';
/** The call reached the time limit of a lock. */
export const LOCK_NOT_AVAILABLE = '55P03';
const TOO_MANY_CONNECTIONS = '53300';
const ROLLED_BACK = new Set(['40001', '40P01']);
/**
 * The session does not have the prepared statements that the driver believes it has (a pooler), or has plans of tables that
 * were changed. On a new connection the driver prepares them again.
 */
const STATEMENT_LOST = new Set(['26000', '42P05', '0A000']);

export function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (ROLLED_BACK.has(error.code ?? '') || isIndexTaken(error));
}

/**
 * Whether the connection must be destroyed, because it is unusable, or a late answer may still arrive. It also is if the
 * server refused a write as read-only: after a failover, only a new connection reaches the new primary. The same holds for a
 * commit with a warning. Or its prepared statements are lost.
 */
export function losesConnection(error: unknown): boolean {
  if (error instanceof ServerSilent || error instanceof NotThePrimary || error instanceof WentBack) return true;
  if (error instanceof CommitWarned) return true;
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error);
  const { severity, code = '' } = error;
  return severity === 'FATAL' || severity === 'PANIC' || code === READ_ONLY || STATEMENT_LOST.has(code);
}

/** Whether the server neither answered the call nor closed the connection, so that it may still commit. */
export function gotNoAnswer(error: unknown): boolean {
  return error instanceof ServerSilent || faultOf(error) === NO_ANSWER;
}

/** Whether the server, the database, the role or a pooler has no free connection. */
export function isTooManyConnections(error: unknown): boolean {
  const refused = ofServer(error);
  return refused !== undefined && (refused.code === TOO_MANY_CONNECTIONS || isPoolerFull(refused));
}

/** The SQLSTATE with which the server refused the call; `undefined` if it did not refuse it. */
export function serverCode(error: unknown): string | undefined {
  return ofServer(error)?.code;
}

/** Whether the server refused the call with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return serverCode(error) === code;
}

/** The error as the server, or a pooler, sent it. */
function ofServer(error: unknown): pg.DatabaseError | undefined {
  const cause = error instanceof StorageUnavailable ? error.cause : error;
  return cause instanceof pg.DatabaseError ? cause : undefined;
}

/** Whether nothing was recorded, because the ledger's sequence returned a number that is taken. */
export function isSetBack(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return isSetBackNumber(error) || isNumberTaken(error);
}

/** Whether nothing was recorded, because the ledger has no partition for the month. */
export function lacksPartition(error: unknown): boolean {
  return error instanceof StorageUnavailable && error.fault === MISSING_PARTITION;
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

/** @param host the URI of the server that was asked */
export function asUnavailable(error: unknown, host?: string): unknown {
  if (error instanceof StorageUnavailable) return error;
  const fault = faultOf(error);
  if (fault === undefined) return error;
  const address = host === undefined ? undefined : () => addressOf([host]);
  return new StorageUnavailable('Postgres did not answer, or could not write', { cause: error, fault, address });
}

/** The error of a call that got no connection. The call changed nothing. @param hosts the URIs of those that were tried */
export function noConnection(cause: unknown, hosts: readonly string[]): NoConnection {
  return new NoConnection('No connection to Postgres', {
    cause,
    fault: faultOf(cause) ?? NO_CONNECTION,
    address: () => addressOf(hosts),
  });
}

/**
 * Host and port as the driver reads them, with its defaults. A path is a directory of sockets. `undefined` if an `@` follows
 * the authority: a password that is not percent-encoded contains a slash, so the host may be a part of it.
 */
function addressOf(uris: readonly string[]): string | undefined {
  if (uris.some((uri) => /^\w+:\/\/[^/?#]*[/?#].*@/.test(uri))) return undefined;
  const addresses = uris.map((connectionString) => {
    const { host, port } = new pg.Client({ connectionString });
    return host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
  });
  return addresses.join(' or ');
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
