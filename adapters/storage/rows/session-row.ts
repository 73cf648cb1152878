/** Converts rows of the `sessions` table to sessions. */

import { operatorRoles } from '../../../domain/operators/operator.ts';
import type { Session, SessionHash, SessionKind } from '../../../domain/sessions/session.ts';
import type { RowOf, tables } from '../tables.ts';
import { type ReadRow, storable, storableOrNull } from './column.ts';

export interface SessionRow extends ReadRow<typeof tables.sessions> {
  readonly session_hash: SessionHash;
  readonly kind: SessionKind;
  /** Words with spaces between them. */
  readonly roles: string;
}

export function sessionRow(session: Session): RowOf<typeof tables.sessions> {
  return {
    session_hash: session.sessionHash,
    kind: session.kind,
    iss: storable('iss', session.issuer),
    sub: storable('sub', session.subject),
    sponsor_key: storableOrNull('sponsor_key', session.sponsorKey),
    roles: session.roles.join(' '),
    sid: storableOrNull('sid', session.sessionId),
    authenticated_at: session.authenticatedAt ?? null,
    created_at: session.createdAt,
    last_used_at: session.lastUsedAt,
    expires_at: session.expiresAt,
    sealed_id_token: storableOrNull('sealed_id_token', session.sealedIdToken),
  };
}

export function toSession(row: SessionRow): Session {
  const held = row.roles.split(' ');
  return {
    kind: row.kind,
    sessionHash: row.session_hash,
    issuer: row.iss,
    subject: row.sub,
    sponsorKey: row.sponsor_key ?? undefined,
    roles: operatorRoles.filter((role) => held.includes(role)),
    sessionId: row.sid ?? undefined,
    authenticatedAt: row.authenticated_at ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    sealedIdToken: row.sealed_id_token ?? undefined,
  };
}
