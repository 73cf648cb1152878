/**
 * Looks for a later primary among the hosts that are not in use. An old primary that wakes up accepts connections, so a pool
 * whose host it is would never go on to the next one. With a proxy in front there is one host, and nothing to watch.
 */

import { briefClient } from './find-primary.ts';
import type { Hosts } from './hosts.ts';
import { READINESS_LIMITS } from './limits.ts';
import { IDENTITY, type IdentityRow, type KnownPrimary, parseTimeline } from './primary.ts';

/** Asks each other host once, and leads to the one that was promoted since. A host that does not answer is passed over. */
export async function watchHosts(known: Hosts, primary: Pick<KnownPrimary, 'sawElsewhere'>): Promise<void> {
  for (const host of known.others()) {
    const row = await identityOf(host).catch(() => undefined);
    if (row?.standby === false && primary.sawElsewhere({ timeline: parseTimeline(row.timeline) })) known.lead(host);
  }
}

async function identityOf(connectionString: string): Promise<IdentityRow | undefined> {
  const client = briefClient(connectionString, READINESS_LIMITS);
  try {
    await client.connect();
    return (await client.query<IdentityRow>(IDENTITY.text)).rows[0];
  } finally {
    await client.end();
  }
}
