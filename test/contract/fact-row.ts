/** A row of the matrix of facts: the effects that store its rows, and what the fact then answers. */

import type { Effect, TaskEnd } from '../../application/decisions/effect.ts';
import type { About, Answer, FactName } from '../../application/decisions/fact.ts';
import { asked, type aTask, end } from './effect-row.ts';
import { LATER } from './world.ts';

export interface FactRow<Name extends FactName> {
  readonly given: readonly Effect[];
  /** For answers whose order no decision uses. */
  sorted?(answer: Answer<Name>): Answer<Name>;
  readonly answers: readonly (readonly [about: About<Name>, answer: Answer<Name>])[];
}

export const row =
  <Name extends FactName>(name: Name, made: () => FactRow<Name>) =>
  () => {
    asked.add(name);
    return { name, ...made() };
  };

export type FactRows = Readonly<Record<string, () => FactRow<FactName> & { readonly name: FactName }>>;

export type Stored = ReturnType<typeof aTask>;
export const given = (stored: readonly Stored[]) => stored.flatMap((each): readonly Effect[] => each.given);
export const idOf = ({ task }: Stored) => task.taskId;
export const ended = (how: TaskEnd, stored: readonly Stored[], at = LATER): Effect => ({
  effect: 'end_tasks',
  tasks: stored.map((each) => ({ taskId: idOf(each), end: how })),
  at,
  renewalsEvent: 'token.refreshed',
  withdrawnEvent: 'approval.withdrawn',
});
export const KILLED = end('revoked', 'operator_kill_switch');
