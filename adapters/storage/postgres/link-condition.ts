/** Who could read what is sent to Postgres, or answer in its place. */

import pg from 'pg';
import type { DatabaseLink } from '../../../application/ports/storage.ts';
import { isLoopback } from '../../../domain/transport.ts';

/** As the driver reads the address, and the environment where that leaves something out. Nothing is connected. */
export function linkCondition(connectionString: string): DatabaseLink {
  const client = new pg.Client({ connectionString });
  // Its options of TLS, where there are any: the types know only of yes and no.
  const ssl: unknown = client.ssl;
  if (client.host.startsWith('/') || isLoopback(client.host)) return 'local';
  if (ssl === false) return 'plain';
  const isAnybodyTaken =
    typeof ssl === 'object' && ssl !== null && 'rejectUnauthorized' in ssl && !ssl.rejectUnauthorized;
  return isAnybodyTaken ? 'unverified' : 'verified';
}
