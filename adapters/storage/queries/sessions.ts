/** Queries of the sessions of the page `/me` and of the console. */

import type { Sessions } from '../../../application/ports/queries.ts';
import type { Session, SessionHash, SessionKind } from '../../../domain/sessions/session.ts';
import { type SessionRow, sessionColumnNames, toSession } from '../rows/session-row.ts';
import type { Ask, Query } from './query.ts';

interface SessionName {
  readonly kind: SessionKind;
  readonly sessionHash: SessionHash;
}

export const findSession: Query<SessionName, Session | undefined> = {
  name: 'find_session',
  text: `select ${sessionColumnNames.join(', ')} from sessions where kind = :kind and session_hash = :session_hash`,
  values: ({ kind, sessionHash }) => ({ kind, session_hash: sessionHash }),
  read: ([row]: readonly SessionRow[]) => row && toSession(row),
};

export function sessions(ask: Ask): Sessions {
  return { find: (kind, sessionHash) => ask(findSession, { kind, sessionHash }) };
}
