/**
 * Applies a logout: ends the tasks of a session or a person, and their sessions at our pages (specification
 * "POST /backchannel-logout").
 */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { type SessionKind, sessionKinds } from '../../domain/sessions/session.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { WITHOUT_EFFECT } from '../../domain/signals/without-effect.ts';
import { decision, type Judgement } from './decision.ts';
import { type Effect, recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask, type LiveTasks, type LogoutName, type LogoutTimes, type TaskSelection } from './fact.ts';
import { exclusive } from './lock.ts';
import { signOut } from './sessions.ts';
import { accept, isAccepted, type SignalOccurrence, signalLock } from './signal.ts';

export interface LogoutSignal extends SignalOccurrence {
  readonly loggedOut: LoggedOut;
  /** Set if subject tokens from before the logout are to be refused. */
  readonly remember?: RememberedLogout | undefined;
  /** Whether no task ends: the logout token is not for the client whose people start tasks. */
  readonly keepsTasks?: boolean;
  /**
   * `Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession`: if the signal names a person and a session, the
   * person's tasks without a session end too, and `remember` covers the person's tokens without `sid`.
   */
  readonly endsTasksWithoutSession?: boolean;
  /** The kinds whose page it is for: their sessions close, and sign-ins from before the logout are refused. */
  readonly closes?: Readonly<Partial<Record<SessionKind, RememberedLogout | undefined>>>;
  /**
   * Whether the operators' own provider sent it, and it is not the upstream one: agents do not act for the person who
   * logged out.
   */
  readonly isOfOperators?: boolean;
}

interface RememberedLogout {
  /** The logout token's `iat`, a whole second of the provider's clock. */
  readonly statedAt: Instant;
  /** When this logout stops refusing subject tokens. */
  readonly forgetAt: Instant;
}

export type LogOutVerdict =
  /** A signal with this `jti` was accepted before; nothing is written. */
  | { readonly kind: 'repeated' }
  | {
      readonly kind: 'accepted';
      readonly revokedTasks: number;
      /** Set if the signal names a person and a session, and tasks of the person without a session go on. */
      readonly leavesTasksWithoutSession?: true;
    };

/**
 * Ends all live tasks of the session; without a session, those of the person by `sub`. It places no block. The record
 * names the person of the signal. If the signal names none, it names the person whose tasks end, unless there are several.
 */
export const logOut = decision({
  name: 'log_out',
  transaction: 'provider',

  locks: (signal: LogoutSignal) => {
    const { loggedOut } = signal;
    const subject = loggedOut.kind === 'session' ? endedWithoutSession(signal) : loggedOut.subject;
    const signedIn = closings(signal).length > 0 ? loggedOut.subject : undefined;
    const locked = subject ?? signedIn;
    return [
      ...(loggedOut.kind === 'session' ? [exclusive('session', loggedOut.sessionId)] : []),
      // An exchange locks `sub` only where it is not the sponsor key. A sign-in always locks `sub`.
      ...(subject === undefined ? [] : [exclusive('sponsor', subject)]),
      ...(locked === undefined ? [] : [exclusive('subject', locked)]),
      signalLock('logout', signal),
    ];
  },

  asks: (signal) => ({
    accepted: isAccepted('logout', signal),
    remembered: signal.remember && ask('logout', nameOf(signal.loggedOut)),
    rememberedWithoutSession: signal.remember && askWithoutSession(signal),
    rememberedByPages: closings(signal).map(({ name }) => ask('logout', name)),
    sessions: closedKinds(signal).map((of) => ask('sessions', { of, which: signal.loggedOut })),
    live: signal.keepsTasks ? undefined : ask('live_tasks', { selection: selectionOf(signal), at: signal.at }),
    isLeft: askWhetherLeft(signal),
  }),

  judge: (
    signal,
    { accepted, remembered, rememberedWithoutSession, rememberedByPages = [], sessions = [], live = NO_TASKS, isLeft },
  ): Judgement<LogOutVerdict> => {
    if (accepted) return { verdict: { kind: 'repeated' }, effects: [] };
    const { at, loggedOut, remember } = signal;
    const withoutSession = endedWithoutSession(signal);
    const selection = signal.keepsTasks ? undefined : selectionOf(signal);
    const { tasks, effects, ended } = revokeTasks(live, { at, reason: 'sponsor_logged_out' }, selection);
    const reason = isLeft && tasks === 0 ? WITHOUT_EFFECT.logout : 'sponsor_logged_out';
    // A provider may use one session id for several people.
    const onlyOne = live.sponsors.length === 1 ? live.sponsors[0] : undefined;
    const sponsor = signal.isOfOperators ? undefined : (loggedOut.subject ?? onlyOne);
    const signedOut = signOut(sessions.flat(), at);
    const entry: LedgerEntry = { at, event: 'sponsor.signal', sponsor, decision: 'allow', reason };
    return {
      verdict: { kind: 'accepted', revokedTasks: tasks, ...(isLeft && { leavesTasksWithoutSession: true }) },
      effects: [
        accept('logout', signal),
        ...(remember === undefined ? [] : [rememberLogout(nameOf(loggedOut), remember, remembered)]),
        ...(remember === undefined || withoutSession === undefined
          ? []
          : [rememberLogout(nameWithoutSession(withoutSession), remember, rememberedWithoutSession)]),
        ...closings(signal).map(({ name, logout }, nth) => rememberLogout(name, logout, rememberedByPages[nth])),
        ...signedOut.effects,
        ...effects,
        ...recorded([entry, ...signedOut.entries], ended),
      ],
    };
  },
});

