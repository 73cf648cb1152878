/**
 * Describes the schema of a Postgres database, to compare it with the schema that the migrations make. That one is listed in
 * `../tables.ts` and `schema-made.json`: doctor connects as a role that may not create a second one to compare with.
 */

import pg from 'pg';
import { monthOfPartition } from '../../../domain/ledger/archived-part.ts';
import { evenlySpaced, MIGRATIONS_TABLE } from '../rows/migrations.ts';
import { sha256 } from '../rows/recorded.ts';
import { keyOf, type SchemaItem, schemaDifferences } from '../rows/schema-items.ts';
import { allTables, type ColumnType, POSTGRES_TYPES, typeOf } from '../tables.ts';
import listed from './schema-made.json' with { type: 'json' };

const DEFINITIONS: Readonly<Record<ColumnType, string>> = {
  ...POSTGRES_TYPES,
  key: 'text collate C',
  instant: 'timestamp with time zone',
};

/** What the migrations make of the tables in `../tables.ts`, unless `schema-made.json` has another item of the same name. */
export const tablesMade: readonly SchemaItem[] = allTables.flatMap((table) => {
  const { name: of, key, columns } = table;
  return [
    { kind: 'table', of, name: '', is: 'a table' },
    { kind: 'constraint', of, name: `${of}_pkey`, is: `PRIMARY KEY (${key.join(', ')})` },
    ...Object.entries(columns).map(([name, column]) => ({
      kind: 'column',
      of,
      name,
      is: `${DEFINITIONS[typeOf(table, name)]}${column.endsWith('?') ? '' : ' not null'}`,
    })),
  ];
});

const namesListed = new Set(listed.map(keyOf));

/**
 * All items that the migrations make, in the order of `schemaItemsQuery`. `schema-made.json` has those that are no table,
 * column or primary key of `../tables.ts`, or that are made otherwise. A test compares both with a fresh migration, and
 * writes the file.
 */
export const schemaMade: readonly SchemaItem[] = [
  ...tablesMade.filter((item) => !namesListed.has(keyOf(item))),
  ...listed,
].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));

/** A partition of the ledger. */
const MONTH = 'month';

/**
 * Reads the items of all tables and functions in a schema, but not those of the table of migrations. Of partitions it reads what
 * is not that of their table by itself: constraints, unique indexes, triggers. It calls only functions of pg_catalog by their full names: `migrate` runs it as the owner.
 *
 * From Postgres 18 on, `not null` is a constraint (`n`) with a name. It is compared as a part of its column.
 *
 * @param schema an SQL expression: its oid
 */
