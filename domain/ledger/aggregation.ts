/**
 * How denials that name nobody are aggregated (specification "Aggregation"): by event and reason, the first of a window
 * is a record of its own, the others are counted, and one summary says how many they were. Anybody can cause such
 * denials, as many as they like, so the ledger must not grow with them.
 *
 * Kept in memory: a crash loses what one window counted. Events and reasons are closed sets of fixed words, so there are
 * only so many windows whatever is sent.
 */

import type { DenialReason } from '../denial.ts';
import { type Instant, secondsBetween } from '../instant.ts';
import type { LogoutDenialReason } from '../signals/logout-token.ts';
import type { SecurityEventDenialReason } from '../signals/security-event.ts';
import type { LedgerEvent } from './record.ts';

/** The events of a denial, each that of the surface it happened on. */
export type DenialEvent = Extract<LedgerEvent, `${string}.denied`>;

/** What a surface with one bearer credential answers 401 with (decisions "Reasons"). */
export type CredentialDenialReason = 'missing_api_key' | 'invalid_api_key';

/** All that the record of a denial that names nobody says: nothing that was sent. */
export interface AnonymousDenial {
  readonly event: DenialEvent;
  readonly reason: DenialReason | CredentialDenialReason | LogoutDenialReason | SecurityEventDenialReason;
}

export interface Summary extends AnonymousDenial {
  /** Occurrences that have no record of their own; at least one. */
  readonly count: number;
}

type Occurrence =
  /** It opens a window: write it, after what the window before it counted, if anything. */
  { readonly kind: 'first'; readonly ended: Summary | undefined } | { readonly kind: 'counted' };

export interface Aggregation {
  occurred(denial: AnonymousDenial, now: Instant): Occurrence;
  /** What windows counted that have ended by now, and what is owed from earlier: handed over to be written. */
  takeEnded(now: Instant): readonly Summary[];
  /** The same of every window; they end by it. */
  takeAll(): readonly Summary[];
  /** Occurrences that could not be written: they are counted into the next summary. */
  giveBack(denial: AnonymousDenial, count: number): void;
}

interface Window {
  readonly denial: AnonymousDenial;
  /** When its first occurrence was; `undefined` when it has ended and only its count is left. */
  readonly openedAt: Instant | undefined;
  counted: number;
}

/** @param windowSeconds how long a window lasts from its first occurrence */
export function aggregation(windowSeconds: number): Aggregation {
  const windows = new Map<string, Window>();

  const isOpen = ({ openedAt }: Window, now: Instant): boolean => {
    if (openedAt === undefined) return false;
    const age = secondsBetween(openedAt, now);
    // A clock that was put back must not keep a window open for as long.
    return age >= 0 && age < windowSeconds;
  };

  const take = (which: (window: Window) => boolean): readonly Summary[] => {
    const taken = [...windows].filter(([, window]) => which(window));
    for (const [key] of taken) windows.delete(key);
    return taken.flatMap(([, { denial, counted }]) => (counted === 0 ? [] : [{ ...denial, count: counted }]));
  };

  return {
    occurred({ event, reason }, now) {
      const denial = { event, reason };
      const key = keyOf(denial);
      const window = windows.get(key);
      if (window !== undefined && isOpen(window, now)) {
        window.counted += 1;
        return { kind: 'counted' };
      }
      const counted = window?.counted ?? 0;
      windows.set(key, { denial, openedAt: now, counted: 0 });
      return { kind: 'first', ended: counted === 0 ? undefined : { ...denial, count: counted } };
    },

    takeEnded: (now) => take((window) => !isOpen(window, now)),

    takeAll: () => take(() => true),

    giveBack({ event, reason }, count) {
      const denial = { event, reason };
      const window = windows.get(keyOf(denial));
      // With no window open a new one would hold back the next denial's own record.
      if (window === undefined) windows.set(keyOf(denial), { denial, openedAt: undefined, counted: count });
      else window.counted += count;
    },
  };
}

function keyOf({ event, reason }: AnonymousDenial): string {
  return `${event} ${reason}`;
}
