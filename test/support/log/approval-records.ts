/** The records of an approval in a ledger that a test fills, in an order and with names of its choice. */

import { approvalDetail } from '../../../domain/approvals/approval.ts';
import { makeApprovalId } from '../../../domain/identifiers.ts';
import type { LedgerEntry, LedgerEvent } from '../../../domain/ledger/record.ts';
import { agentIdOf } from '../domain-fixtures.ts';

type Named = Partial<LedgerEntry> & { readonly digest?: string; readonly commitment?: string };

/** One event, or one with other names than the other records of the approval have. */
export type ApprovalStep = string | readonly [string, Named];

export const APPROVAL_ID = makeApprovalId('01M31S7W68TMK7WDX8YKPSYTES');

export function approvalEntries(steps: readonly ApprovalStep[], about: Partial<LedgerEntry>): readonly LedgerEntry[] {
  return steps.map((step, nth) => {
    const [event, { digest = 'd'.repeat(43), commitment = 'c'.repeat(64), ...names }] =
      typeof step === 'string' ? [step, {} as Named] : step;
    return {
      at: (nth * 1000) as never,
      agentId: agentIdOf('payer'),
      sponsor: 'ada',
      audience: 'https://bank.example',
      decision: 'allow',
      detail: approvalDetail({ approvalId: APPROVAL_ID, digest, commitment }),
      ...about,
      event: `approval.${event}` as LedgerEvent,
      ...names,
    };
  });
}

/** What honest services record. */
export const ORDERLY: readonly (readonly ApprovalStep[])[] = [
  ['requested'],
  ['requested', 'refused'],
  ['requested', 'expired'],
  ['requested', 'withdrawn'],
  ['requested', 'granted'],
  ['requested', 'granted', 'used'],
  ['requested', 'granted', 'expired'],
  ['requested', 'granted', 'withdrawn'],
];

/** What only changed rows lead to: the problem, and the number of the step that shows it. */
export const CONTRADICTORY: Readonly<Record<string, readonly [readonly ApprovalStep[], string, number]>> = {
  'used without a yes': [['requested', 'used'], 'order', 1],
  'used twice': [['requested', 'granted', 'used', 'used'], 'order', 3],
  'a yes said twice': [['requested', 'granted', 'granted'], 'order', 2],
  'a yes after a no': [['requested', 'refused', 'granted'], 'order', 2],
  'a yes after it had expired': [['requested', 'expired', 'granted'], 'order', 2],
  'a yes after the use': [['requested', 'granted', 'used', 'granted'], 'order', 3],
  'used after it was withdrawn': [['requested', 'granted', 'withdrawn', 'used'], 'order', 3],
  'asked twice': [['requested', 'requested'], 'order', 1],
  'a use of another digest': [['requested', 'granted', ['used', { digest: 'e'.repeat(43) }]], 'other_names', 2],
  'a yes with another commitment': [['requested', ['granted', { commitment: 'e'.repeat(64) }]], 'other_names', 1],
  'a yes of another person': [['requested', ['granted', { sponsor: 'mallory' }]], 'other_names', 1],
  'a use by another agent': [['requested', 'granted', ['used', { agentId: agentIdOf('other') }]], 'other_names', 2],
  'a use at another tool server': [
    ['requested', 'granted', ['used', { audience: 'https://other.example' }]],
    'other_names',
    2,
  ],
};

/** Accepted only where older records may be missing. */
export const WITHOUT_REQUEST: readonly (readonly ApprovalStep[])[] = [
  ['granted'],
  ['granted', 'used'],
  ['used'],
  ['refused'],
  ['expired'],
];
