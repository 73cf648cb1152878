/**
 * Random SQL of an owner of the database, who may write every table. The same seed gives the same statements. A new kind of
 * change is a function in `KINDS`.
 */

import type { OutsideConnection, TestDatabase } from '../databases.ts';
import { archivingOf, departedMonth } from './archivings.ts';

/** A random number below this one. */
export type Random = (below: number) => number;

export interface OwnedTables {
  /** Makes some changes, and returns the statements that the database took. */
  change(random: Random): Promise<readonly string[]>;
  /** Restores all rows of all tables. */
  restore(): Promise<void>;
}

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

interface Choosing {
  readonly engine: TestDatabase['engine'];
  readonly tables: readonly Table[];
  /** Half of the changes are of these tables. */
  readonly favoured: readonly string[];
  readonly random: Random;
}

/** The tables that a verification reads or once read. */
const READ = ['ledger', 'checkpoints', 'ledger_archives', 'log_state', 'log_tiles', 'log_cosignatures', 'log_keys'];
const LOG = ['log_state', 'log_tiles', 'log_cosignatures', 'log_problems'];
const MOST_CHANGES = 4;

const pick = <Item>(items: readonly Item[], random: Random): Item => items[random(items.length)] as Item;

/** One row, by its place. */
function rowOf({ engine }: Choosing, { name, columns }: Table, place: number): string {
  const id = engine === 'sqlite' ? 'rowid' : '(tableoid, ctid)';
  const selected = engine === 'sqlite' ? 'rowid' : 'tableoid, ctid';
  return `${id} in (select ${selected} from ${name} order by ${columns[0]} limit 1 offset ${place})`;
}

function tableFor({ tables, favoured, random }: Choosing): Table {
  const read = tables.filter(({ name }) => favoured.includes(name));
  return pick(random(2) === 0 ? read : tables, random);
}

function valueFor(column: string, { name }: Table, random: Random): string {
  return pick(
    [
      'null',
      `${column} || '~'`,
      `${column} + ${1 + random(3)}`,
      `${column} - ${1 + random(3)}`,
      `(select ${column} from ${name} order by ${column} limit 1 offset ${random(9)})`,
      `(select max(${column}) from ${name})`,
    ],
    random,
  );
}

/** A month, a time that ends it or not, and a range: of all, or of a part. */
function listed({ engine, random }: Choosing): string {
  const month = `2026-0${1 + random(9)}`;
  const time = pick(
    ['select min(ts) from ledger', 'select max(ts) from ledger', 'select max(closed_at) from checkpoints'],
    random,
  );
  const through = 1 + random(4);
  const at = engine === 'sqlite' ? '1' : 'now()';
  return `insert into ledger_archives
      (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
    select '${month}', (${time}), ${at}, 1, checkpoint_id, 1, last_seq from checkpoints where checkpoint_id <= ${through}
      order by checkpoint_id desc limit 1`;
}

/** The detail of a record that says that months were archived. */
function archivedDetail(random: Random): string {
  const [last, lastSeq] = [1 + random(4), 1 + random(40)];
  const month = departedMonth(`2026-0${1 + random(9)}`, [1, last], [1, lastSeq]);
  return archivingOf('2026-01-01T00:00:00Z', month).detail ?? '';
}

