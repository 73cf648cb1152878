/** The records of a chain of three tasks in a ledger that a test fills, in an order and with names of its choice. */

import { makeOfferId } from '../../../domain/delegation/offer.ts';
import { makeTaskId, type TaskId } from '../../../domain/identifiers.ts';
import { offeredDetail, takenDetail } from '../../../domain/ledger/delegation-records.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { agentIdOf } from '../domain-fixtures.ts';

export type DelegationEntry = Omit<LedgerEntry, 'at'>;

const AGENTS = { planner: agentIdOf('planner'), writer: agentIdOf('writer.2'), checker: agentIdOf('checker') } as const;
type Name = keyof typeof AGENTS;
const DEPTHS: Readonly<Record<Name, number>> = { planner: 1, writer: 2, checker: 3 };
const SCOPES: Readonly<Record<Name, string>> = { planner: 'a b c', writer: 'a b', checker: 'b' };

/** The id of the task of each agent. A test with several trees gives each another letter. */
export const taskOf = (name: Name, tree = '0'): TaskId => makeTaskId(`01M31S7W68TMK7WDX8YKPSYT${tree}${DEPTHS[name]}`);
export const offerOf = (nth: number, tree = '0'): string => makeOfferId(`01M31S7W68TMK7WDX8YKPSYT${tree}${nth}`);

/** Steps of one tree. `changes` are names that the others do not have. */
export function stepsOf(tree = '0') {
  const entry = (event: LedgerEntry['event'], name: Name, changes: Partial<LedgerEntry> = {}): DelegationEntry => ({
    event,
    taskId: taskOf(name, tree),
    agentId: AGENTS[name],
    sponsor: `ada-${tree}`,
    audience: 'https://jira.example',
    scope: SCOPES[name],
    delegationDepth: DEPTHS[name],
    decision: 'allow',
    ...changes,
  });
  return {
    issued: (name: Name, changes?: Partial<LedgerEntry>) => entry('token.issued', name, changes),
    refreshed: (name: Name, changes?: Partial<LedgerEntry>) => entry('token.refreshed', name, changes),
    ended: (name: Name) => entry('task.revoked', name, { reason: 'operator_kill_switch' }),
    /** An offer of as much as the other agent takes. */
    offered: (by: Name, to: Name, nth: number, changes?: Partial<LedgerEntry>) =>
      entry('delegation.offered', by, {
        scope: SCOPES[to],
        detail: offeredDetail(offerOf(nth, tree), AGENTS[to]),
        ...changes,
      }),
    taken: (name: Name, by: Name, nth: number, changes?: Partial<LedgerEntry>) =>
      entry('delegation.taken', name, { detail: takenDetail(offerOf(nth, tree), taskOf(by, tree)), ...changes }),
  };
}

type Steps = ReturnType<typeof stepsOf>;
type History = (steps: Steps) => readonly DelegationEntry[];

const begun: History = ({ issued }) => [issued('planner')];
const handed: History = (s) => [...begun(s), s.offered('planner', 'writer', 1), s.issued('writer')];
const child: History = (s) => [...handed(s), s.taken('writer', 'planner', 1)];
const chain: History = (s) => [
  ...child(s),
  ...[s.offered('writer', 'checker', 2), s.issued('checker'), s.taken('checker', 'writer', 2)],
];

/** What honest services record. */
export const ORDERLY: Readonly<Record<string, History>> = {
  'a task that only offers': (s) => [...begun(s), s.offered('planner', 'writer', 1), s.ended('planner')],
  'a task below another one': child,
  'a chain of three, renewed': (s) => [...chain(s), s.refreshed('checker'), s.refreshed('writer')],
  'a chain that ends from above': (s) => [...chain(s), s.ended('planner'), s.ended('writer'), s.ended('checker')],
  'a chain that ends from below': (s) => [...chain(s), s.ended('checker'), s.ended('writer'), s.ended('planner')],
  'renewals that are counted after the end above': (s) => [
    ...[...child(s), s.ended('planner'), s.refreshed('writer', { count: 3 }), s.ended('writer')],
  ],
  'fewer scopes than were offered': (s) => [
    ...[...begun(s), s.offered('planner', 'writer', 1), s.issued('writer', { scope: 'b' })],
    s.taken('writer', 'planner', 1, { scope: 'b' }),
  ],
  'an instance of the same agent': (s) => [
    ...[...begun(s), s.offered('planner', 'planner', 1, { scope: 'a b' })],
    ...[s.issued('writer', { agentId: AGENTS.planner }), s.taken('writer', 'planner', 1, { agentId: AGENTS.planner })],
  ],
};

