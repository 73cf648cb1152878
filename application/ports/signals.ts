import type { Instant } from '../../domain/instant.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import type { SecurityAction } from '../../domain/signals/security-event.ts';
import type { SignalUse } from '../../domain/signals/signal-claims.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';

/** A verified signal, which is acted on once. */
export interface SignalOccurrence extends SignalUse {
  /** Whose `jti` it is. */
  readonly issuer: string;
  /** When it was accepted. */
  readonly at: Instant;
}

export interface LogoutSignal extends SignalOccurrence {
  readonly loggedOut: LoggedOut;
  /** Present where subject tokens from before the logout are refused from now on. */
  readonly remember?: RememberedLogout | undefined;
}

export interface RememberedLogout {
  /** The logout token's `iat`, a whole second of the provider's clock. */
  readonly statedAt: Instant;
  /** When the logout stops to refuse subject tokens. */
  readonly forgetAt: Instant;
}

/** What a subject token says of the sign-in that it comes from. */
export type SubjectSession = Pick<Person, 'subject' | 'sessionId' | 'issuedAt'>;

export interface SecuritySignal extends SignalOccurrence {
  readonly action: SecurityAction;
}

export type SignalResult =
  /** A signal with this `jti` was accepted before: nothing was written. */
  { readonly kind: 'repeated' } | { readonly kind: 'accepted'; readonly revokedTasks: number };

export type SecurityEventResult =
  | SignalResult
  /** Accepted, but this receiver's block was stated later: it was not lifted. All else that the token says was done. */
  | { readonly kind: 'outdated'; readonly revokedTasks: number };

/**
 * What others tell us of a person. Each method is one decision in one transaction: it waits for exchanges about the
 * person or the session that are under way, remembers the signal's `jti` until `forgetAt`, does what the signal means,
 * and appends `sponsor.signal` before what Tasks.revokeByGrant says of each task that it ends. Of two equal signals at
 * once one is acted on, the other is `repeated`. A task whose time is up is not ended.
 *
 * All methods may throw StorageUnavailable; whether the signal was acted on is then unknown, and it may be sent again.
 */
export interface Signals {
  /**
   * Ends the live tasks of the session, whoever's they are, or else those of the person (by `sub`, whatever the sponsor
   * key claim is), with `sponsor_logged_out`. Blocks nobody. The record names the person when the signal does, else the
   * one whose tasks it ended, or nobody when it ended none. With `remember`, Tasks.open refuses the tokens of the session,
   * or those of the person that are not from after `statedAt`. Of several logouts the latest times count.
   */
  logOut(signal: LogoutSignal): Promise<SignalResult>;

  /**
   * Lifts this receiver's block of the person unless it was stated later (`isOutdated`), or places one. Blocks of other
   * sources are never touched. A block that is restated keeps the time when it was placed and takes the time of the
   * latest statement; a disabled person may become a deleted one, never the reverse. Ends the person's live tasks when
   * `end` says why. Appends a `sponsor.signal` for each of `reasonsOnRecord`.
   */
  applySecurityEvent(signal: SecuritySignal): Promise<SecurityEventResult>;
}
