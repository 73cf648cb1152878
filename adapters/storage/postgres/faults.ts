/**
 * The meaning of errors of Postgres and its driver for an operator, and the remedies. This table decides which errors
 * are answered with 503, and is the source of the sentences in the log, in `/readyz` and in `mandate doctor`.
 *
 * It holds what an operator can mend or wait for: also a missing table, function or right, which another tool can cause
 * while the service runs. Other errors (a constraint, a type, syntax) are bugs of Mandate.
 */

import pg from 'pg';
import type { DatabaseFault } from '../../../application/ports/decisions.ts';
import { CONNECTIONS_PER_PROCESS } from './limits.ts';

type Words = Pick<DatabaseFault, 'meaning' | 'act'>;

const REACH =
  'See that Postgres runs, that it is reachable from here, and that Service:Database:ConnectionString names its address.';
const MIGRATED =
  'See which tool changed the schema, or restores it now. `mandate doctor` and `mandate migrate` compare it with the migrations.';
const POOLER = 'Let the pooler keep a session for one client (session mode).';

/** Disk and memory, and other resources of the server. */
const RESOURCES: Words = {
  meaning: 'the Postgres server lacks a resource',
  act: "See the server's log for what it lacks.",
};
const CONFLICT: Words = {
  meaning: 'concurrent transactions were in conflict too often',
  act: 'If it lasts, see what else writes to the tables of Mandate.',
};
const CORRUPT: Words = {
  meaning: 'Postgres found an internal error, or damaged data',
  act: 'See the server\'s log. If a table or an index is damaged, see docs/operating.md ("The ledger is not intact") before you restore.',
};
const REPLACED: Words = { meaning: 'a table of Mandate was changed or replaced while the service ran', act: MIGRATED };
const STATEMENT_LOST: Words = {
  meaning: 'a prepared statement is lost or belongs to another client: a pooler shares sessions',
  act: POOLER,
};

const TAKEN_NUMBERS = '(select max(seq) from ledger), (select max(last_seq) from checkpoints)';
export const IS_SET_BACK = `last_number() < greatest(${TAKEN_NUMBERS})`;
/**
 * For the owner of the schema, if the sequence was set back. It never sets the sequence back: an append under way may have the
 * last number, and no index would refuse a second record with it in another month.
 */
export const SETVAL = `select pg_catalog.setval('ledger_seq', greatest(${TAKEN_NUMBERS}, (select last_value from ledger_seq)))`;

const TAKEN: Words = {
  meaning: 'the next number of the ledger is taken',
  act: 'Set it as its owner, as docs/auditing.md says ("After a failover that does not replicate sequences").',
};

