/** A person's own pause: a block of source `self`, which only the person places and lifts. */

import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { isSignInDated, isSignInRecent, RESUME_MAX_AGE_SECONDS } from '../../domain/sessions/sign-in-age.ts';
import type { SponsorBlock } from '../../domain/sponsors/block.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type LiftVerdict, liftBlock } from '../decisions/lift-block.ts';
import { placePause, refusePause } from '../decisions/place-block.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import type { Sponsors } from '../ports/sponsors.ts';

interface Pausing {
  readonly decisions: Decisions;
  readonly sharedTime: SharedTime;
}

export interface MyPause {
  /** The person's own block; `undefined` if they have not paused their agents. */
  readonly own: SponsorBlock | undefined;
  /** Whether another source blocks the person. Only that source lifts its block. */
  readonly blockedByOthers: boolean;
}

export async function findPause(
  { sponsors }: { readonly sponsors: Pick<Sponsors, 'findBlocks'> },
  { sponsorKey }: MePerson,
): Promise<MyPause> {
  return pauseAmong(await sponsors.findBlocks(sponsorKey));
}

export type PauseOutcome =
  | { readonly kind: 'paused'; readonly own: SponsorBlock | undefined; readonly revokedTasks: number }
  /** The person could never lift the pause. Nothing was changed. */
  | { readonly kind: 'pause_not_liftable' };

/** Refuses a person whose sign-in does not say when it was: they could never lift the pause. */
export async function pauseAgents(
  { decisions, clock, sharedTime }: Pausing & { readonly clock: Clock },
  person: MePerson,
): Promise<PauseOutcome> {
  const { sponsorKey, subject } = person;
  const at = clock.now();
  if (!isSignInDated(person, at)) {
    const reason = 'pause_not_liftable';
    await decisions.decide(refusePause, { at, event: 'me.denied', sponsor: subject, decision: 'deny', reason });
    return { kind: reason };
  }
  const block = { sponsorKey, source: 'self', kind: 'disabled', blockedAt: await sharedTime.earliest() } as const;
  const { blocks, revokedTasks } = await decisions.decide(placePause, { block, reason: 'sponsor_paused' });
  return { kind: 'paused', own: pauseAmong(blocks).own, revokedTasks };
}

/** Whether the person signed in lately enough to lift the pause. */
export async function mayResume(
  { clock, sharedTime }: { readonly clock: Clock; readonly sharedTime: Pick<SharedTime, 'latest'> },
  person: MePerson,
): Promise<boolean> {
  const times = { now: clock.now(), latest: await sharedTime.latest() };
  return isSignInRecent(person, RESUME_MAX_AGE_SECONDS, times);
}

/** The verdicts that need no operator. */
export type ResumeVerdict = Exclude<LiftVerdict, 'operator_is_sponsor' | 'pending'>;

/**
 * An agent may hold an old token or session of the person: lifting the pause needs a recent sign-in. A person whom another
 * source blocks resumes nothing: their account may be in foreign hands.
 */
export async function resumeAgents(
  service: Pausing & { readonly clock: Clock },
  person: MePerson,
): Promise<ResumeVerdict> {
  const { sponsorKey, subject } = person;
  const at = service.clock.now();
  const about = { at, event: 'sponsor.unblocked', sponsor: sponsorKey } as const;
  const entry: LedgerEntry = { ...about, decision: 'allow', reason: 'sponsor_resumed' };
  const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'sponsor_block_not_owned' };
  const tooOld: LedgerEntry | undefined = (await mayResume(service, person))
    ? undefined
    : { at, event: 'me.denied', sponsor: subject, decision: 'deny', reason: 'sign_in_too_old' };
  const lift = { sponsorKey, source: 'self', onlyAlone: true, entry, refusal, tooOld } as const;
  const verdict = await service.decisions.decide(liftBlock, lift);
  if (verdict === 'operator_is_sponsor' || verdict === 'pending') throw new Error('this verdict needs an operator');
  return verdict;
}

function pauseAmong(blocks: readonly SponsorBlock[]): MyPause {
  const own = blocks.find(({ source }) => source === 'self');
  return { own, blockedByOthers: blocks.some(({ source }) => source !== 'self') };
}
