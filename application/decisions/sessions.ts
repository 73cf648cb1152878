/** A person's sessions at the page `/me`: open, renew and close them. Sign-ins are not recorded in the ledger. */

import type { Instant } from '../../domain/instant.ts';
import { MOST_SESSIONS, type Session, type SessionHash } from '../../domain/sponsors/session.ts';
import { decision, type Judgement } from './decision.ts';
import { exclusive, shared } from './lock.ts';
import { isLoggedOut, logoutQuestions } from './logged-out.ts';

export interface SessionOpening {
  readonly session: Session;
  /** The `iat` of the ID token. */
  readonly issuedAt: Instant | undefined;
  /** The browser's earlier session, which closes. */
  readonly replaces: SessionHash | undefined;
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

  asks: ({ session: { subject, sessionId } }) => ({
    logouts: logoutQuestions({ subject, sessionId }, 'me'),
  }),

  judge: ({ session, issuedAt, replaces }, { logouts }): Judgement<'opened' | 'logged_out'> => {
    if (isLoggedOut(logouts, issuedAt, session.createdAt)) return { verdict: 'logged_out', effects: [] };
    const closed =
      replaces === undefined ? [] : [{ effect: 'close_sessions', kind: 'one', sessionHash: replaces } as const];
    const surplus = {
      effect: 'close_sessions',
      kind: 'surplus',
      subject: session.subject,
      keep: MOST_SESSIONS - 1,
    } as const;
    return { verdict: 'opened', effects: [...closed, surplus, { effect: 'insert_session', ...session }] };
  },
});

/** Renews the session. One that has closed meanwhile stays closed. */
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
  asks: () => ({}),
  judge: (sessionHash: SessionHash): Judgement<undefined> => ({
    verdict: undefined,
    effects: [{ effect: 'close_sessions', kind: 'one', sessionHash }],
  }),
});
