/** Rows of `operator_acts`: how both engines write and read them. */

import type { Knex } from 'knex';
import type { ActsQuestion } from '../../../application/ports/queries.ts';
import type { Instant } from '../../../domain/instant.ts';
import { namesOf, type OperatorAct, type StoredAct } from '../../../domain/operators/operator-act.ts';
import { type BindInstant, type Bound, storable, storableOrNull } from './column.ts';

export interface OperatorActRow {
  readonly seq: number;
  readonly explains: number | null;
  readonly iss: string;
  readonly sub: string;
  readonly role: string;
  readonly act: string;
  readonly reason: string | null;
  readonly salt: string | null;
  readonly at: Instant;
}

/** The columns that come from the act. The engine adds `seq` and `explains`. */
export const actColumns = ['iss', 'sub', 'role', 'act', 'reason', 'salt', 'at'] as const;

export function actRow(
  { operator, role, route, reason, sealed, at }: OperatorAct,
  instant: BindInstant,
): Readonly<Record<(typeof actColumns)[number], Bound>> {
  const { iss, sub } = namesOf(operator);
  return {
    ...{ iss: storable('iss', iss), sub: storable('sub', sub), role, act: route },
    ...{ reason: storableOrNull('reason', reason), salt: sealed?.salt ?? null, at: instant(at) },
  };
}

/** While one act writes its records, fewer others begin: the act that explains a record is among so many. */
const BEGUN_MEANWHILE = 1000;

/** Newest first. */
export function selectActs(knex: Knex, { seq, subject, before, limit }: ActsQuestion): Knex.QueryBuilder {
  const acts = knex.select('seq', 'explains', ...actColumns).from('operator_acts');
  const select = knex.select('*').orderBy('seq', 'desc').limit(limit);
  if (seq === undefined) select.from('operator_acts');
  else {
    // The records of an act lie between its first one and its own.
    const explaining = acts.clone().where('explains', '<=', seq).orderBy('explains', 'desc').limit(BEGUN_MEANWHILE);
    const own = acts.clone().where({ seq });
    select.from(knex.union([knex.select('*').from(explaining.as('e')).where('seq', '>=', seq), own]).as('a'));
  }
  if (subject !== undefined) select.where('sub', storable('sub', subject));
  if (before !== undefined) select.where('seq', '<', before);
  return select;
}

export function toStoredAct({ explains, reason, salt, ...row }: OperatorActRow): StoredAct {
  return { ...row, explains: explains ?? undefined, reason: reason ?? undefined, salt: salt ?? undefined };
}