const KINDS: readonly ((choosing: Choosing) => readonly string[])[] = [
  function deleteRow(choosing) {
    const table = tableFor(choosing);
    return [`delete from ${table.name} where ${rowOf(choosing, table, choosing.random(30))}`];
  },
  function deleteMany(choosing) {
    const table = tableFor(choosing);
    const column = pick(table.columns, choosing.random);
    const than = `(select ${column} from ${table.name} order by ${column} limit 1 offset ${choosing.random(30)})`;
    return [`delete from ${table.name} where ${column} ${pick(['<', '>', '='], choosing.random)} ${than}`];
  },
  function setColumn(choosing) {
    const table = tableFor(choosing);
    const column = pick(table.columns, choosing.random);
    const value = valueFor(column, table, choosing.random);
    return [`update ${table.name} set ${column} = ${value} where ${rowOf(choosing, table, choosing.random(30))}`];
  },
  function setColumnOfAll(choosing) {
    const table = tableFor(choosing);
    const column = pick(table.columns, choosing.random);
    return [`update ${table.name} set ${column} = ${valueFor(column, table, choosing.random)}`];
  },
  function copyRow(choosing) {
    const table = tableFor(choosing);
    const column = pick(table.columns, choosing.random);
    const columns = table.columns.map((each) => (each === column ? valueFor(each, table, choosing.random) : each));
    return [
      `insert into ${table.name} (${table.columns.join(', ')}) select ${columns.join(', ')} from ${table.name}
        where ${rowOf(choosing, table, choosing.random(30))}`,
    ];
  },
  (choosing) => [listed(choosing)],
  ({ random }) => [
    `insert into ledger (seq, ts, event, decision, detail)
      select max(seq) + ${1 + random(2)}, max(ts), 'audit.archived', 'allow', '${archivedDetail(random)}' from ledger`,
  ],
  (choosing) => {
    const ledger = choosing.tables.find(({ name }) => name === 'ledger') as Table;
    const row = rowOf(choosing, ledger, choosing.random(30));
    return [`update ledger set event = 'audit.archived', detail = '${archivedDetail(choosing.random)}' where ${row}`];
  },
  () => LOG.map((name) => `delete from ${name}`),
  ({ random }) => [
    `delete from ledger where seq <= (select last_seq from checkpoints where checkpoint_id = ${1 + random(4)})`,
  ],
];

/** @param outside may write every table, and passes over triggers and rights */
export async function ownedTables(
  outside: OutsideConnection,
  engine: TestDatabase['engine'],
  favoured = READ,
): Promise<OwnedTables> {
  await liftGuards(outside, engine);
  const tables = engine === 'sqlite' ? await sqliteTables(outside) : await postgresTables(outside);
  for (const { name } of tables) await outside.sql(`create table kept_${name} as select * from ${name}`);

  return {
    async change(random) {
      const done: string[] = [];
      for (let nth = 1 + random(MOST_CHANGES); nth > 0; nth -= 1) {
        for (const statement of pick(KINDS, random)({ engine, tables, favoured, random })) {
          // A constraint or a type may refuse it: then there is no change.
          const isDone = await outside.sql(statement).then(
            () => true,
            () => false,
          );
          if (isDone) done.push(statement);
        }
      }
      return done;
    },
    async restore() {
      await outside.sql('begin');
      for (const { name, columns } of tables) {
        await outside.sql(`delete from ${name}`);
        await outside.sql(`insert into ${name} (${columns.join(', ')}) select ${columns.join(', ')} from kept_${name}`);
      }
      await outside.sql('commit');
    },
  };
}

/** @param outside owns the tables. On Postgres it is a superuser, for whom no trigger runs then */
export async function liftGuards(outside: OutsideConnection, engine: TestDatabase['engine']): Promise<void> {
  if (engine === 'postgres') return void (await outside.sql('set session_replication_role = replica'));
  await outside.sql('pragma ignore_check_constraints = on');
  await outside.sql('pragma foreign_keys = off');
  for (const { name } of await outside.sql("select name from sqlite_master where type = 'trigger'")) {
    await outside.sql(`drop trigger ${name}`);
  }
}

async function sqliteTables(outside: OutsideConnection): Promise<readonly Table[]> {
  const rows = await outside.sql(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '%migrations%'",
  );
  const tables: Table[] = [];
  for (const { name } of rows) {
    const columns = await outside.sql(`select name from pragma_table_info('${name}')`);
    tables.push({ name: String(name), columns: columns.map((column) => String(column.name)) });
  }
  return tables;
}

async function postgresTables(outside: OutsideConnection): Promise<readonly Table[]> {
  const rows = await outside.sql(
    `select c.relname as name, array_to_json(array(
        select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          order by a.attnum
      )) as columns
      from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition and c.relname not like '%migrations%' order by 1`,
  );
  return rows.map(({ name, columns }) => ({ name: String(name), columns: columns as readonly string[] }));
}
