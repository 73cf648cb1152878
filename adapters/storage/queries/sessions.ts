/** Queries of the sessions of the page `/me` and of the console. */

import type { About } from '../../../application/decisions/fact.ts';
import type { Sessions } from '../../../application/ports/sessions.ts';
import type { Session, SessionHash, SessionKind } from '../../../domain/sessions/session.ts';
import { storable, storableOrNull } from '../rows/column.ts';
import { type SessionRow, toSession } from '../rows/session-row.ts';
import { columnsOf, tables } from '../tables.ts';
import type { Ask, Query } from './query.ts';

const COLUMNS = columnsOf(tables.sessions).join(', ');

interface SessionName {
  readonly kind: SessionKind;
  readonly sessionHash: SessionHash;
}

export const findSession: Query<SessionName, Session | undefined> = {
  name: 'find_session',
  text: `select ${COLUMNS} from sessions where kind = :kind and session_hash = :session_hash`,
  values: ({ kind, sessionHash }) => ({ kind, session_hash: sessionHash }),
  read: ([row]: readonly SessionRow[]) => row && toSession(row),
};

/** In the alternatives of a fact of decisions: one session, or those that a logout names. */
const OF = {
  one: 'session_hash = :session_hash',
  person: 'sub = :sub',
  session: '(sid = :sid or (sid is null and sub = :sub))',
} as const;

/** In one order, so that two decisions about the same sessions do not wait for each other. */
export const lockedSessions: Query<About<'sessions'>, readonly Session[]> = {
  text: ({ forUpdate }, { which }) => `select ${COLUMNS} from sessions where kind = :kind and ${OF[which.kind]}
    order by session_hash ${forUpdate}`,
  values: ({ of, which }) => ({
    kind: of,
    session_hash: which.kind === 'one' ? which.sessionHash : undefined,
    sid: which.kind === 'session' ? storable('sid', which.sessionId) : undefined,
    sub: which.kind === 'one' ? undefined : storableOrNull('sub', which.subject),
  }),
  read: (rows: readonly SessionRow[]) => rows.map(toSession),
};

export function sessions(ask: Ask): Sessions {
  return { find: (kind, sessionHash) => ask(findSession, { kind, sessionHash }) };
}
