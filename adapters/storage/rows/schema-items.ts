/**
 * Compares a schema with the one that the migrations of this release make. A schema is a list of items. Names that the
 * migrations do not know are left alone: other tables, and indexes that only make queries faster.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { IS_FOREIGN } from './migrations.ts';

export interface SchemaItem {
  /** For example `column`; it begins a sentence about the item. */
  readonly kind: string;
  /** The table, or the sequence or function itself. */
  readonly of: string;
  /** The name within the table; empty for the table, sequence or function itself. */
  readonly name: string;
  /** What is compared, for example `text not null`. */
  readonly is: string;
}

/** Kinds whose definition is short enough to be named. */
const NAMED: readonly string[] = ['column', 'table'];

/** A text of a table, in which also its checks are compared. It is named only where nothing else of the table differs. */
export const DEFINITION = 'definition';

/** One sentence for each difference. */
export function schemaDifferences(made: readonly SchemaItem[], found: readonly SchemaItem[]): readonly string[] {
  const foundByKey = new Map(found.map((item) => [keyOf(item), item]));
  const madeKeys = new Set(made.map(keyOf));
  const isWithTable = ({ of, name }: SchemaItem) =>
    name === '' || found.some((one) => one.of === of && one.name === '');
  const differing = [
    ...made.filter(isWithTable).map((item) => ({ item, what: differenceOf(item, foundByKey.get(keyOf(item))) })),
    ...found
      .filter((item) => !madeKeys.has(keyOf(item)))
      .map((item) => ({ item, what: `${nameOf(item)} ${IS_FOREIGN}` })),
  ].filter(({ what }) => what !== undefined);
  const precise = new Set(differing.filter(({ item }) => item.kind !== DEFINITION).map(({ item }) => item.of));
  return differing.flatMap(({ item, what }) =>
    what === undefined || (item.kind === DEFINITION && precise.has(item.of)) ? [] : [what],
  );
}

function differenceOf(item: SchemaItem, found: SchemaItem | undefined): string | undefined {
  if (found === undefined) return `${nameOf(item)} is missing`;
  if (found.is === item.is) return undefined;
  return NAMED.includes(item.kind)
    ? `${nameOf(item)} is ${found.is}, and the migrations make it ${item.is}`
    : `${nameOf(item)} is not as the migrations make it`;
}

function nameOf({ kind, of, name }: SchemaItem): string {
  return name === '' ? `the ${kind} ${of}` : `the ${kind} ${name} of the table ${of}`;
}

export function keyOf({ kind, of, name }: SchemaItem): string {
  return JSON.stringify([kind, of, name]);
}

/** Thrown by a migration that found differences, which it does not mend. */
export function schemaDiffers(differences: readonly string[]): StorageUnavailable {
  return new StorageUnavailable('The schema is not as the migrations make it', {
    fault: {
      code: 'SCHEMA_DIFFERS',
      meaning: `the schema is not as the migrations make it, and nothing was changed: ${differences.join('; ')}`,
      act: 'See docs/upgrading.md ("A schema that was changed").',
    },
  });
}
