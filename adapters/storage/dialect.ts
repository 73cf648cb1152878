/**
 * The differences between the engines in the text of a query, as named capabilities: a query asks for one of these,
 * never for an engine. Values have names in a text (`:task_id`), which `compile` replaces with the parameters of the
 * engine.
 */

import { toMicrosecondText } from '../../domain/instant.ts';
import type { BindInstant, Bound } from './rows/column.ts';
import { type ColumnType, columnsOf, POSTGRES_TYPES, type Table, typeOf } from './tables.ts';

/** The values of a statement by their names. A name that its text does not have may be `undefined`. */
export type Values = Readonly<Record<string, Bound | undefined>>;

/** Expressions, each with the name of a value (`{ agent_id: ':agent_id' }`). */
type Named = Readonly<Record<string, string>>;

/** How an engine reads a page along one index. */
interface IndexRange {
  readonly conditions: readonly string[];
  readonly order: readonly string[];
}

export interface Dialect {
  /** Converts an instant to its stored form. */
  readonly instant: BindInstant;
  /** The function that collects values as JSON; without values it returns null. */
  readonly jsonAgg: string;
  /** The rows of a select, as the text of a JSON array of objects; null without a row on Postgres. */
  collected(columns: readonly string[], select: string): string;
  /** So many seconds after the instant of a column, or before it. */
  shifted(column: string, seconds: number): string;
  /** How a condition names a column, so that the engine does not read along its index. */
  unindexed(column: string): string;
  /**
   * Selects the rows with all `equal` values that sort before `position`. The engine reads an index of all these columns
   * backwards.
   */
  before(equal: Named, position: Named): IndexRange;
  /**
   * Selects the rows with the value of `name` within the bounds of the following columns. The engine reads an index of all
   * these columns, in either direction.
   */
  within(
    name: readonly [column: string, value: string] | undefined,
    following: readonly string[],
    at: Bounds,
  ): IndexRange;
  /** The beginning of the minute of an instant. */
  minuteOf(column: string): string;
  /** Selects the columns of the rows with the values of `by`, as a fact of a decision; without columns, whether there is one. */
  select(
    table: Table,
    columns: readonly string[],
    by: readonly string[],
    order: readonly string[],
    /** Further columns, by the name that the row has in the query. */
    more?: (row: string) => string,
  ): string;
  /** Inserts rows: on Postgres those of the JSON array `:rows`, on SQLite the row of the named values. */
  insert(table: Table, conflict: string): string;
  /** Deletes at most `:limit` rows whose column `until` is at most `:until`, the earliest first. */
  deleteSome(table: Table, until: string): string;
  /** A condition that the value before it is one of a select. Each is looked up separately. */
  among(select: string): string;
  /**
   * Joins the rows of a table to each row before it. Each is looked up separately: the planner overestimates the number of
   * rows before it, and would read a whole table.
   */
  lookUp(table: string, alias: string, condition: string): string;
  /** Ends a subquery that the planner must not turn into a join, for which it may read a whole table. */
  readonly noJoin: string;
  /** Selects the texts of a JSON array. */
  texts(json: string): string;
  /** Rows from a JSON array of objects with these columns, as a table of a query. */
  jsonRows(json: string, columns: Readonly<Record<string, ColumnType>>): string;
  /** Locks the rows of a select until the transaction ends. SQLite runs one transaction at a time. */
  readonly forUpdate: string;
  /** Returns the parameter of a value. @param names those of the parameters so far, to which it adds the value's name */
  parameter(name: string, names: string[]): string;
}

/** Names of values: of the row that comes before the page, and of bounds of the first following column. */
export interface Bounds {
  readonly position: readonly string[] | undefined;
  /** Whether the page is read backwards, the last row first. */
  readonly backwards: boolean;
  /** Inclusive. */
  readonly from: string | undefined;
  /** Exclusive. */
  readonly to: string | undefined;
}

