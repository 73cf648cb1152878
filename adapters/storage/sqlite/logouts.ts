/** Logged-out sessions and people on SQLite (`Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`). */

import type { RememberedLogout, SubjectSession } from '../../../application/ports/signals.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { LoggedOut } from '../../../domain/signals/logout-token.ts';
import { storable, storableOrNull } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';

const upsert = `insert into logouts (kind, name, stated_at, forget_at) values (?, ?, ?, ?)
  on conflict (kind, name) do update set
    stated_at = max(logouts.stated_at, excluded.stated_at),
    forget_at = max(logouts.forget_at, excluded.forget_at)`;

const find = `select 1 from logouts where kind = 'session' and name = ? and forget_at > ?
  union all
  select 1 from logouts where kind = 'person' and name = ? and forget_at > ? and stated_at >= coalesce(?, stated_at)`;

export function rememberLogout(run: Run, loggedOut: LoggedOut, { statedAt, forgetAt }: RememberedLogout): void {
  const name = loggedOut.kind === 'session' ? loggedOut.sessionId : loggedOut.subject;
  run(upsert, [loggedOut.kind, storable('name', name), bindInstant(statedAt), bindInstant(forgetAt)]);
}

export function isLoggedOut(run: Run, { subject, sessionId, issuedAt }: SubjectSession, at: Instant): boolean {
  const ofSession = [storableOrNull('session_id', sessionId), bindInstant(at)];
  const issued = issuedAt === undefined ? null : bindInstant(issuedAt);
  const ofPerson = [storable('sponsor', subject), bindInstant(at), issued];
  return run(find, [...ofSession, ...ofPerson]).count > 0;
}
