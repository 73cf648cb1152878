/** Describes the schema of a SQLite database, to compare it with the schema that the migrations make. */

import { DEFINITION, type SchemaItem, schemaDifferences } from '../rows/schema-items.ts';
import type { Run } from './handle.ts';

/** Also lists generated columns, which `pragma_table_info` hides. */
const selectColumns = `select t.name as "table", t.strict, t.wr, c.name, c.type, c."notnull", c.dflt_value as "default", c.pk,
    c.hidden
  from pragma_table_list t join pragma_table_xinfo(t.name) c where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite!_%' escape '!' order by 1, c.cid`;
const selectKeys = `select m.name as "table", k.id, k."table" as parent, k."from", k."to", k.on_update, k.on_delete
  from sqlite_schema m join pragma_foreign_key_list(m.name) k where m.type = 'table' order by 1, k.id, k.seq`;
/** Without primary keys, which the columns have. */
const selectUnique = `select m.name as "table", i.name, i.origin, s.sql,
    (select group_concat(coalesce(c.name, '?'), ', ') from pragma_index_info(i.name) c) as columns
  from sqlite_schema m join pragma_index_list(m.name) i left join sqlite_schema s on s.type = 'index' and s.name = i.name
  where m.type = 'table' and i."unique" and i.origin <> 'pk' order by 1, 2`;
const selectText =
  "select type, name, tbl_name as \"table\", sql from sqlite_schema where type in ('table', 'trigger') and tbl_name not like 'sqlite!_%' escape '!'";

interface ColumnRow {
  readonly table: string;
  readonly strict: number;
  readonly wr: number;
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly default: string | null;
  readonly pk: number;
  readonly hidden: number;
}

interface KeyRow {
  readonly table: string;
  readonly parent: string;
  readonly from: string;
  readonly to: string | null;
  readonly on_update: string;
  readonly on_delete: string;
}

interface UniqueRow {
  readonly table: string;
  readonly name: string;
  readonly origin: string;
  readonly sql: string | null;
  readonly columns: string;
}

interface TextRow {
  readonly type: 'table' | 'trigger';
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

export function readSchemaItems(run: Run): readonly SchemaItem[] {
  const columns = run<ColumnRow>(selectColumns).rows;
  const tables = new Map(columns.map((row) => [row.table, row]));
  const texts = run<TextRow>(selectText).rows;
  return [
    ...[...tables].map(([of, { strict, wr }]) => ({
      kind: 'table',
      of,
      name: '',
      is: [strict ? 'strict' : 'not strict', wr ? 'without rowid' : 'with rowid'].join(', '),
    })),
    ...columns.map((row) => ({ kind: 'column', of: row.table, name: row.name, is: columnText(row) })),
    ...run<KeyRow>(selectKeys).rows.map((row) => ({
      kind: 'foreign key',
      of: row.table,
      name: row.from,
      is: `${row.parent} (${row.to ?? ''}) ${row.on_update} ${row.on_delete}`,
    })),
    ...run<UniqueRow>(selectUnique).rows.map(({ table, name, origin, sql, columns: of }) => ({
      kind: origin === 'u' ? 'unique constraint' : 'unique index',
      of: table,
      // SQLite numbers the indexes of constraints in the order in which they were made.
      name: origin === 'u' ? `on (${of})` : name,
      is: compact(sql ?? ''),
    })),
    ...texts.map(({ type, name, table, sql }) => ({
      kind: type === 'table' ? DEFINITION : 'trigger',
      of: table,
      name: type === 'table' ? 'with its checks' : name,
      is: compact(sql),
    })),
  ];
}

function columnText({ type, notnull, pk, hidden, default: value }: ColumnRow): string {
  return [
    type.toLowerCase(),
    ...(notnull ? ['not null'] : []),
    ...(value === null ? [] : [`default ${value}`]),
    ...(pk === 0 ? [] : [`number ${pk} of the primary key`]),
    ...(hidden === 0 ? [] : ['generated']),
  ].join(' ');
}

/** A statement without what may differ between texts that mean the same: SQLite rewrites some of them. */
function compact(sql: string): string {
  return sql.replace(/--.*$/gm, '').replace(/["`]/g, '').replace(/\s+/g, '').toLowerCase();
}

/**
 * @param made what the migrations make, in a database in memory
 * @param isCompared leaves items out
 */
export function sqliteDifferences(run: Run, made: Run, isCompared: (item: SchemaItem) => boolean): readonly string[] {
  const wanted = readSchemaItems(made).filter(isCompared);
  const tables = new Set(wanted.map(({ of }) => of));
  const found = readSchemaItems(run).filter((item) => tables.has(item.of) && isCompared(item));
  return schemaDifferences(wanted, found);
}
