/** Reads from the connection string how well the link to Postgres is protected. */

import pg from 'pg';
import type { DatabaseLink } from '../../../application/ports/storage.ts';
import { isLoopback } from '../../../domain/address.ts';
import { hostsOf } from './connection-string.ts';

/** The kinds of connection, the best first. */
const LINKS: readonly DatabaseLink[] = ['local', 'verified', 'unverified', 'plain'];

/**
 * Whether an attacker on the network could read the traffic to Postgres, or impersonate the server: with several hosts,
 * on the way to the worst one. Parses the connection string and the environment as the driver does, without connecting.
 */
export function linkCondition(uri: string): DatabaseLink {
  const links = hostsOf(uri).map(linkOf);
  return LINKS.findLast((link) => links.includes(link)) ?? 'plain';
}

function linkOf(connectionString: string): DatabaseLink {
  const client = new pg.Client({ connectionString });
  // The driver holds TLS options here, although its type is boolean.
  const ssl: unknown = client.ssl;
  if (client.host.startsWith('/') || isLoopback(client.host)) return 'local';
  if (ssl === false) return 'plain';
  const acceptsAnyServer =
    typeof ssl === 'object' && ssl !== null && 'rejectUnauthorized' in ssl && !ssl.rejectUnauthorized;
  return acceptsAnyServer ? 'unverified' : 'verified';
}
