/** Finds the primary among several hosts, for commands: each opens the database once, and then keeps to that host. */

import pg from 'pg';
import { DatabaseRefusal } from '../database-refusal.ts';
import { hostsOf } from './connection-string.ts';
import { noConnection, orRefusal } from './errors.ts';
import { type Limits, SERVING_LIMITS } from './limits.ts';

type Asked = { readonly host: string; readonly isPrimary: boolean } | { readonly failure: unknown };

/**
 * Asks all hosts. Of two primaries one was replaced and does not know it: nothing says which, so both are refused.
 *
 * @returns the connection string of the primary. That of a single host is returned without asking
 * @throws DatabaseRefusal, StorageUnavailable
 */
export async function primaryOf(connectionString: string, role: DatabaseRefusal['role']): Promise<string> {
  const [first, ...further] = hostsOf(connectionString);
  if (further.length === 0) return first;
  const asked = await Promise.all([first, ...further].map(ask));
  const answers = asked.flatMap((one) => ('host' in one ? [one] : []));
  const [primary, ...rivals] = answers.filter(({ isPrimary }) => isPrimary);
  if (rivals.length > 0) throw new DatabaseRefusal('several_primaries', role);
  if (primary !== undefined) return primary.host;
  const failures = asked.flatMap((one) => ('failure' in one ? [one.failure] : []));
  // A server that refuses the connection may be the primary, so its reason comes first.
  const refused = failures.find((failure) => failure instanceof pg.DatabaseError);
  if (refused === undefined && answers.length > 0) throw new DatabaseRefusal('no_primary', role);
  const cause = refused ?? failures[0];
  return orRefusal(role, () => Promise.reject(noConnection(cause, [first, ...further])));
}

/** A client for a few short queries. It is not connected yet. */
export function briefClient(connectionString: string, { acquire, query }: Limits = SERVING_LIMITS): pg.Client {
  const client = new pg.Client({
    connectionString,
    application_name: 'mandate',
    connectionTimeoutMillis: acquire,
    query_timeout: query,
  });
  // A query in progress rejects with the same error.
  client.on('error', () => undefined);
  return client;
}

async function ask(host: string): Promise<Asked> {
  const client = briefClient(host);
  try {
    await client.connect();
    const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
    return { host, isPrimary: rows[0]?.standby === false };
  } catch (failure) {
    return { failure };
  } finally {
    await client.end();
  }
}
