/**
 * The hosts of a connection string: which one the next connection goes to, and which one is the primary. With a proxy in front
 * there is one host, and nothing to find or to watch.
 */

import pg from 'pg';
import { DatabaseRefusal } from '../../database-refusal.ts';
import { hostsOf } from '../connection-string.ts';
import { noConnection, orRefusal } from '../errors.ts';
import { type Limits, READINESS_LIMITS, SERVING_LIMITS } from '../limits.ts';
import { IDENTITY, type IdentityRow } from './capabilities.ts';
import { type KnownPrimary, parseTimeline } from './primary.ts';

/** All pools of a process share it. */
export interface Hosts {
  readonly count: number;
  /** The connection string of the host to ask next. */
  current(): string;
  /** All hosts but the current one. */
  others(): readonly string[];
  /** Makes a host the current one. */
  lead(host: string): void;
  /** Moves on to the next host, and after the last to the first. No effect if another call has already moved on. */
  failed(host: string): void;
}

/** @param list one connection string for each host, in the order in which they are tried (`hostsOf`) */
export function hosts(list: readonly [string, ...string[]]): Hosts {
  let index = 0;
  const current = () => list[index] ?? list[0];
  return {
    count: list.length,
    current,
    others: () => list.filter((host) => host !== current()),
    lead(host) {
      index = Math.max(list.indexOf(host), 0);
    },
    failed(host) {
      if (host === current()) index = (index + 1) % list.length;
    },
  };
}

/**
 * Looks for a later primary among the hosts that are not in use. An old primary that wakes up accepts connections, so a pool
 * whose host it is would never go on to the next one. Asks each other host once, and leads to the one that was promoted since.
 * A host that does not answer is passed over.
 */
export async function watchHosts(known: Hosts, primary: Pick<KnownPrimary, 'sawElsewhere'>): Promise<void> {
  for (const host of known.others()) {
    const [row] = await askOnce<IdentityRow>(host, IDENTITY.text, READINESS_LIMITS).catch(() => []);
    if (row?.standby === false && primary.sawElsewhere({ timeline: parseTimeline(row.timeline) })) known.lead(host);
  }
}

type Asked = { readonly host: string; readonly isPrimary: boolean } | { readonly failure: unknown };

/**
 * For commands: each finds the primary once, and then keeps to that host. Of two primaries one was replaced and does not know
 * it: nothing says which, so both are refused.
 *
 * @returns the connection string of the primary. That of a single host is returned without asking
 * @throws DatabaseRefusal, StorageUnavailable
 */
export async function primaryOf(connectionString: string, role: DatabaseRefusal['role']): Promise<string> {
  const [first, ...further] = hostsOf(connectionString);
  if (further.length === 0) return first;
  const asked = await Promise.all([first, ...further].map(askWhetherPrimary));
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

async function askWhetherPrimary(host: string): Promise<Asked> {
  try {
    const [row] = await askOnce<{ standby: boolean }>(host, 'select pg_is_in_recovery() as standby');
    return { host, isPrimary: row?.standby === false };
  } catch (failure) {
    return { failure };
  }
}

async function askOnce<Row extends pg.QueryResultRow>(host: string, text: string, limits?: Limits): Promise<Row[]> {
  const client = briefClient(host, limits);
  try {
    await client.connect();
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
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
