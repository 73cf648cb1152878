/** Applies a security event about a person (specification "POST /events"). */

import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { reasonsOnRecord, type SecurityAction } from '../../domain/signals/security-event.ts';
import { type BlockKind, isOutdated, type StatedBlock } from '../../domain/sponsors/block.ts';
import { decision, type Judgement } from './decision.ts';
import { type Effect, recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';
import { accept, isAccepted, type SignalOccurrence, type SignalVerdict, signalLock } from './signal.ts';

export interface SecuritySignal extends SignalOccurrence {
  readonly action: SecurityAction;
}

export type SecurityEventVerdict =
  | SignalVerdict
  /**
   * Its events would end tasks, place no block, and name a person of whom nothing is stored, or a session. Only a lift of the
   * same token was recorded. The caller records the rest, which names no person.
   */
  | { readonly kind: 'nothing_ended' }
  /** The receiver's block was stated later and stays. Everything else in the token was applied. */
  | { readonly kind: 'outdated'; readonly revokedTasks: number };

/** Lifts or places this receiver's block only. Blocks of other sources never change. */
export const applySecurityEvent = decision({
  name: 'apply_security_event',
  transaction: 'provider',

  locks: (signal: SecuritySignal) => [exclusive('sponsor', signal.action.sponsorKey), signalLock('ssf', signal)],

  asks: (signal) => {
    const { sponsorKey, end, block } = signal.action;
    return {
      accepted: isAccepted('ssf', signal),
      blocks: ask('blocks', sponsorKey),
      live: end && ask('live_tasks', { selection: { kind: 'sponsor', sponsorKey }, at: signal.at }),
      isKnown: end && block === undefined ? ask('person_known', sponsorKey) : undefined,
    };
  },

  judge: (signal, { accepted, blocks, live, isKnown = true }): Judgement<SecurityEventVerdict> => {
    if (accepted) return { verdict: { kind: 'repeated' }, effects: [] };
    const { at, action } = signal;
    const { sponsorKey, statedAt, end } = action;
    const own = blocks.find(({ source }) => source === 'ssf');
    const outdated = action.lift && own !== undefined && isOutdated(statedAt, own.statedAt);
    const lifted: Effect = { effect: 'remove_block', sponsorKey, source: 'ssf' };
    const ending =
      end === undefined || live === undefined
        ? undefined
        : revokeTasks(live, { at, reason: end }, { kind: 'sponsor', sponsorKey });
    const entries = reasonsOnRecord(action, { outdated, isKnown }).map(
      (reason): LedgerEntry => ({ at, event: 'sponsor.signal', sponsor: sponsorKey, decision: 'allow', reason }),
    );
    const kind = outdated ? 'outdated' : 'accepted';
    return {
      verdict: isKnown ? { kind, revokedTasks: ending?.tasks ?? 0 } : { kind: 'nothing_ended' },
      effects: [
        accept('ssf', signal),
        ...(action.lift && !outdated ? [lifted] : []),
        ...(action.block === undefined ? [] : [restated(own, action.block, signal)]),
        ...(ending?.effects ?? []),
        ...recorded(entries, ending?.ended),
      ],
    };
  },
});

/**
 * A restated block keeps the time when it was placed, and takes the time of the latest statement. Its kind may change
 * from disabled to deleted, never back: a disabled account may be purged later.
 */
function restated(own: StatedBlock | undefined, kind: BlockKind, { at, action }: SecuritySignal): Effect {
  const { sponsorKey, statedAt } = action;
  if (own === undefined) return { effect: 'put_block', sponsorKey, source: 'ssf', kind, blockedAt: at, statedAt };
  return {
    effect: 'put_block',
    ...own,
    kind: kind === 'deleted' ? 'deleted' : own.kind,
    statedAt: isOutdated(statedAt, own.statedAt) ? own.statedAt : statedAt,
  };
}
