/** Shows the claims of two tokens side by side. */

import type { Table } from './table.ts';

interface TokenView {
  readonly title: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The table is at most 98 characters wide. */
const NAME_WIDTH = 22;
const VALUE_WIDTH = 36;

/** Claims in seconds since the epoch, which are shown as a time of day. */
const MOMENTS = new Set(['iat', 'exp', 'nbf', 'auth_time', 'task.exp']);

export function claimsTable(left: TokenView, right: TokenView): Table {
  const leftClaims = flatten(left.claims);
  const rightClaims = flatten(right.claims);
  const names = [...new Set([...leftClaims.keys(), ...rightClaims.keys()])].sort(byMeaning);
  return {
    columns: [
      { title: 'claim', width: NAME_WIDTH },
      { title: left.title, width: VALUE_WIDTH },
      { title: right.title, width: VALUE_WIDTH },
    ],
    rows: names.map((name) => [name, show(name, leftClaims.get(name)), show(name, rightClaims.get(name))]),
  };
}

/** Each member of an object becomes a row, for example `act.sub`. */
function flatten(claims: Readonly<Record<string, unknown>>, prefix = ''): Map<string, unknown> {
  return new Map(
    Object.entries(claims).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? [...flatten({ ...value }, `${prefix}${name}.`)]
        : [[`${prefix}${name}`, value] as const],
    ),
  );
}

const ORDER = ['iss', 'sub', 'act', 'aud', 'scope', 'client_id', 'task', 'jti', 'iat', 'exp', 'status'];

/** Orders the claims as in ORDER. Other claims come last. */
function byMeaning(one: string, other: string): number {
  const place = (name: string) => {
    const index = ORDER.indexOf(name.split('.')[0] ?? name);
    return index === -1 ? ORDER.length : index;
  };
  return place(one) - place(other);
}

function show(name: string, value: unknown): string {
  if (value === undefined) {
    return '';
  }
  if (MOMENTS.has(name) && typeof value === 'number') {
    return `${new Date(value * 1000).toISOString().slice(11, 19)} UTC`;
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
