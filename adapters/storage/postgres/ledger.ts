/**
 * The ledger on Postgres. How a page stays true while records are appended is told in
 * docs/decisions/0001-ledger-paging.md.
 */

import type { Ledger, LedgerPosition } from '../../../application/ports/ledger.ts';
import type { DenialReason } from '../../../domain/denial.ts';
import { type Instant, secondsBetween } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { type ArchivedBeforeRow, endOfPage, selectArchivedBefore, selectPage, toPage } from '../rows/ledger-page.ts';
import type { LedgerRow } from '../rows/ledger-row.ts';
import { storable } from '../rows/text.ts';
import { spentTogether } from './assertions.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { boundEntry, entryParameter, parameters } from './entry.ts';
import { SERVING_LIMITS } from './limits.ts';
import { LOCK } from './locks.ts';

const appendRecord = { name: 'append_record', text: `select append_record(${entryParameter(1)})` };

const refuse = {
  name: 'refuse',
  text: `select refuse(${parameters(1, 6)}, ${entryParameter(7)}) as reason`,
};

/** Appends in the caller's transaction; the fence is held until that ends. */
export async function append(run: Run, entry: LedgerEntry): Promise<void> {
  await run(appendRecord, boundEntry(entry));
}

export function postgresLedger({ knex, run }: Connections): Ledger {
  return {
    append: (entry) => append(run, entry),

    async refuse({ entry, assertion, sponsorKey }) {
      const { rows } = await run<{ reason: DenialReason }>(refuse, [
        sponsorKey === undefined ? null : storable('sponsor_key', sponsorKey),
        assertion?.agentId ?? null,
        ...(assertion === undefined ? [null, null, null, null] : spentTogether(assertion)),
        ...boundEntry(entry),
      ]);
      const reason = rows[0]?.reason;
      if (reason === undefined) throw new Error('a refusal was recorded without an answer');
      return reason;
    },

    async page(query) {
      let page = await run<LedgerRow>(selectPage(knex, query, bindInstant));
      const end = endOfPage(page.rows, query.limit);
      if (end !== undefined && !(await isSettled(run, end, query.now))) {
        await passFence(run);
        page = await run<LedgerRow>(selectPage(knex, query, bindInstant));
      }
      const archived = await run<ArchivedBeforeRow>(selectArchivedBefore(knex));
      return toPage(page.rows, archived.rows, query.limit);
    },
  };
}

/**
 * No usual append lives as long as this: its statement is ended after seconds (`limits.ts`), and its time is taken
 * shortly before it starts. What takes longer, because it ends very many tasks or because its commit hangs, is looked for.
 */
const SETTLED_AFTER_SECONDS = 60;

/** Older than any usual append is; one that we may not look at counts as older. */
const LONG_APPEND_SECONDS = SERVING_LIMITS.query / 1000;

const longAppends = {
  name: 'long_appends',
  text: `select exists (
    select from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.classid = ${LOCK.ledgerFence} and l.objsubid = 2
        and l.database = (select oid from pg_database where datname = current_database())
        and (a.xact_start is null or a.xact_start < clock_timestamp() - interval '${LONG_APPEND_SECONDS} seconds')
  ) as under_way`,
};

async function isSettled(run: Run, end: LedgerPosition, now: Instant): Promise<boolean> {
  if (secondsBetween(end.at, now) <= SETTLED_AFTER_SECONDS) return false;
  const { rows } = await run<{ under_way: boolean }>(longAppends);
  return rows[0]?.under_way === false;
}

const fence = { name: 'pass_fence', text: `select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)` };

/** Returns once every append that was under way has ended; those that start later are dated after what was read. */
async function passFence(run: Run): Promise<void> {
  await run(fence);
}