export const sqlite: Dialect = {
  instant: (instant) => instant,
  jsonAgg: 'json_group_array',
  collected(columns, select) {
    const members = columns.map((column) => `'${column}', ${column}`).join(', ');
    return `(select json_group_array(json_object(${members})) from (${select}) found)`;
  },
  shifted: (column, seconds) => `${column} + ${seconds * 1_000_000}`,
  // SQLite reads no index for `+column`. Its planner cannot tell which filter is more selective.
  unindexed: (column) => `+${column}`,
  before: (equal, position) => ({
    conditions: [
      ...Object.entries(equal).map(([column, value]) => `${column} = ${value}`),
      `${tuple(Object.keys(position))} < ${tuple(Object.values(position))}`,
    ],
    order: Object.keys(position),
  }),
  within: (name, following, { position, backwards }) => ({
    conditions: [
      ...(name === undefined ? [] : [`${name[0]} = ${name[1]}`]),
      ...(position === undefined ? [] : [`${tuple(following)} ${backwards ? '<' : '>'} ${tuple(position)}`]),
    ],
    order: following,
  }),
  minuteOf: (column) => `${column} - ${column} % 60000000`,
  select({ name }, columns, by, order, more) {
    const found = columns.length === 0 ? '1' : [...columns, ...(more === undefined ? [] : [more(name)])].join(', ');
    const sorted = order.length === 0 ? '' : ` order by ${order.join(', ')}`;
    return `select ${found} from ${name} where ${by.map((column) => `${column} = :${column}`).join(' and ')}${sorted}`;
  },
  insert({ name, columns }, conflict) {
    const names = Object.keys(columns);
    const values = names.map((column) => `:${column}`);
    return `insert into ${name} (${names.join(', ')}) values (${values.join(', ')})${conflict}`;
  },
  deleteSome({ name, key }, until) {
    const keys = key.join(', ');
    return `delete from ${name} where (${keys}) in (
    select ${keys} from ${name} where ${until} <= :until order by ${until} limit :limit)`;
  },
  among: (select) => `in (${select})`,
  // SQLite does not reorder a cross join.
  lookUp: (table, alias, condition) => `cross join ${table} ${alias} on ${condition}`,
  noJoin: '',
  texts: (json) => `select value from json_each(${json})`,
  jsonRows(json, columns) {
    const found = Object.keys(columns).map((column) => `value ->> '${column}' as ${column}`);
    return `(select ${found.join(', ')} from json_each(${json}))`;
  },
  forUpdate: '',
  parameter(name, names) {
    names.push(name);
    return '?';
  },
};

/**
 * With `agent_id = $1` the planner may read the rows of all agents in the order of time, because it assumes an even spread.
 * So bounds on the columns of the index replace the equality, and the order begins with the column.
 */
