import type { Instant } from '../../domain/instant.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import type { SecurityAction } from '../../domain/signals/security-event.ts';
import type { SignalUse } from '../../domain/signals/signal-claims.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';

/** A verified signal, and its one use. */
export interface SignalOccurrence extends SignalUse {
  /** The issuer of the `jti`. */
  readonly issuer: string;
  /** The time of acceptance. */
  readonly at: Instant;
}

export interface LogoutSignal extends SignalOccurrence {
  readonly loggedOut: LoggedOut;
  /** Set if subject tokens from before the logout are to be refused. */
  readonly remember?: RememberedLogout | undefined;
}

export interface RememberedLogout {
  /** The logout token's `iat`, a whole second of the provider's clock. */
  readonly statedAt: Instant;
  /** When this logout stops refusing subject tokens. */
  readonly forgetAt: Instant;
}

/** A subject token's sign-in: its person, session and time. */
export type SubjectSession = Pick<Person, 'subject' | 'sessionId' | 'issuedAt'>;

export interface SecuritySignal extends SignalOccurrence {
  readonly action: SecurityAction;
}

export type SignalResult =
  /** A signal with this `jti` was accepted before; nothing was written. */
  { readonly kind: 'repeated' } | { readonly kind: 'accepted'; readonly revokedTasks: number };

export type SecurityEventResult =
  | SignalResult
  /** The receiver's block was stated later and stays. Everything else in the token was applied. */
  | { readonly kind: 'outdated'; readonly revokedTasks: number };

/**
 * Signals about people from other systems. Each method is one decision in one transaction:
 * - It waits for running exchanges about the person or the session.
 * - It remembers the signal's `jti` until `forgetAt`. Of two concurrent equal signals, one is `repeated`.
 * - It applies the signal. A task whose time is up is not ended.
 * - It appends `sponsor.signal`, and then the entries of each ended task as Tasks.revokeByGrant says.
 *
 * All methods may throw StorageUnavailable; whether the signal was applied is then unknown, and it may be sent again.
 */
export interface Signals {
  /**
   * Ends the live tasks of the session, of whichever person, or without a session those of the person, with
   * `sponsor_logged_out`. The person is found by `sub`, whichever claim is the sponsor key. No block is placed.
   *
   * The record names the person of the signal; without one, the person whose tasks ended; without any, no person. With
   * `remember`, Tasks.open refuses the session's subject tokens, or those of the person that were not issued after
   * `statedAt`. Of several logouts the latest times count.
   */
  logOut(signal: LogoutSignal): Promise<SignalResult>;

  /**
   * Lifts this receiver's block of the person unless it was stated later (`isOutdated`), or places one. Blocks of other
   * sources never change. A restated block keeps the time when it was placed, and takes the time of the latest
   * statement. Its kind may change from disabled to deleted, never back. If `end` is set, the person's live tasks end
   * with it. Appends a `sponsor.signal` for each of `reasonsOnRecord`.
   */
  applySecurityEvent(signal: SecuritySignal): Promise<SecurityEventResult>;
}