/**
 * The table of docs/high-availability.md. A key is an SQLSTATE or its class (two characters):
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const STATES: Readonly<Record<string, Words>> = {
  '08': { meaning: 'the connection to Postgres failed', act: REACH },
  '08P01': {
    meaning: 'a pooler, or Postgres, refused or ended the connection',
    act: "See the pooler's log for the reason.",
  },
  '0A000': REPLACED,
  '25006': {
    meaning: 'Postgres is read-only: a standby, or told so by its operator',
    act: 'Let the address name the primary, or end default_transaction_read_only.',
  },
  '25P03': {
    meaning: 'Postgres ended a transaction that paused too long',
    act: 'See that this machine is not overloaded.',
  },
  '25P04': {
    meaning: 'Postgres ended a transaction that took too long',
    act: 'Raise transaction_timeout of the role.',
  },
  '26000': STATEMENT_LOST,
  '28': {
    meaning: 'Postgres does not let the role in',
    act: 'See its password, that it may log in, and pg_hba.conf.',
  },
  '3D000': { meaning: 'the database does not exist', act: 'See whether it was renamed or dropped.' },
  '3F000': { meaning: 'the schema does not exist', act: MIGRATED },
  '40': CONFLICT,
  '42501': {
    meaning: 'the role lacks a right on a table or function',
    act: 'Run `mandate doctor`, which names it, and `mandate migrate`, which grants it.',
  },
  '42703': { meaning: 'a column of Mandate is missing', act: MIGRATED },
  '42883': { meaning: 'a function of Mandate is missing', act: MIGRATED },
  '42P01': { meaning: 'a table of Mandate is missing', act: MIGRATED },
  '42P05': STATEMENT_LOST,
  '53': RESOURCES,
  '53100': {
    meaning: 'a disk of the Postgres server is full',
    act: 'Make room: see pg_wal, old replication slots, and the size of the tables. The service then goes on by itself.',
  },
  '53200': { meaning: 'the Postgres server has no memory left', act: 'See what takes it, and work_mem.' },
  '53300': {
    meaning: 'Postgres gives no further connection: its limit, or that of the database or the role, is reached',
    act: `Each replica takes up to ${CONNECTIONS_PER_PROCESS} connections. See pg_stat_activity for who holds the others, then raise max_connections, or the connection limit of the role or database.`,
  },
  '54': {
    meaning:
      'Postgres reached one of its limits: mostly, it assigns no transaction numbers any more, to prevent a wraparound',
    act: "See the server's log. Against a wraparound end old transactions, prepared transactions and replication slots, then run VACUUM in the database that the log names, as its superuser.",
  },
  '55000': {
    meaning: 'Postgres cannot run this statement in its present state',
    act: "See the server's log for the statement and the reason.",
  },
  '55006': { meaning: 'the ledger did not store a record', act: MIGRATED },
  '55P03': {
    meaning: 'another session holds a lock',
    act: 'See pg_locks for the session that holds it: a migration of another tool, VACUUM FULL, CREATE INDEX, or an open transaction. End it with pg_terminate_backend, or wait.',
  },
  '57': { meaning: 'Postgres stopped the session', act: 'See whether the server restarts, or who ended its sessions.' },
  '57014': {
    meaning: 'Postgres stopped a statement that took too long',
    act: 'See the load of the server, and pg_stat_activity for what the statements wait for.',
  },
  '57P03': { meaning: 'Postgres starts, stops or recovers', act: 'Wait, or see its log for why it does not come up.' },
  '58': { meaning: 'the operating system of the Postgres server failed', act: "See the server's log, and its disks." },
  XX: CORRUPT,
};

/** PgBouncer has one SQLSTATE for all its errors. Their messages name the setting that was reached. */
const POOLER_CODE = '08P01';
const POOLER_FULL: Words = {
  meaning: 'the pooler accepts no further client: max_client_conn is reached',
  act: `Raise max_client_conn: each replica takes up to ${CONNECTIONS_PER_PROCESS} connections.`,
};
const POOLER_WITHOUT_SESSION: Words = {
  meaning: 'the pooler had no session of Postgres free in time: query_wait_timeout was reached',
  act: `Raise default_pool_size: in session mode each replica takes up to ${CONNECTIONS_PER_PROCESS} sessions.`,
};
const POOLER_MESSAGES: readonly (readonly [message: RegExp, Words])[] = [
  [/max_client_conn/, POOLER_FULL],
  [/query_wait_timeout/, POOLER_WITHOUT_SESSION],
  [
    /server_login_retry|server login failed|server down|cannot connect to server/,
    {
      meaning: 'the pooler cannot log in to Postgres',
      act: "See that Postgres runs, and lets the role in from the pooler's machine. Let server_login_retry be 1.",
    },
  ],
  [
    /server conn crashed|server connection closed/,
    {
      meaning: 'the pooler lost its session of Postgres',
      act: 'See whether Postgres restarts, or who ended its sessions.',
    },
  ],
];
/** The errors of PgBouncer, in the order of the table. */
export const POOLER_FAULTS: readonly DatabaseFault[] = POOLER_MESSAGES.map(([, words]) => ({
  code: POOLER_CODE,
  ...words,
}));

export const MISSING_PARTITION: DatabaseFault = {
  code: '23514',
  meaning: 'the ledger has no partition for this month',
  act: 'Run `mandate migrate`. A running service creates it by itself, and logs why it could not.',
};
const NUMBER_BEYOND: DatabaseFault = {
  code: '23514',
  meaning: 'the number of the next record is beyond 2^53 - 1',
  act: 'See docs/operating.md ("The ledger is not intact").',
};
/** "Object not in prerequisite state": Postgres uses it for its built-in statements too. */
const WRONG_STATE = '55000';
/** As `schema.sql` raises it, in no other language. */
const SET_BACK = /^ledger_seq was set back /;
export const NUMBERS_SET_BACK: DatabaseFault = { code: WRONG_STATE, ...TAKEN };
const NOT_ACCEPTING: DatabaseFault = {
  code: WRONG_STATE,
  meaning: 'the database accepts no connections',
  act: 'See allow_connections of the database.',
};

