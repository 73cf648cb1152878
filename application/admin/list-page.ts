/** Reads a page of a list for operators, and its cursor. */

import { formatListCursor, type ListCursor } from '../../domain/list-cursor.ts';
import { fingerprint } from '../ledger/query.ts';
import type { Digest } from '../ports/runtime.ts';

export interface PageQuestion {
  readonly limit: number;
  /** Where the previous page ended. */
  readonly cursor: ListCursor | undefined;
}

export type ListPage<Item> =
  | {
      readonly kind: 'page';
      readonly items: readonly Item[];
      /** `undefined` on the last page. */
      readonly nextCursor: string | undefined;
    }
  /** The cursor belongs to another query. */
  | { readonly kind: 'foreign_cursor' };

interface List<Item, Position> {
  /** The name of the list, and its filters. */
  readonly query: readonly [name: string, ...filters: (string | undefined)[]];
  /** `undefined` if the cursor holds no position of this list. */
  parse(position: readonly string[]): Position | undefined;
  read(after: Position | undefined, limit: number): Promise<readonly Item[]>;
  positionOf(item: Item): readonly string[];
}

export async function listPage<Item, Position>(
  digest: Digest,
  { query, parse, read, positionOf }: List<Item, Position>,
  { limit, cursor }: PageQuestion,
): Promise<ListPage<Item>> {
  const ours = fingerprint(digest, query);
  const after = cursor?.fingerprint === ours ? parse(cursor.position) : undefined;
  if (cursor !== undefined && after === undefined) return { kind: 'foreign_cursor' };
  // Read one more than the limit: it tells whether another page follows.
  const found = await read(after, limit + 1);
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  const nextCursor = last && formatListCursor({ fingerprint: ours, position: positionOf(last) });
  return { kind: 'page', items, nextCursor };
}