const other =
  (changes: Partial<LedgerEntry>): History =>
  (s) => [
    ...[...begun(s), s.offered('planner', 'writer', 1), s.issued('writer', changes)],
    s.taken('writer', 'planner', 1, changes),
  ];

/** What only changed rows lead to: the problem, and the number of the step that shows it. */
export const CONTRADICTORY: Readonly<Record<string, readonly [History, string, number]>> = {
  'taken up without an offer': [
    (s) => [...begun(s), s.issued('writer'), s.taken('writer', 'planner', 1)],
    'no_offer',
    2,
  ],
  'taken up before its offer': [
    (s) => [...begun(s), s.issued('writer'), s.taken('writer', 'planner', 1), s.offered('planner', 'writer', 1)],
    ...(['no_offer', 2] as const),
  ],
  'taken up without a token': [
    (s) => [...begun(s), s.offered('planner', 'writer', 1), s.taken('writer', 'planner', 1)],
    ...(['no_token', 2] as const),
  ],
  'a token that names more than its hand-over': [
    (s) => [
      ...[...begun(s), s.offered('planner', 'writer', 1), s.issued('writer', { scope: 'a b c' })],
      s.taken('writer', 'planner', 1),
    ],
    ...(['no_token', 3] as const),
  ],
  'one offer taken up twice': [
    (s) => [...child(s), s.issued('checker', { delegationDepth: 2 }), s.taken('checker', 'planner', 1)],
    ...(['twice', 5] as const),
  ],
  'one offer made twice': [
    (s) => [...begun(s), s.offered('planner', 'writer', 1), s.offered('planner', 'checker', 1)],
    ...(['twice', 2] as const),
  ],
  'an offer made again after it was taken up': [(s) => [...child(s), s.offered('planner', 'writer', 1)], 'twice', 4],
  'taken up by another agent': [other({ agentId: AGENTS.checker }), 'other_terms', 3],
  'taken up for another person': [other({ sponsor: 'mallory' }), 'other_terms', 3],
  'taken up at another tool server': [other({ audience: 'https://other.example' }), 'other_terms', 3],
  'taken up with more scopes': [other({ scope: 'a b c' }), 'other_terms', 3],
  'taken up too deep': [other({ delegationDepth: 3 }), 'other_terms', 3],
  'taken up under another task': [
    (s) => [...chain(s), s.offered('planner', 'writer', 3), s.issued('writer'), s.taken('writer', 'writer', 3)],
    ...(['no_offer', 9] as const),
  ],
  'taken up after the end of the task above': [
    (s) => [...handed(s), s.ended('planner'), s.taken('writer', 'planner', 1)],
    ...(['not_live', 4] as const),
  ],
  'taken up after the end of the first task': [
    (s) => [
      ...[...child(s), s.offered('writer', 'checker', 2), s.ended('planner')],
      ...[s.issued('checker'), s.taken('checker', 'writer', 2)],
    ],
    ...(['not_live', 7] as const),
  ],
  'an offer of a task that has ended': [
    (s) => [...begun(s), s.ended('planner'), s.offered('planner', 'writer', 1)],
    ...(['not_live', 2] as const),
  ],
  'an offer below a task that has ended': [
    (s) => [...child(s), s.ended('planner'), s.offered('writer', 'checker', 2)],
    ...(['not_live', 5] as const),
  ],
  'a renewal below a task that has ended': [
    (s) => [...chain(s), s.ended('planner'), s.refreshed('checker')],
    ...(['not_live', 8] as const),
  ],
  'another token below a task that has ended': [
    (s) => [...child(s), s.ended('planner'), s.issued('writer')],
    ...(['not_live', 5] as const),
  ],
};

/** Of {@link CONTRADICTORY}: where other records may be missing, these may have other records before them. */
export const EXPLAINED_BY_OTHERS: ReadonlySet<string> = new Set([
  ...[
    'taken up without an offer',
    'taken up before its offer',
    'taken up without a token',
    'taken up under another task',
  ],
  'an offer of a task that has ended',
]);
