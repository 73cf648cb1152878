/**
 * Operators' sessions of the console: open, renew and close them. The ledger records each sign-in, and each sign-out: the
 * end of a session that has not expired. An expired session ends without a record, as does one that a change of the
 * settings makes unknown: no decision ends them.
 */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry, LedgerEvent } from '../../domain/ledger/record.ts';
import type { OperatorPerson } from '../../domain/operators/operator.ts';
import { sessionDetail } from '../../domain/operators/operator-act.ts';
import type { OperatorSession } from '../../domain/operators/operator-session.ts';
import { MOST_SESSIONS, type SessionHash } from '../../domain/sponsors/session.ts';
import { decision, type Judgement } from './decision.ts';
import { type Effect, recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { isLoggedOut, logoutQuestions } from './logged-out.ts';

export interface OperatorSessionOpening {
  readonly session: OperatorSession;
  /** The `iat` of the ID token. */
  readonly issuedAt: Instant | undefined;
  /** The browser's earlier session, which closes. */
  readonly replaces: SessionHash | undefined;
}

export interface OperatorSignOut extends Pick<OperatorSession, 'sessionHash'> {
  readonly at: Instant;
}

/** Refuses a sign-in that the provider has ended, with the locks of `log_out`, as `open_session` does. */
export const openOperatorSession = decision({
  name: 'open_operator_session',
  transaction: 'own',

  locks: ({ session: { operator, sessionId } }: OperatorSessionOpening) => [
    exclusive('subject', operator.subject),
    ...(sessionId === undefined ? [] : [shared('session', sessionId)]),
  ],

  asks: ({ session: { operator, sessionId }, replaces }) => ({
    earlier: replaces && ask('operator_sessions', { kind: 'one', sessionHash: replaces }),
    own: ask('operator_sessions', { kind: 'person', subject: operator.subject }),
    logouts: logoutQuestions({ subject: operator.subject, sessionId }, 'operator'),
  }),

  judge: ({ session, issuedAt, replaces }, { logouts, earlier = [], own }): Judgement<'opened' | 'logged_out'> => {
    const { operator, createdAt: at } = session;
    if (isLoggedOut(logouts, issuedAt, at)) return { verdict: 'logged_out', effects: [] };
    const surplus = own
      .filter(({ sessionHash }) => sessionHash !== replaces)
      .toSorted((one, other) => other.expiresAt - one.expiresAt)
      .slice(MOST_SESSIONS - 1);
    const { effects, entries } = signOut([...earlier, ...surplus], at);
    const entry = entryOf('operator.signed_in', operator, at);
    return {
      verdict: 'opened',
      effects: [...effects, { effect: 'insert_operator_session', ...session }, ...recorded([...entries, entry])],
    };
  },
});

/** Renews the session. One that has closed meanwhile stays closed. */
export const useOperatorSession = decision({
  name: 'use_operator_session',
  transaction: 'own',
  locks: () => [],
  asks: () => ({}),
  judge: (use: Pick<OperatorSession, 'sessionHash' | 'lastUsedAt' | 'expiresAt'>): Judgement<undefined> => ({
    verdict: undefined,
    effects: [{ effect: 'renew_operator_session', ...use }],
  }),
});

/** Closes one session. A logout token closes those of a person (`log_out`). */
export const closeOperatorSession = decision({
  name: 'close_operator_session',
  transaction: 'own',
  locks: () => [],
  asks: ({ sessionHash }: OperatorSignOut) => ({ sessions: ask('operator_sessions', { kind: 'one', sessionHash }) }),
  judge: ({ at }, { sessions }): Judgement<undefined> => {
    const { effects, entries } = signOut(sessions, at);
    return { verdict: undefined, effects: [...effects, ...recorded(entries)] };
  },
});

/** Closes the sessions. Those that have not expired get a record. */
export function signOut(
  sessions: readonly OperatorSession[],
  at: Instant,
): { readonly effects: readonly Effect[]; readonly entries: readonly LedgerEntry[] } {
  return {
    effects: sessions.map(({ sessionHash }) => ({ effect: 'close_operator_session', sessionHash })),
    entries: sessions
      .filter(({ expiresAt }) => expiresAt > at)
      .map(({ operator }) => entryOf('operator.signed_out', operator, at)),
  };
}

function entryOf(event: LedgerEvent, operator: OperatorPerson, at: Instant): LedgerEntry {
  return { at, event, decision: 'allow', detail: sessionDetail(operator) };
}