const NO_TASKS: LiveTasks = { taskIds: [], delegated: new Set(), sponsors: [] };

function closedKinds({ closes = {} }: LogoutSignal): readonly SessionKind[] {
  return sessionKinds.filter((kind) => closes[kind] !== undefined);
}

/**
 * Each page remembers the logout. If it names a session, it also covers the person's sign-ins without a session,
 * because any of them may be meant.
 */
function closings({ closes = {}, loggedOut }: LogoutSignal) {
  return sessionKinds.flatMap((page): readonly { readonly name: LogoutName; readonly logout: RememberedLogout }[] => {
    const logout = closes[page];
    if (logout === undefined) return [];
    const own = { name: { ...nameOf(loggedOut), kind: `${page}_${loggedOut.kind}` }, logout } as const;
    return loggedOut.kind === 'session' && loggedOut.subject !== undefined
      ? [own, { name: { kind: `${page}_person_without_session`, name: loggedOut.subject }, logout }]
      : [own];
  });
}

function nameOf(loggedOut: LoggedOut): LogoutName {
  return { kind: loggedOut.kind, name: loggedOut.kind === 'session' ? loggedOut.sessionId : loggedOut.subject };
}

function selectionOf(signal: LogoutSignal): TaskSelection {
  const { loggedOut } = signal;
  if (loggedOut.kind === 'person') return { kind: 'subject', subject: loggedOut.subject };
  const { sessionId } = loggedOut;
  const subject = endedWithoutSession(signal);
  return subject === undefined ? { kind: 'session', sessionId } : { kind: 'session_or_none', sessionId, subject };
}

/**
 * The person of a logout that also names a session. Which of the person's tasks without a session belong to it is
 * unknown.
 */
function besideSession({ loggedOut, keepsTasks }: LogoutSignal): string | undefined {
  return loggedOut.kind === 'session' && !keepsTasks ? loggedOut.subject : undefined;
}

/** The person whose tasks without a session end with those of the named session. */
function endedWithoutSession(signal: LogoutSignal): string | undefined {
  return signal.endsTasksWithoutSession ? besideSession(signal) : undefined;
}

function askWithoutSession(signal: LogoutSignal) {
  const subject = endedWithoutSession(signal);
  return subject === undefined ? undefined : ask('logout', nameWithoutSession(subject));
}

function askWhetherLeft(signal: LogoutSignal) {
  const subject = signal.endsTasksWithoutSession ? undefined : besideSession(signal);
  return subject === undefined ? undefined : ask('live_task_without_session', { subject, at: signal.at });
}

function nameWithoutSession(subject: string): LogoutName {
  return { kind: 'person_without_session', name: subject };
}

/** Stores the later of the known and the new times. */
function rememberLogout(name: LogoutName, logout: RememberedLogout, known: LogoutTimes | undefined): Effect {
  return {
    effect: 'put_logout',
    ...name,
    statedAt: later(logout.statedAt, known?.statedAt),
    forgetAt: later(logout.forgetAt, known?.forgetAt),
  };
}

function later(one: Instant, other: Instant | undefined): Instant {
  return other !== undefined && other > one ? other : one;
}
