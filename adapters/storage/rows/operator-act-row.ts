/** Rows of `operator_acts`: how both engines write and read them. */

import type { Compared } from '../../../domain/ledger/compared.ts';
import { comparedAct, namesOf, type OperatorAct, type StoredAct } from '../../../domain/operators/operator-act.ts';
import type { otherTables } from '../tables.ts';
import { type BindInstant, type Bound, type ReadRow, storable, storableOrNull } from './column.ts';
import { sha256 } from './recorded.ts';

export interface OperatorActRow extends ReadRow<typeof otherTables.operator_acts> {
  /** The `detail` of its record. */
  readonly record: string | null;
}

/** The columns that come from the act. The engine adds `seq` and `explains`. */
export const actColumns = ['iss', 'sub', 'role', 'act', 'reason', 'salt', 'at'] as const;

export function actRow(
  { operator, role, route, reason, sealed, at }: OperatorAct,
  instant: BindInstant,
): Readonly<Record<(typeof actColumns)[number], Bound>> {
  const { iss, sub } = namesOf(operator);
  return {
    iss: storable('iss', iss),
    sub: storable('sub', sub),
    role,
    act: route,
    reason: storableOrNull('reason', reason),
    salt: sealed?.salt ?? null,
    at: instant(at),
  };
}

export function toStoredAct({ explains, reason, salt, record, ...row }: OperatorActRow): Compared<StoredAct> {
  const act = { ...row, explains: explains ?? undefined, reason: reason ?? undefined, salt: salt ?? undefined };
  return comparedAct(sha256, act, record ?? undefined);
}
