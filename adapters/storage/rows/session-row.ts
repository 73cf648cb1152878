/** Converts rows of the `sessions` table to sessions. */

import type { About } from '../../../application/decisions/fact.ts';
import type { Instant } from '../../../domain/instant.ts';
import { operatorRoles } from '../../../domain/operators/operator.ts';
import type { Session, SessionHash, SessionKind } from '../../../domain/sessions/session.ts';
import { type BindInstant, type Bound, storable, storableOrNull } from './column.ts';

export interface SessionRow {
  readonly session_hash: SessionHash;
  readonly kind: SessionKind;
  readonly iss: string;
  readonly sub: string;
  readonly sponsor_key: string | null;
  /** Words with spaces between them. */
  readonly roles: string;
  readonly sid: string | null;
  readonly authenticated_at: Instant | null;
  readonly created_at: Instant;
  readonly last_used_at: Instant;
  readonly expires_at: Instant;
  readonly sealed_id_token: string | null;
}

export const sessionColumnNames = [
  'session_hash',
  'kind',
  'iss',
  'sub',
  'sponsor_key',
  'roles',
  'sid',
  'authenticated_at',
  'created_at',
  'last_used_at',
  'expires_at',
  'sealed_id_token',
] as const satisfies readonly (keyof SessionRow)[];

/** Which sessions a decision asks for: the column, and the values of its condition after the kind. */
export function sessionsBy({ of, which }: About<'sessions'>): {
  readonly by: 'session_hash' | 'sid' | 'sub';
  readonly values: readonly (string | null)[];
} {
  switch (which.kind) {
    case 'one':
      return { by: 'session_hash', values: [of, which.sessionHash] };
    case 'person':
      return { by: 'sub', values: [of, storable('sub', which.subject)] };
    case 'session':
      return { by: 'sid', values: [of, storable('sid', which.sessionId), storableOrNull('sub', which.subject)] };
  }
}

export function sessionColumns(session: Session, bind: BindInstant): Record<keyof SessionRow, Bound> {
  return {
    session_hash: session.sessionHash,
    kind: session.kind,
    iss: storable('iss', session.issuer),
    sub: storable('sub', session.subject),
    sponsor_key: storableOrNull('sponsor_key', session.sponsorKey),
    roles: session.roles.join(' '),
    sid: storableOrNull('sid', session.sessionId),
    authenticated_at: session.authenticatedAt === undefined ? null : bind(session.authenticatedAt),
    created_at: bind(session.createdAt),
    last_used_at: bind(session.lastUsedAt),
    expires_at: bind(session.expiresAt),
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
