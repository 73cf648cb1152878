/**
 * Deletes rows that are no longer needed, a limited number at a time (application/ports/storage.ts, Sweeping). How the indices
 * of status lists are freed is of each engine (`../postgres/sweeping.ts`, `../sqlite/sweeping.ts`).
 */

import type { Sweeping } from '../../../application/ports/storage.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';
import type { Dialect } from '../dialect.ts';
import { type Table, tables } from '../tables.ts';
import { type Change, type Command, step, type Transaction } from './query.ts';

export interface Due {
  readonly until: Instant;
  readonly limit: number;
}

export const dueValues: NonNullable<Command<Due>['values']> = ({ until, limit }, { instant }) => ({
  until: instant(until),
  limit,
});

export const deletions: readonly Command<Due>[] = Object.values<Table>(tables).flatMap((table) => {
  const { name, until, holdsWords = false } = table;
  if (until === undefined) return [];
  const text = (dialect: Dialect) => dialect.deleteSome(table, until);
  return [{ name: `forget_${name}`, text, values: dueValues, holdsWords }];
});

/** If a list gets no task for this long, it or its audience is no longer used. */
const UNUSED_AFTER_SECONDS = 86_400;

/** Longer than any transaction that may still give a task an index of a list which is closed meanwhile. */
const CLOSED_FOR_SECONDS = 3600;

const unused = ({ noJoin }: Dialect) => `created_at <= :created_by and not exists (
    select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null ${noJoin})`;

export const closeUnusedLists: Command<Instant> = {
  name: 'close_unused_status_lists',
  text: (dialect) => `update status_lists set closed_at = :at where closed_at is null and ${unused(dialect)}`,
  values: (at, { instant }) => ({ at: instant(at), created_by: instant(plusSeconds(at, -UNUSED_AFTER_SECONDS)) }),
};

export const deleteUnusedLists: Command<Instant> = {
  name: 'delete_unused_status_lists',
  text: (dialect) => `delete from status_lists where closed_at <= :closed_by and ${unused(dialect)}`,
  values: (at, { instant }) => ({
    closed_by: instant(plusSeconds(at, -CLOSED_FOR_SECONDS)),
    created_by: instant(plusSeconds(at, -UNUSED_AFTER_SECONDS)),
  }),
};

export const eraseReasons: Command<Due> = {
  name: 'erase_reasons',
  text: ({ among }) => `update operator_acts set reason = null, salt = null
    where seq ${among('select seq from operator_acts where at <= :until and reason is not null order by at limit :limit')}`,
  values: dueValues,
};

export interface FreeingIndices {
  /** Changes no row if another instance sweeps now: this call then deletes nothing. */
  readonly lock?: Command<undefined>;
  /** Opens the lists whose indices become free. */
  readonly open?: Command<Due>;
  readonly free: Command<Due>;
}

export function sweeping(change: Change, { lock, open, free }: FreeingIndices): Sweeping {
  return {
    eraseReasons: (until, limit) =>
      change(function* (): Transaction<number> {
        return yield step(eraseReasons, { until, limit });
      }),
    forget: (until, limit) =>
      change(function* () {
        if (lock !== undefined && (yield step(lock, undefined)) === 0) return 0;
        if (open !== undefined) yield step(open, { until, limit });
        let forgotten = 0;
        for (const deletion of [...deletions, free]) forgotten += yield step(deletion, { until, limit });
        forgotten += yield step(deleteUnusedLists, until);
        forgotten += yield step(closeUnusedLists, until);
        return forgotten;
      }),
  };
}
