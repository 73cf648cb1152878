/**
 * Commits whose answer counts. If an administrator cancels a commit's wait for the synchronous standby, Postgres completes
 * the commit with a warning: it is on this server only, and a failover may lose it. So a commit that was answered with a
 * warning, of whatever cause, counts as one without an answer.
 *
 * The driver passes on only the severity that the server translated (field S). The other one (field V) is read here from the
 * messages: https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

import type pg from 'pg';
import { CommitWarned } from './errors.ts';

/**
 * The settings of each session that commits, also under another default of the role, the database or the server, and under a
 * later reload. A role that hides warnings would hide those of commits.
 */
export const COMMIT_SETTINGS = `set client_min_messages to warning;
  select set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false)`;

/** For each watched client: whether the server sent a warning with its answer to the client's last statement. */
const warned = new WeakMap<pg.Client, () => boolean>();

/** Call it on a client that has just connected: it reads what comes from then on. */
export function watchCommits(client: pg.Client): void {
  const messages = readMessages();
  client.connection.stream.on('data', messages.read);
  warned.set(client, messages.lastWarned);
}

/**
 * @param client one that is watched, and has sent nothing after the commit
 * @throws CommitWarned
 */
export function expectUnwarned(client: pg.Client): void {
  if (warned.get(client)?.() !== false) throw new CommitWarned();
}

/** Postgres answers a commit with ROLLBACK if a statement of the transaction failed. @throws CommitWarned */
export function expectCommitted(client: pg.Client, { command }: pg.QueryResult): void {
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: the error of a statement was ignored');
  expectUnwarned(client);
}

const NOTICE_RESPONSE = 'N'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);
/** The type of a message, and its length without the type. */
const HEADER_BYTES = 5;
const NOTHING = Buffer.alloc(0);

/** Reads the server's messages. Each ReadyForQuery ends the answer to a statement. */
function readMessages() {
  let rest: Buffer = NOTHING;
  /** Bytes to pass over: the rest of a message that is of no interest. */
  let passed = 0;
  let hasWarned = false;
  let lastWarned = false;

  function read(chunk: Buffer): void {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = passed;
    while (at + HEADER_BYTES <= bytes.length) {
      const type = bytes[at];
      const end = at + 1 + bytes.readUInt32BE(at + 1);
      if (type === NOTICE_RESPONSE) {
        if (end > bytes.length) break;
        hasWarned ||= isWarning(bytes.subarray(at + HEADER_BYTES, end));
      } else if (type === READY_FOR_QUERY) {
        lastWarned = hasWarned;
        hasWarned = false;
      }
      at = end;
    }
    passed = Math.max(at - bytes.length, 0);
    rest = at < bytes.length ? bytes.subarray(at) : NOTHING;
  }

  return { read, lastWarned: () => lastWarned };
}

/** @param body the fields of a notice: a letter and a text that ends with a zero byte, for each */
function isWarning(body: Buffer): boolean {
  const fields = new Map<string, string>();
  for (let at = 0; at < body.length && body[at] !== 0; ) {
    const end = body.indexOf(0, at);
    if (end < 0) break;
    fields.set(String.fromCharCode(body[at] ?? 0), body.toString('utf8', at + 1, end));
    at = end + 1;
  }
  return (fields.get('V') ?? fields.get('S')) === 'WARNING';
}
