/** What is run on a connection and what comes back, the same on both engines. */

/** A query made with Knex's builder. */
export interface Built {
  toSQL(): { toNative(): { readonly sql: string; readonly bindings: readonly unknown[] } };
}

export interface Rows<Row> {
  readonly rows: readonly Row[];
  /** Rows returned, or else changed. */
  readonly count: number;
}
