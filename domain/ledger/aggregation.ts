/**
 * How anonymous denials are summed up (specification "Aggregation"). The first denial of an event, reason and detail opens a
 * window and gets its own record. Later ones are counted, and one summary states the count. Any caller can cause any
 * number of anonymous denials, so the ledger must not grow with them.
 *
 * The counts are kept in memory: a crash loses those of the open windows. Events, reasons and details are fixed words, so
 * callers cannot make the number of windows grow.
 */

import type { DenialReason } from '../denial.ts';
import { type Instant, secondsBetween } from '../instant.ts';
import type { SignInDenial } from '../sign-in-denial.ts';
import type { LogoutDenialReason } from '../signals/logout-token.ts';
import type { SecurityEventDenialReason } from '../signals/security-event.ts';
import type { WITHOUT_EFFECT } from '../signals/without-effect.ts';
import type { MeDenialReason } from '../sponsors/me-person.ts';
import type { LedgerEvent } from './record.ts';

/** The `.denied` events; each belongs to one surface. */
export type DenialEvent = Extract<LedgerEvent, `${string}.denied`>;

/** The reasons of a 401 from a surface with a single bearer credential (supplement "Reasons"). */
export type CredentialDenialReason = 'missing_api_key' | 'invalid_api_key';

/** The fields of an anonymous denial's record. None of them comes from the request. */
export interface AnonymousDenial {
  /** A signal is one if it names no person who is known. */
  readonly event: DenialEvent | 'sponsor.signal';
  readonly reason:
    | DenialReason
    | CredentialDenialReason
    | LogoutDenialReason
    | SecurityEventDenialReason
    | MeDenialReason
    | SignInDenial
    | typeof WITHOUT_EFFECT.ssf;
  readonly detail?: string | undefined;
}

export interface Summary extends AnonymousDenial {
  /** The number of denials without their own record; at least one. */
  readonly count: number;
}

type Occurrence =
  /** The first denial of a window. Write the summary of the ended window first, if there is one, and then this denial. */
  { readonly kind: 'first'; readonly ended: Summary | undefined } | { readonly kind: 'counted' };

export interface Aggregation {
  occurred(denial: AnonymousDenial, now: Instant): Occurrence;
  /** Removes and returns the summaries of the ended windows, and the counts whose summaries failed. */
  takeEnded(now: Instant): readonly Summary[];
  /** Removes and returns the summaries of all windows, open ones included. */
  takeAll(): readonly Summary[];
  /** Takes back denials that could not be written: the next summary includes them. */
  giveBack(denial: AnonymousDenial, count: number): void;
}

interface Window {
  readonly denial: AnonymousDenial;
  /** The time of the first denial; `undefined` for a window with only the count of a failed summary. */
  readonly openedAt: Instant | undefined;
  counted: number;
}

/** @param windowSeconds how long a window lasts from its first denial */
export function aggregation(windowSeconds: number): Aggregation {
  const windows = new Map<string, Window>();

  const isOpen = ({ openedAt }: Window, now: Instant): boolean => {
    if (openedAt === undefined) return false;
    const age = secondsBetween(openedAt, now);
    // A clock that was set back (negative age) must not keep the window open.
    return age >= 0 && age < windowSeconds;
  };

  const take = (which: (window: Window) => boolean): readonly Summary[] => {
    const taken = [...windows].filter(([, window]) => which(window));
    for (const [key] of taken) windows.delete(key);
    return taken.flatMap(([, { denial, counted }]) => (counted === 0 ? [] : [{ ...denial, count: counted }]));
  };

  return {
    occurred(given, now) {
      const denial = fieldsOf(given);
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

    giveBack(given, count) {
      const denial = fieldsOf(given);
      const window = windows.get(keyOf(denial));
      // If no window is open, do not open one: the next denial would then be counted instead of recorded.
      if (window === undefined) windows.set(keyOf(denial), { denial, openedAt: undefined, counted: count });
      else window.counted += count;
    },
  };
}

function fieldsOf({ event, reason, detail }: AnonymousDenial): AnonymousDenial {
  return { event, reason, ...(detail === undefined ? {} : { detail }) };
}

function keyOf({ event, reason, detail = '' }: AnonymousDenial): string {
  return `${event} ${reason} ${detail}`;
}
