/**
 * Finds a number that two records of the ledger have, without reading all of it. Each month has a unique index on the number.
 * So the two lie in two months whose ranges of numbers overlap, or in a month without that index. In a ledger that only the
 * service wrote, ranges overlap by the few records around the end of a month.
 *
 * The serving role may read the ledger only, not its partitions. The constraint of a partition selects its rows, and lets
 * Postgres skip all other partitions. `restores.ts` runs this as the owner: functions and operators are those of Postgres, as
 * in `archives.ts`.
 */

import type { UsedTwice } from '../../../application/ports/checkpoints.ts';
import { readUsedTwice, selectUsedTwice, type UsedTwiceRow } from '../rows/ledger-row.ts';
import type { Run } from './pool/pool.ts';

/** A partition that is being detached is not read with the ledger. A default partition that is alone has no constraint. */
const partitions = {
  name: 'used_twice_partitions',
  text: `select coalesce(pg_catalog.pg_get_partition_constraintdef(inhrelid), 'true') as holds, exists (
      select from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attname = 'seq'
        where i.indrelid = inhrelid and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
          and i.indnkeyatts = 1 and i.indkey[0] = a.attnum
    ) as is_unique
    from pg_catalog.pg_inherits where inhparent = 'ledger'::regclass::oid and not inhdetachpending`,
};

interface Partition {
  /** An SQL condition: that a row of the ledger is in it. */
  readonly holds: string;
  /** Whether an index keeps numbers from being used twice within it. */
  readonly is_unique: boolean;
}

/** Null for an empty partition. As text: the owner can store numbers that JavaScript rounds. */
interface Ends {
  readonly part: number;
  readonly first: string | null;
  readonly last: string | null;
}

/** @param run of a transaction that reads by index where it can (`PLANNING` in `pool/transactions.ts`) */
export async function usedTwice(run: Run): Promise<UsedTwice | undefined> {
  const parts = (await run<Partition>(partitions)).rows;
  if (parts.length === 0) return undefined;
  const ranges = (await run<Ends>(unnamed(parts.map(selectEnds).join(' union all ')))).rows.flatMap(
    ({ part, first, last }) => {
      const partition = parts[part];
      if (partition === undefined || first === null || last === null) return [];
      return [{ ...partition, first: BigInt(first), last: BigInt(last) }];
    },
  );
  const twice = ranges.flatMap((one, nth) => [
    ...(one.is_unique ? [] : [selectTwiceWithin(one)]),
    ...ranges.slice(nth + 1).flatMap((other) => selectShared(one, other) ?? []),
  ]);
  if (twice.length === 0) return undefined;
  return readUsedTwice((await run<UsedTwiceRow>(unnamed(selectUsedTwice(twice.join(' union all '))))).rows);
}

type Range = Partition & { readonly first: bigint; readonly last: bigint };

/** Each text has the months of its ledger, so no connection remembers it. */
const unnamed = (text: string) => ({ name: undefined, text });

function selectEnds({ holds }: Partition, part: number): string {
  return `select ${part} as part, pg_catalog.min(seq)::text as first, pg_catalog.max(seq)::text as last from ledger where ${holds}`;
}

const selectTwiceWithin = ({ holds }: Range): string =>
  `(select seq from ledger where ${holds} group by seq having count(*) > 1)`;

/** Selects the numbers that both have; `undefined` if their ranges do not overlap. */
function selectShared(one: Range, other: Range): string | undefined {
  const first = one.first > other.first ? one.first : other.first;
  const last = one.last < other.last ? one.last : other.last;
  if (first > last) return undefined;
  const within = ({ holds }: Range) =>
    `(select seq from ledger where ${holds} and seq >= ${first}::bigint and seq <= ${last}::bigint)`;
  return `(select a.seq from ${within(one)} a join ${within(other)} b on a.seq = b.seq)`;
}