/** Postgres did not answer within the client's limit: whether the call was applied is unknown. */
export const NO_ANSWER: DatabaseFault = {
  code: 'NO_ANSWER',
  meaning: 'Postgres did not answer in time',
  act: 'See whether the server is frozen or overloaded, whether its commits wait for a synchronous standby, and the network between.',
};
export const NO_CONNECTION: DatabaseFault = {
  code: 'NO_CONNECTION',
  meaning: 'no connection to Postgres was free or could be opened in time',
  act: REACH,
};
const NOT_PRIMARY = {
  code: 'NOT_PRIMARY',
  act: 'Let the address name the primary, and see docs/high-availability.md.',
};
export const STANDBY: DatabaseFault = {
  ...NOT_PRIMARY,
  meaning: 'its address leads to a standby, from which nothing is read',
};
export const OVERTAKEN: DatabaseFault = {
  ...NOT_PRIMARY,
  meaning: 'another server was promoted to primary meanwhile',
};
export function earlierPrimary(timeline: number, highest: number): DatabaseFault {
  const meaning = `its address leads to a server on timeline ${timeline}, and this process has seen timeline ${highest}: an old primary, or a restored server, which needs a restart of this process`;
  return { ...NOT_PRIMARY, meaning };
}
export const WENT_BACK_FAULT: DatabaseFault = {
  code: 'WENT_BACK',
  meaning: 'the database lacks a record that this process saw',
  act: 'See docs/operating.md ("The database went back in time").',
};
export const WARNED: DatabaseFault = {
  code: 'COMMIT_WARNED',
  meaning: 'Postgres answered a commit with a warning, and a failover may lose it',
  act: "See the server's log for the warning. Do not cancel commits that wait for a synchronous standby (pg_cancel_backend), and see that no trigger of another tool warns.",
};
export const COMMITS_UNANSWERED: DatabaseFault = {
  code: 'COMMITS_UNANSWERED',
  meaning: 'earlier commits got no answer, so no further one is tried',
  act: 'See whether a synchronous standby is away or slow, in pg_stat_replication and pg_stat_activity.',
};
export const NO_TLS: DatabaseFault = {
  code: 'NO_TLS',
  meaning: 'Postgres offers no TLS, and the connection string requires it',
  act: 'Set ssl = on at the server. If the network between is yours alone, write sslmode=disable.',
};
/** The code is that of OpenSSL or Node. */
const UNTRUSTED: Words = {
  meaning: 'the certificate of Postgres is not accepted',
  act: 'See what the code means. Name the authority of the certificate with sslrootcert, and in the connection string the host that the certificate names.',
};
const UNKNOWN_HOST: Words = {
  meaning: 'the host in the connection string does not resolve',
  act: 'See Service:Database:ConnectionString: the name of the host, and that @, / and # in the password are percent-encoded.',
};
const LOST: DatabaseFault = {
  code: 'CONNECTION_LOST',
  meaning: 'the connection to Postgres was lost',
  act: `${REACH} A proxy ends connections too, while its check finds no primary.`,
};
/** Its code is that of the operating system, such as ECONNREFUSED. */
const UNREACHABLE: Words = { meaning: 'Postgres could not be reached', act: REACH };

export const CHECK_VIOLATION = '23514';
export const UNIQUE_VIOLATION = '23505';
const INDEX_CONFLICT: DatabaseFault = { code: UNIQUE_VIOLATION, ...CONFLICT };
const NUMBER_TAKEN: DatabaseFault = { code: UNIQUE_VIOLATION, ...TAKEN };

const INTERNAL_ERROR = 'XX000';
/** How a new session ends if it cannot write its cache of the catalogue. Postgres translates no message of this code. */
const SESSION_FILE = /^could not write init file/;
const SESSION_DISK: Words = {
  meaning: 'a new session could not write to the data disk of Postgres: mostly it is full',
  act: "Make room on the data disk: see the size of the tables and of temporary files. The service then goes on by itself. Else see the server's log.",
};

/** The rest of the table of docs/high-availability.md: a code alone does not say what these mean. */
export const FURTHER_FAULTS: readonly DatabaseFault[] = [
  INDEX_CONFLICT,
  NUMBER_TAKEN,
  NUMBERS_SET_BACK,
  MISSING_PARTITION,
  NUMBER_BEYOND,
  NOT_ACCEPTING,
  ...POOLER_FAULTS,
  { code: INTERNAL_ERROR, ...SESSION_DISK },
  NO_ANSWER,
  NO_CONNECTION,
  LOST,
  { code: 'E…', ...UNREACHABLE },
  { code: 'ENOTFOUND', ...UNKNOWN_HOST },
  NO_TLS,
  { code: 'CERT_HAS_EXPIRED', ...UNTRUSTED },
  STANDBY,
  earlierPrimary(1, 2),
  OVERTAKEN,
  WARNED,
  COMMITS_UNANSWERED,
  WENT_BACK_FAULT,
];

/** The tables whose unique key contains the sequence number of a record: the ledger's partitions and the outbox. */
const NUMBERED = /^(ledger_\d{4}_\d{2}|outbox)$/;
/**
 * Of two concurrent transactions that take one index of a status list, the second one fails. When it runs again, it finds
 * another index.
 */
