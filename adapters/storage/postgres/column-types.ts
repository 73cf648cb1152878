/** Formats and parses column values. Parsers are set per connection, because those in `pg.types` are global. */

import pg from 'pg';
import { type Instant, instantFromMicros, toMicrosecondText } from '../../../domain/instant.ts';
import type { BindInstant } from '../rows/column.ts';

const INT8 = 20;
const JSON_TEXT = 114;
const TIMESTAMPTZ = 1184;

type Parser = (text: string) => unknown;

const parsers: ReadonlyMap<number, Parser> = new Map<number, Parser>([
  // Sequence numbers and counts stay far below 2^53.
  [INT8, Number],
  [TIMESTAMPTZ, readInstant],
  // JSON columns stay text, as on SQLite.
  [JSON_TEXT, (text) => text],
]);

export const columnTypes = {
  getTypeParser: (oid: number): Parser => parsers.get(oid) ?? pg.types.getTypeParser(oid, 'text'),
};

/** The indexed part of an audience: an audience may be longer than an entry of a B-tree. */
export const AUDIENCE_KEY = 'left(audience, 512)';

export function audienceKey(audience: string): string {
  return [...audience].slice(0, 512).join('');
}

/** Six fractional digits: a Date would lose the microseconds. */
export const bindInstant: BindInstant = toMicrosecondText;

/** For example `2026-11-21 03:51:08.123456+00`, which Postgres writes under the settings of each session. */
const TIMESTAMP = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;
const MICROS_PER_MILLI = 1_000;

export function readInstant(text: string): Instant {
  // Only tampering produces such values. A verification must report them, not fail on them.
  if (text === 'infinity') return instantFromMicros(Number.POSITIVE_INFINITY);
  if (text === '-infinity' || text.endsWith('+00 BC')) return instantFromMicros(Number.NEGATIVE_INFINITY);
  const [, day, time, fraction = ''] = TIMESTAMP.exec(text) ?? [];
  if (day === undefined || time === undefined) throw new Error('a timestamp is not in ISO form and UTC');
  const micros = Number(fraction.padEnd(6, '0'));
  return instantFromMicros(Date.parse(`${day}T${time}Z`) * MICROS_PER_MILLI + micros);
}
