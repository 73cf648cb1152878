/**
 * Asks Postgres for pages whose checksum was wrong when it read them. Most requests read other pages and succeed, so failed
 * requests alone would be forgotten. Without checksums (`initdb --data-checksums`, the default from Postgres 18 on) it
 * counts none.
 */

import type { PageDamage } from '../../../application/ports/storage.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Run } from './pool/pool.ts';

/** The readiness says for this long that a page was damaged when it was last read. */
const RECENT = "interval '1 hour'";

const damagedPages = {
  name: 'damaged_pages',
  text: `select checksum_failures::integer as count, checksum_last_failure as last_at,
      checksum_last_failure > now() - ${RECENT} as recent
    from pg_stat_database where datname = current_database() and checksum_failures > 0`,
};

interface DamageRow {
  readonly count: number;
  readonly last_at: Instant;
  readonly recent: boolean;
}

export async function pageDamage(run: Run): Promise<(PageDamage & { readonly isRecent: boolean }) | undefined> {
  const [row] = (await run<DamageRow>(damagedPages)).rows;
  return row && { count: row.count, lastAt: row.last_at, isRecent: row.recent };
}