const INDEX_TAKEN = 'tasks_status_index';

/** The messages of pg's errors about a lost connection. These errors have no code. */
const LOST_CONNECTION = /^(Connection terminated|Query read timeout|timeout expired|Client (has|was) )/;
/** The message of a call that reached the client's limit, one of those in `LOST_CONNECTION`. */
const TIMED_OUT = /^Query read timeout/;
/** The name does not exist, or the name server does not answer. */
const UNRESOLVED = new Set(['ENOTFOUND', 'EAI_AGAIN']);
/** The driver's message, without a code, if the server answers that it has no TLS. */
const HAS_NO_TLS = 'The server does not support SSL connections';
/** The codes of a certificate that is not accepted: https://nodejs.org/docs/latest-v20.x/api/tls.html#x509-certificate-error-codes */
const CERTIFICATE = /CERT|^(INVALID_(CA|PURPOSE)|UNABLE_TO_|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)/;
/** The messages of the pool (pg-pool), and that of the driver, if the limit for a connection is reached. */
const NOT_ACQUIRED =
  /^(timeout exceeded when trying to connect|timeout expired|Connection terminated due to connection timeout)/;

/** The message of the pool (pg-pool) if no connection became free in time: no new one was tried. */
const EXHAUSTED = 'timeout exceeded when trying to connect';

export function isPoolExhausted(error: unknown): boolean {
  return error instanceof Error && error.message === EXHAUSTED;
}

/** `undefined` if the error is a bug of Mandate. */
export function faultOf(error: unknown): DatabaseFault | undefined {
  if (error instanceof pg.DatabaseError) return faultOfServer(error);
  if (!(error instanceof Error)) return undefined;
  if (NOT_ACQUIRED.test(error.message)) return NO_CONNECTION;
  if (TIMED_OUT.test(error.message)) return NO_ANSWER;
  if (error.message === HAS_NO_TLS) return NO_TLS;
  const code = 'code' in error ? String(error.code) : '';
  if (CERTIFICATE.test(code)) return { code, ...UNTRUSTED };
  if (!isLostConnection(error)) return undefined;
  if (UNRESOLVED.has(code)) return { code, ...UNKNOWN_HOST };
  return 'syscall' in error && code !== '' ? { code, ...UNREACHABLE } : LOST;
}

function faultOfServer(error: pg.DatabaseError): DatabaseFault | undefined {
  const { code = '' } = error;
  if (isMissingPartition(error)) return MISSING_PARTITION;
  if (isBeyond(error)) return NUMBER_BEYOND;
  if (isIndexTaken(error)) return INDEX_CONFLICT;
  if (isNumberTaken(error)) return NUMBER_TAKEN;
  if (isSetBackNumber(error)) return NUMBERS_SET_BACK;
  if (code === WRONG_STATE && error.severity === 'FATAL') return NOT_ACCEPTING;
  if (code === INTERNAL_ERROR && SESSION_FILE.test(error.message)) return { code, ...SESSION_DISK };
  const words = poolerWords(error) ?? STATES[code] ?? STATES[code.slice(0, 2)];
  return words && { code, ...words };
}

function poolerWords({ code, message }: pg.DatabaseError): Words | undefined {
  return code === POOLER_CODE ? POOLER_MESSAGES.find(([pattern]) => pattern.test(message))?.[1] : undefined;
}

/** Whether a pooler has no free connection, to itself or to Postgres. */
export function isPoolerFull(error: pg.DatabaseError): boolean {
  const words = poolerWords(error);
  return words === POOLER_FULL || words === POOLER_WITHOUT_SESSION;
}

export function isLostConnection(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || LOST_CONNECTION.test(error.message));
}

export function isIndexTaken(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION && error.constraint === INDEX_TAKEN;
}

/** Whether the ledger's sequence returned a number that a record or the outbox has. */
export function isNumberTaken(error: pg.DatabaseError): boolean {
  return error.code === UNIQUE_VIOLATION && NUMBERED.test(error.table ?? '');
}

/** Whether a function of `schema.sql` found that the sequence was set back. */
export function isSetBackNumber({ code, message }: pg.DatabaseError): boolean {
  return code === WRONG_STATE && SET_BACK.test(message);
}

/** Whether the ledger has no partition for the month: Postgres then reports a check violation that names no constraint. */
function isMissingPartition(error: pg.DatabaseError): boolean {
  return error.code === CHECK_VIOLATION && error.constraint === undefined;
}

/** Whether the ledger's sequence returned a number that is too large. */
function isBeyond(error: pg.DatabaseError): boolean {
  return error.code === CHECK_VIOLATION && error.constraint === 'ledger_number';
}
