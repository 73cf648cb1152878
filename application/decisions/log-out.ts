/**
 * Applies a logout: ends the tasks of a session or a person, and their sessions at the page `/me` and the console
 * (specification "POST /backchannel-logout").
 */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { LoggedOut } from '../../domain/signals/logout-token.ts';
import { decision, type Judgement } from './decision.ts';
import { type Effect, recorded } from './effect.ts';
import { revokeTasks } from './ending.ts';
import { ask, type LiveTasks, type LogoutName, type LogoutTimes, type TaskSelection } from './fact.ts';
import { exclusive } from './lock.ts';
import { signOut } from './operator-sessions.ts';
import { accept, isAccepted, type SignalOccurrence, type SignalVerdict, signalLock } from './signal.ts';

export interface LogoutSignal extends SignalOccurrence {
  readonly loggedOut: LoggedOut;
  /** Set if subject tokens from before the logout are to be refused. */
  readonly remember?: RememberedLogout | undefined;
  /** Whether no task ends: the logout token is not for the client whose people start tasks. */
  readonly keepsTasks?: boolean;
  /** Set if it is for the client of the page `/me`: its sessions close, and sign-ins from before the logout are refused. */
  readonly closesSessions?: RememberedLogout | undefined;
  /** The same for the client of the console. */
  readonly closesOperatorSessions?: RememberedLogout | undefined;
  /** Whether the operators' own provider sent it, and it is not the upstream one: who logged out is no person whom agents act for. */
  readonly isOfOperators?: boolean;
}

export interface RememberedLogout {
  /** The logout token's `iat`, a whole second of the provider's clock. */
  readonly statedAt: Instant;
  /** When this logout stops refusing subject tokens. */
  readonly forgetAt: Instant;
}

/**
 * Ends all live tasks of the session; without a session, those of the person by `sub`. It places no block. The record
 * names the person of the signal. If the signal names none, it names the person whose tasks end, unless there are several.
 */
export const logOut = decision({
  name: 'log_out',
  transaction: 'provider',

  locks: (signal: LogoutSignal) => {
    const { loggedOut } = signal;
    const whom =
      loggedOut.kind === 'session'
        ? [exclusive('session', loggedOut.sessionId)]
        : // An exchange locks `sub` only where it is not the sponsor key.
          [exclusive('sponsor', loggedOut.subject), exclusive('subject', loggedOut.subject)];
    return [...whom, signalLock('logout', signal)];
  },

  asks: (signal) => ({
    accepted: isAccepted('logout', signal),
    remembered: signal.remember && ask('logout', nameOf(signal.loggedOut)),
    closed: signal.closesSessions && ask('logout', pageNameOf('me', signal.loggedOut)),
    closedOperators: signal.closesOperatorSessions && ask('logout', pageNameOf('operator', signal.loggedOut)),
    operatorSessions: signal.closesOperatorSessions && ask('operator_sessions', signal.loggedOut),
    live: signal.keepsTasks
      ? undefined
      : ask('live_tasks', { selection: selectionOf(signal.loggedOut), at: signal.at }),
  }),

  judge: (
    signal,
    { accepted, remembered, live = NO_TASKS, operatorSessions = [], ...closed },
  ): Judgement<SignalVerdict> => {
    if (accepted) return { verdict: { kind: 'repeated' }, effects: [] };
    const { at, loggedOut, remember, closesSessions, closesOperatorSessions } = signal;
    const reason = 'sponsor_logged_out';
    const { tasks, effects, ended } = revokeTasks(live, { at, reason });
    // A provider may use one session id for several people.
    const onlyOne = live.sponsors.length === 1 ? live.sponsors[0] : undefined;
    const sponsor = signal.isOfOperators ? undefined : (loggedOut.subject ?? onlyOne);
    const signedOut = signOut(operatorSessions, at);
    const entry: LedgerEntry = { at, event: 'sponsor.signal', sponsor, decision: 'allow', reason };
    return {
      verdict: { kind: 'accepted', revokedTasks: tasks },
      effects: [
        accept('logout', signal),
        ...(remember === undefined ? [] : [rememberLogout(nameOf(loggedOut), remember, remembered)]),
        ...(closesSessions === undefined
          ? []
          : [
              rememberLogout(pageNameOf('me', loggedOut), closesSessions, closed.closed),
              { effect: 'close_sessions', ...loggedOut } as const,
            ]),
        ...(closesOperatorSessions === undefined
          ? []
          : [
              rememberLogout(pageNameOf('operator', loggedOut), closesOperatorSessions, closed.closedOperators),
              ...signedOut.effects,
            ]),
        ...effects,
        ...recorded([entry, ...signedOut.entries], ended),
      ],
    };
  },
});

const NO_TASKS: LiveTasks = { taskIds: [], delegated: new Set(), sponsors: [] };

function pageNameOf(page: 'me' | 'operator', loggedOut: LoggedOut): LogoutName {
  return { ...nameOf(loggedOut), kind: `${page}_${loggedOut.kind}` };
}

function nameOf(loggedOut: LoggedOut): LogoutName {
  return { kind: loggedOut.kind, name: loggedOut.kind === 'session' ? loggedOut.sessionId : loggedOut.subject };
}

function selectionOf(loggedOut: LoggedOut): TaskSelection {
  return loggedOut.kind === 'session'
    ? { kind: 'session', sessionId: loggedOut.sessionId }
    : { kind: 'subject', subject: loggedOut.subject };
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
