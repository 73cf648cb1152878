/** What an operator's request did, as the ledger names it (`operator.acted`). The reason's text is kept beside the ledger. */

import type { Instant } from '../instant.ts';
import type { Compared, Difference } from '../ledger/compared.ts';
import { isHashOfText, type SealedText } from '../ledger/sealed-text.ts';
import type { Operator, OperatorPerson, OperatorRole } from './operator.ts';

/** A request that changes something. */
export interface RequestedAct {
  readonly operator: Operator;
  /** The role that allows it. */
  readonly role: OperatorRole | 'key';
  /** The method and the pattern of the path, such as `DELETE /admin/tasks/{task_id}`. */
  readonly route: string;
  /** Why the operator does it. `undefined` with the admin key, which needs none. */
  readonly reason: string | undefined;
}

export interface OperatorAct extends RequestedAct {
  readonly at: Instant;
  /** The reason: the ledger holds only its `hash`. */
  readonly sealed: SealedText | undefined;
}

/** Who acted. The admin key has no name. */
export function namesOf(operator: Operator): { readonly iss: string; readonly sub: string } {
  return operator.kind === 'key' ? { iss: '', sub: '' } : { iss: operator.issuer, sub: operator.subject };
}

/** The `detail` of `operator.acted`: the text before and after the number of the first record that the act explains. */
export function actDetail({ operator, role, route, sealed }: OperatorAct): readonly [before: string, after: string] {
  const before = new URLSearchParams({ ...namesOf(operator), role, act: route, seq: '' });
  const after = new URLSearchParams({ reason: sealed?.hash ?? '' });
  return [before.toString(), `&${after}`];
}

/** The `detail` of `admin.denied` about a person without the role for a route. */
export function refusedActDetail(operator: Operator, route: string): string {
  return new URLSearchParams({ ...namesOf(operator), act: route }).toString();
}

/** The `detail` of `operator.signed_in` and `operator.signed_out`: who, with the roles of the session. */
export function sessionDetail(operator: OperatorPerson): string {
  return new URLSearchParams({ ...namesOf(operator), role: operator.roles.join(',') }).toString();
}

/** An act as it is stored. */
export interface StoredAct {
  /** The number of its record. */
  readonly seq: number;
  /** The number of the first record that it explains. */
  readonly explains: number | undefined;
  readonly iss: string;
  readonly sub: string;
  readonly role: string;
  readonly act: string;
  /** `undefined` with the admin key, and once erased. */
  readonly reason: string | undefined;
  readonly salt: string | undefined;
  readonly at: Instant;
}

/** An act as operators see it. */
export interface ShownAct extends StoredAct {
  /**
   * How the row differs from its record. It then has no reason, and its names count for nothing. Only an archived record
   * leaves the reason: it was not compared, and its hash is in the export.
   */
  readonly difference: Difference | undefined;
}

/** Compares a stored act with the `detail` of the record that has its number. */
export function comparedAct(
  digest: (text: string) => string,
  act: StoredAct,
  detail: string | undefined,
): Compared<StoredAct> {
  const how = differenceOfAct(digest, act, detail);
  if (how === undefined) return { kind: 'same', row: act, record: undefined };
  const { seq, at } = act;
  const written = how === 'no_record' ? { written: { at, seq } } : {};
  return { kind: 'differs', row: act, difference: { what: 'reason', id: String(seq), how, ...written } };
}

/** @param difference once it is judged whether the record was archived (`settled`) */
export function shownAct(act: StoredAct, difference: Difference | undefined): ShownAct {
  const isShown = difference === undefined || difference.how === 'archived';
  return isShown ? { ...act, difference } : { ...act, reason: undefined, salt: undefined, difference };
}

function differenceOfAct(
  digest: (text: string) => string,
  { iss, sub, role, act, explains, reason, salt }: StoredAct,
  detail: string | undefined,
): Difference['how'] | undefined {
  if (detail === undefined) return 'no_record';
  const recorded = new URLSearchParams(detail);
  const names = new URLSearchParams({ iss, sub, role, act, seq: String(explains ?? '') });
  for (const [name, value] of names) if (recorded.get(name) !== value) return 'names';
  if (reason === undefined || salt === undefined) return reason === salt ? undefined : 'text';
  const hash = recorded.get('reason') ?? '';
  return isHashOfText(digest, { salt, hash }, reason) ? undefined : 'text';
}
