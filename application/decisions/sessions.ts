/**
 * Sessions of the pages: open, renew and close them. Of some kinds the ledger records each sign-in, and each sign-out: the
 * end of a session that has not expired (`recordedDetail`). An expired session ends without a record, as does one that a
 * change of the settings makes unknown: no decision ends them.
 */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry, LedgerEvent } from '../../domain/ledger/record.ts';
import { MOST_SESSIONS, recordedDetail, type Session, type SessionHash } from '../../domain/sessions/session.ts';
import { decision, type Judgement } from './decision.ts';
import { type Effect, recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { isLoggedOut, logoutQuestions } from './logged-out.ts';

interface SessionOpening {
  readonly session: Session;
  /** The `iat` of the ID token. */
  readonly issuedAt: Instant | undefined;
  /** The browser's earlier session, which closes. */
  readonly replaces: SessionHash | undefined;
}

interface SignOut extends Pick<Session, 'kind' | 'sessionHash'> {
  readonly at: Instant;
}

/**
 * Refuses a sign-in that the provider has ended: a logout token may arrive between the code and the session. The locks
 * are those of `log_out`. That of the person is exclusive, so that concurrent sign-ins keep to the limit.
 */
export const openSession = decision({
  name: 'open_session',
  transaction: 'own',

  locks: ({ session: { subject, sessionId } }: SessionOpening) => [
    exclusive('subject', subject),
    ...(sessionId === undefined ? [] : [shared('session', sessionId)]),
  ],

  asks: ({ session: { kind, subject, sessionId }, replaces }) => ({
    earlier: replaces && ask('sessions', { of: kind, which: { kind: 'one', sessionHash: replaces } }),
    own: ask('sessions', { of: kind, which: { kind: 'person', subject } }),
    logouts: logoutQuestions({ subject, sessionId }, kind),
  }),

  judge: ({ session, issuedAt, replaces }, { logouts, earlier = [], own }): Judgement<'opened' | 'logged_out'> => {
    const { createdAt: at } = session;
    if (isLoggedOut(logouts, issuedAt, at)) return { verdict: 'logged_out', effects: [] };
    const surplus = own
      .filter(({ sessionHash }) => sessionHash !== replaces)
      .toSorted((one, other) => other.expiresAt - one.expiresAt)
      .slice(MOST_SESSIONS - 1);
    const { effects, entries } = signOut([...earlier, ...surplus], at);
    const signedIn = entriesOf('operator.signed_in', [session], at);
    return {
      verdict: 'opened',
      effects: [...effects, { effect: 'insert_session', ...session }, ...recorded([...entries, ...signedIn])],
    };
  },
});

/** Renews the session. A session that was closed in the meantime stays closed. */
export const useSession = decision({
  name: 'use_session',
  transaction: 'own',
  locks: () => [],
  asks: () => ({}),
  judge: (use: Pick<Session, 'sessionHash' | 'lastUsedAt' | 'expiresAt'>): Judgement<undefined> => ({
    verdict: undefined,
    effects: [{ effect: 'renew_session', ...use }],
  }),
});

/** Closes one session. A logout token closes those of a person (`log_out`). */
export const closeSession = decision({
  name: 'close_session',
  transaction: 'own',
  locks: () => [],
  asks: ({ kind, sessionHash }: SignOut) => ({
    sessions: ask('sessions', { of: kind, which: { kind: 'one', sessionHash } }),
  }),
  judge: ({ at }, { sessions }): Judgement<undefined> => {
    const { effects, entries } = signOut(sessions, at);
    return { verdict: undefined, effects: [...effects, ...recorded(entries)] };
  },
});

/** Closes the sessions. Those that have not expired get a record, if their kind has records. */
export function signOut(
  sessions: readonly Session[],
  at: Instant,
): { readonly effects: readonly Effect[]; readonly entries: readonly LedgerEntry[] } {
  const live = sessions.filter(({ expiresAt }) => expiresAt > at);
  return {
    effects: sessions.map(({ sessionHash }) => ({ effect: 'close_session', sessionHash })),
    entries: entriesOf('operator.signed_out', live, at),
  };
}

function entriesOf(event: LedgerEvent, sessions: readonly Session[], at: Instant): readonly LedgerEntry[] {
  return sessions.flatMap((session) => {
    const detail = recordedDetail(session);
    return detail === undefined ? [] : [{ at, event, decision: 'allow' as const, detail }];
  });
}