export const postgres: Dialect = {
  instant: toMicrosecondText,
  jsonAgg: 'json_agg',
  collected: (_, select) => `(select json_agg(r)::text from (${select}) r)`,
  shifted: (column, seconds) => `${column} + interval '${seconds} seconds'`,
  unindexed: (column) => column,
  before(equal, position) {
    const columns = Object.keys(equal);
    const values = Object.values(equal);
    const order = [...columns, ...Object.keys(position)];
    return {
      conditions: [
        `${columns[0]} >= ${values[0]} and ${columns[0]} <= ${values[0]}`,
        ...(columns.length > 1 ? [`${tuple(columns)} >= ${tuple(values)}`] : []),
        `${tuple(order)} < ${tuple([...values, ...Object.values(position)])}`,
      ],
      order,
    };
  },
  within(name, following, bounds) {
    if (name === undefined) return sqlite.within(name, following, bounds);
    const { position, from, to, backwards } = bounds;
    const [column, value] = name;
    const [first] = following;
    const order = [column, ...following];
    const at = position && tuple([value, ...position]);
    const begin =
      at !== undefined && !backwards
        ? `${tuple(order)} > ${at}`
        : from !== undefined
          ? `(${column}, ${first}) >= (${value}, ${from})`
          : `${column} >= ${value}`;
    const end =
      at !== undefined && backwards
        ? `${tuple(order)} < ${at}`
        : to === undefined
          ? `${column} <= ${value}`
          : `(${column}, ${first}) < (${value}, ${to})`;
    // The index is partial (`is not null`). The planner does not infer that condition from a bound on several columns.
    return { conditions: [`${column} is not null`, begin, end], order };
  },
  minuteOf: (column) => `date_trunc('minute', ${column})`,
  // The rows of a fact come as JSON, which would change the form of instants and of other JSON.
  select(table, columns, by, order, more) {
    const { name, alias } = table;
    const asText = (column: string) => ['instant', 'json'].includes(typeOf(table, column));
    const read = columns.map((column) => (asText(column) ? `${column}::text` : column));
    const found = [...read, ...(more === undefined ? [] : [more(alias)])].join(', ');
    const having = by.map((column) => `${alias}.${column} = :${column}`).join(' and ');
    const sorted = order.length === 0 ? '' : ` order by ${order.map((column) => `${alias}.${column}`).join(', ')}`;
    return `select ${found === '' ? '1 as found' : found} from ${name} ${alias} where ${having}${sorted}`;
  },
  // In the JSON of the rows, the value of a JSON column is a text.
  insert(table, conflict) {
    const { name } = table;
    const names = columnsOf(table);
    const values = names.map((column) => (typeOf(table, column) === 'json' ? `(${column} #>> '{}')::json` : column));
    return `insert into ${name} (${names.join(', ')})
    select ${values.join(', ')} from json_populate_recordset(null::${name}, :rows::json) ${conflict}`;
  },
  // Deletes by `ctid`: with keys the planner would join, and read the whole table for each batch. A concurrent logout may
  // postpone the time of a selected row, which must then stay. So the outer condition repeats the comparison: Postgres
  // before 17.7 does not check the `ctid` of a changed row again.
  deleteSome: ({ name }, until) =>
    `delete from ${name} where ctid ${postgres.among(
      `select ctid from ${name} where ${until} <= :until order by ${until} limit :limit`,
    )} and ${until} <= :until`,
  among: (select) => `= any (array(${select}))`,
  lookUp: (table, alias, condition) =>
    `cross join lateral (select * from ${table} ${alias} where ${condition} offset 0) ${alias}`,
  noJoin: 'offset 0',
  texts: (json) => `select json_array_elements_text(${json}::json)`,
  jsonRows(json, columns) {
    const typed = Object.entries(columns).map(([column, type]) => `${column} ${POSTGRES_TYPES[type]}`);
    return `(select * from json_to_recordset(${json}::json) as q (${typed.join(', ')}))`;
  },
  forUpdate: 'for update',
  parameter(name, names) {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  },
};

function tuple(parts: readonly string[]): string {
  return parts.length === 1 ? `${parts[0]}` : `(${parts.join(', ')})`;
}

/** A statement in the text of an engine, with the names of the values of its parameters. */
interface Compiled {
  readonly text: string;
  readonly names: readonly string[];
}

/** A parameter by name (`:name`), and not the type of a cast (`::text`). */
const NAMED_VALUE = /(?<!:):([a-z]\w*)/g;

/** Texts are few: those of the code, with the parts that depend on which filters are set. */
const compiled = new Map<Dialect, Map<string, Compiled>>([
  [sqlite, new Map()],
  [postgres, new Map()],
]);

export function compile(text: string, dialect: Dialect): Compiled {
  const known = compiled.get(dialect)?.get(text);
  if (known !== undefined) return known;
  const names: string[] = [];
  const statement = { text: text.replace(NAMED_VALUE, (_, name: string) => dialect.parameter(name, names)), names };
  compiled.get(dialect)?.set(text, statement);
  return statement;
}

/** The text for a row `q` of keys on Postgres: each value is a column of that row. */
export function byKeys(text: string): string {
  return text.replace(NAMED_VALUE, 'q.$1');
}

/** The values in the order of the parameters. */
export function inOrder(names: readonly string[], values: Values): readonly Bound[] {
  return names.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`a statement has no value for :${name}`);
    return value;
  });
}