export function schemaItemsQuery(schema: string): string {
  return `
    with t as (
      select c.oid, c.relname::text as "of", c.relkind, c.relpersistence, c.relrowsecurity or c.relforcerowsecurity as hides
        from pg_catalog.pg_class c
        where c.relnamespace = ${schema} and c.relkind in ('r', 'p', 'c', 'v', 'm', 'f') and not c.relispartition
          and c.relname <> '${MIGRATIONS_TABLE}' and c.relname <> '${MIGRATIONS_TABLE}_lock'
    ), months as (
      select c.oid, c.relname::text as "of"
        from pg_catalog.pg_class c where c.relnamespace = ${schema} and c.relkind = 'r' and c.relispartition
    ), both_kinds as (
      select oid, "of" from t union all table months
    )
    select 'table' as kind, "of", '' as name, case relkind when 'r' then 'a table' when 'p' then 'a partitioned table'
          when 'c' then 'a type' else 'no table' end || case relpersistence when 'u' then ', unlogged' else '' end as "is" from t
    union all
    select '${MONTH}', "of", '', '' from months
    union all
    select 'column', "of", a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod)
          || coalesce(' collate ' || (select collname from pg_catalog.pg_collation where oid = a.attcollation
            and a.attcollation <> (select typcollation from pg_catalog.pg_type where oid = a.atttypid)), '')
          || case when a.attnotnull then ' not null' else '' end
          || coalesce(' default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')
          || case when a.attidentity <> '' or a.attgenerated <> '' then ' generated' else '' end
      from t join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    union all
    select 'constraint', "of", conname::text, pg_catalog.pg_get_constraintdef(c.oid)
      from both_kinds one join pg_catalog.pg_constraint c on c.conrelid = one.oid and c.contype in ('p', 'u', 'f', 'c', 'x')
    union all
    select 'unique index', "of", x.relname::text, pg_catalog.pg_get_indexdef(x.oid)
          || case when i.indisvalid then '' else ' invalid' end
      from both_kinds one join pg_catalog.pg_index i on i.indrelid = one.oid and i.indisunique
        join pg_catalog.pg_class x on x.oid = i.indexrelid
      where not exists (select from pg_catalog.pg_constraint where conindid = x.oid and contype in ('p', 'u'))
    union all
    select 'trigger', "of", tgname::text, pg_catalog.pg_get_triggerdef(g.oid)
          || case when tgenabled in ('O', 'A') then '' else ' disabled' end
      from both_kinds one join pg_catalog.pg_trigger g on g.tgrelid = one.oid and (not tgisinternal or tgparentid <> 0)
    union all
    select 'disabled trigger', "of", 'of a foreign key', ''
      from t where exists (select from pg_catalog.pg_trigger g where g.tgrelid = t.oid and tgisinternal and tgenabled = 'D')
    union all
    select 'rule', "of", rulename::text, '' from t join pg_catalog.pg_rewrite on ev_class = t.oid
    union all
    select 'policy', "of", polname::text, '' from t join pg_catalog.pg_policy on polrelid = t.oid
    union all
    select 'policy', "of", 'row-level security', '' from t where hides
    union all
    select 'sequence', c.relname::text, '', pg_catalog.format_type(seqtypid, null) || ' from ' || seqmin || ' to ' || seqmax
          || ' by ' || seqincrement || ', cache ' || seqcache || case when seqcycle then ', in a circle' else '' end
      from pg_catalog.pg_class c join pg_catalog.pg_sequence on seqrelid = c.oid
      where c.relnamespace = ${schema} and c.relname not like '${MIGRATIONS_TABLE}%'
    union all
    select 'function', f.proname || '(' || pg_catalog.pg_get_function_identity_arguments(f.oid) || ')', '',
        coalesce(pg_catalog.pg_get_function_result(f.oid), '') || ' ' || l.lanname || ' ' || f.provolatile::text
          || case when f.prosecdef then ' security definer' else '' end
          || coalesce(' ' || pg_catalog.array_to_string(f.proconfig, ' '), '') || ' ' || f.prosrc
      from pg_catalog.pg_proc f join pg_catalog.pg_language l on l.oid = f.prolang where f.pronamespace = ${schema}
    order by 1, 2, 3`;
}

/**
 * Takes the name of the schema out of the texts, and shortens functions to a hash.
 *
 * @param schema its name, not quoted
 */
export function withoutSchema(items: readonly SchemaItem[], schema: string): readonly SchemaItem[] {
  const quoted = `${pg.escapeIdentifier(schema)}.`;
  const cutQuoted = (text: string) => text.replaceAll(quoted, '');
  // Postgres quotes a name only where that is needed. The migrations always do, so a body keeps `new.seq`.
  const cut = (text: string) => cutQuoted(text).replaceAll(`${schema}.`, '');
  return items.map(({ kind, of, name, is }) => {
    const text = kind === 'function' ? sha256(evenlySpaced(cutQuoted(is))) : cut(is);
    return { kind, of: cut(of), name, is: text };
  });
}

/**
 * @param rows of `schemaItemsQuery`
 * @param schema its name, not quoted
 * @param isCompared leaves items out
 */
export function postgresDifferences(
  rows: readonly SchemaItem[],
  schema: string,
  isCompared: (item: SchemaItem) => boolean = () => true,
): readonly string[] {
  const all = withoutSchema(rows, schema);
  const months = all.filter(({ kind, of }) => kind === MONTH && monthOfPartition(of) !== undefined);
  const made = [...schemaMade, ...months.flatMap((month) => [month, ...itemsOf(month.of)])].filter(isCompared);
  const ours = new Set(made.map(({ of }) => of));
  return schemaDifferences(
    made,
    all.filter((item) => ours.has(item.of) && isCompared(item)),
  );
}

/** What `create_ledger_partitions` makes for a month: the constraints and triggers of the ledger, and a unique index of the numbers. */
function itemsOf(month: string): readonly SchemaItem[] {
  const name = `${month}_by_seq`;
  const index = `CREATE UNIQUE INDEX ${name} ON ${month} USING btree (seq)`;
  const alike = schemaMade.filter(({ kind, of }) => of === 'ledger' && ['constraint', 'trigger'].includes(kind));
  return [
    { kind: 'unique index', of: month, name, is: index },
    ...alike.map(({ kind, name: named, is }) => ({
      kind,
      of: month,
      name: named === 'ledger_pkey' ? `${month}_pkey` : named,
      is: is.replace(' ON ledger ', ` ON ${month} `),
    })),
  ];
}
