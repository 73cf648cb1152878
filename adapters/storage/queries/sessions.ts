/** Queries of the sessions of the page `/me` and of the console. */

import type { OperatorSessions, Sessions } from '../../../application/ports/queries.ts';
import type { OperatorSession } from '../../../domain/operators/operator-session.ts';
import type { Session, SessionHash } from '../../../domain/sponsors/session.ts';
import {
  type OperatorSessionRow,
  operatorSessionColumnNames,
  toOperatorSession,
} from '../rows/operator-session-row.ts';
import { type SessionRow, sessionColumnNames, toSession } from '../rows/session-row.ts';
import type { Ask, Query } from './query.ts';

export const findSession: Query<SessionHash, Session | undefined> = {
  name: 'find_session',
  text: `select ${sessionColumnNames.join(', ')} from me_sessions where session_hash = :session_hash`,
  values: (sessionHash) => ({ session_hash: sessionHash }),
  read: ([row]: readonly SessionRow[]) => row && toSession(row),
};

export const findOperatorSession: Query<SessionHash, OperatorSession | undefined> = {
  name: 'find_operator_session',
  text: `select ${operatorSessionColumnNames.join(', ')} from operator_sessions where session_hash = :session_hash`,
  values: (sessionHash) => ({ session_hash: sessionHash }),
  read: ([row]: readonly OperatorSessionRow[]) => row && toOperatorSession(row),
};

export function sessions(ask: Ask): Sessions {
  return { find: (sessionHash) => ask(findSession, sessionHash) };
}

export function operatorSessions(ask: Ask): OperatorSessions {
  return { find: (sessionHash) => ask(findOperatorSession, sessionHash) };
}
