/** Queries of the sessions of the page `/me` and of the console. All methods may throw StorageUnavailable. */

import type { Session, SessionHash, SessionKind } from '../../domain/sessions/session.ts';

/** The sessions of the pages that people sign in to. */
export interface Sessions {
  /** The session of this kind, until it closes or the sweeper deletes it. It may have expired. */
  find(kind: SessionKind, sessionHash: SessionHash): Promise<Session | undefined>;
}
