/**
 * Finds a pooler in transaction mode (supplement "Sizes and forms nobody wrote down"). It gives each transaction any
 * session of Postgres, so a session's settings and prepared statements are lost or belong to another client.
 */

import { randomUUID } from 'node:crypto';
import { DatabaseRefusal } from '../../database-refusal.ts';
import { briefClient } from './hosts.ts';

/** A connection of a client, directly or through a pooler. */
export interface ClientConnection {
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
  end(): Promise<void>;
}

/** @throws DatabaseRefusal if a pooler shares sessions. An unreachable server is left to the next statement */
export async function refuseSharedSessions(connectionString: string, role: DatabaseRefusal['role']): Promise<void> {
  const open = async (): Promise<ClientConnection> => {
    const client = briefClient(connectionString);
    await client.connect();
    return client;
  };
  if (await sharesSessions(open).catch(() => false)) throw new DatabaseRefusal('shared_sessions', role);
}

/**
 * Whether two transactions of one connection run in different sessions, or lose a setting between them. A pooler that
 * has only one session to give would pass, so a second connection then keeps that session in a transaction.
 *
 * @throws if the server does not answer, or has no room for two connections
 */
export async function sharesSessions(open: () => Promise<ClientConnection>): Promise<boolean> {
  const connection = await open();
  try {
    const rival = await open();
    try {
      const mark = randomUUID();
      const seen = async () => JSON.stringify((await inTransaction(connection, SEEN))[0]);
      await inTransaction(connection, `select set_config('mandate.session', '${mark}', false)`);
      const first = await seen();
      if (!first.includes(mark)) return true;
      // A pooler that rotates its sessions gives another one here.
      if ((await seen()) !== first) return true;
      await rival.query('begin');
      await rival.query(SEEN);
      const last = await seen();
      await rival.query('rollback');
      return last !== first;
    } finally {
      await rival.end();
    }
  } finally {
    await connection.end();
  }
}

const SEEN = "select pg_backend_pid() as pid, current_setting('mandate.session', true) as mark";

async function inTransaction(connection: ClientConnection, statement: string): Promise<readonly unknown[]> {
  await connection.query('begin');
  const { rows } = await connection.query(statement);
  await connection.query('commit');
  return rows;
}
