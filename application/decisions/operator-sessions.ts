/** Operators' sessions of the console: open, renew and close them. Sign-ins are not recorded in the ledger. */

import type { Instant } from '../../domain/instant.ts';
import type { OperatorSession } from '../../domain/operators/operator-session.ts';
import { MOST_SESSIONS, type SessionHash } from '../../domain/sponsors/session.ts';
import { decision, type Judgement } from './decision.ts';
import { ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { isLoggedOut } from './logged-out.ts';

export interface OperatorSessionOpening {
  readonly session: OperatorSession;
  /** The `iat` of the ID token. */
  readonly issuedAt: Instant | undefined;
  /** The browser's earlier session, which closes. */
  readonly replaces: SessionHash | undefined;
}

/** Refuses a sign-in that the provider has ended, with the locks of `log_out`, as `open_session` does. */
export const openOperatorSession = decision({
  name: 'open_operator_session',
  transaction: 'own',

  locks: ({ session: { operator, sessionId } }: OperatorSessionOpening) => [
    exclusive('subject', operator.subject),
    ...(sessionId === undefined ? [] : [shared('session', sessionId)]),
  ],

  asks: ({ session: { operator, sessionId } }) => ({
    logouts: [
      ask('logout', { kind: 'operator_person', name: operator.subject }),
      ...(sessionId === undefined ? [] : [ask('logout', { kind: 'operator_session', name: sessionId })]),
    ],
  }),

  judge: ({ session, issuedAt, replaces }, { logouts }): Judgement<'opened' | 'logged_out'> => {
    if (isLoggedOut(logouts, issuedAt, session.createdAt)) return { verdict: 'logged_out', effects: [] };
    const closed =
      replaces === undefined
        ? []
        : [{ effect: 'close_operator_sessions', kind: 'one', sessionHash: replaces } as const];
    const surplus = {
      effect: 'close_operator_sessions',
      kind: 'surplus',
      subject: session.operator.subject,
      keep: MOST_SESSIONS - 1,
    } as const;
    return { verdict: 'opened', effects: [...closed, surplus, { effect: 'insert_operator_session', ...session }] };
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
  asks: () => ({}),
  judge: (sessionHash: SessionHash): Judgement<undefined> => ({
    verdict: undefined,
    effects: [{ effect: 'close_operator_sessions', kind: 'one', sessionHash }],
  }),
});
