/**
 * Finds commits that Postgres answered with a warning. If an administrator cancels a commit's wait for the synchronous standby,
 * Postgres completes the commit with a warning. The commit is then on this server only, and a failover may lose it. So a commit
 * with a warning, whatever the cause, counts as a commit without an answer.
 *
 * The driver gives the severity in the language of the server, so the SQLSTATE decides too. A notice below a warning has 00000.
 * A warning has another one, unless its author chose 00000 (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */

import type pg from 'pg';
import { CommitWarned } from '../errors.ts';

/**
 * The settings of each session that commits. They win over the defaults of the role, the database and the server, and over a
 * later reload. A role that hides warnings would hide those of commits.
 */
export const COMMIT_SETTINGS = `set client_min_messages to warning;
  select set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false)`;

/** For each watched client: whether the server has sent a warning since the last answer to a statement. */
const warned = new WeakMap<pg.ClientBase, boolean>();

const SUCCESSFUL_COMPLETION = '00000';

/** Call it on a client that has just connected. */
export function watchCommits(client: pg.ClientBase): void {
  warned.set(client, false);
  client.on('notice', ({ severity, code }) => {
    if (severity === 'WARNING' || code !== SUCCESSFUL_COMPLETION) warned.set(client, true);
  });
}

/**
 * Sends a statement that may precede a commit, also in one packet with it. A warning of this statement does not count as one of
 * the commit: the driver calls back before it reads the answer to the next statement.
 */
export function send<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  statement: string | pg.QueryConfig,
): Promise<pg.QueryResult<Row>> {
  return new Promise((resolve, reject) => {
    const config = typeof statement === 'string' ? { text: statement } : statement;
    client.query<Row>(config, (error, result) => {
      if (warned.has(client)) warned.set(client, false);
      if (error) reject(error);
      else resolve(result);
    });
  });
}

/** Postgres answers a commit with ROLLBACK if a statement of the transaction failed. @throws CommitWarned */
export function commit(client: pg.ClientBase): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query('commit', (error, result) => {
      if (error) reject(error);
      else if (result.command !== 'COMMIT')
        reject(new Error('the transaction was rolled back: the error of a statement was ignored'));
      else if (hasWarned(client)) reject(new CommitWarned());
      else resolve();
    });
  });
}

/** @throws CommitWarned if the server has sent a warning since the client's last `send`, or if the client is not watched */
export function expectUnwarned(client: pg.ClientBase): void {
  if (hasWarned(client)) throw new CommitWarned();
}

function hasWarned(client: pg.ClientBase): boolean {
  return warned.get(client) !== false;
}
