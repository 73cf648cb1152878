/** Converts rows of the `me_sessions` table to sessions. */

import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Session, SessionHash } from '../../../domain/sponsors/session.ts';
import { type BindInstant, type Bound, storable, storableOrNull } from './column.ts';

export interface SessionRow {
  readonly session_hash: SessionHash;
  readonly sponsor_key: SponsorKey;
  readonly sponsor: string;
  readonly sid: string | null;
  readonly authenticated_at: Instant | null;
  readonly created_at: Instant;
  readonly last_used_at: Instant;
  readonly expires_at: Instant;
  readonly sealed_id_token: string | null;
}

export const sessionColumnNames = [
  'session_hash',
  'sponsor_key',
  'sponsor',
  'sid',
  'authenticated_at',
  'created_at',
  'last_used_at',
  'expires_at',
  'sealed_id_token',
] as const satisfies readonly (keyof SessionRow)[];

export function sessionColumns(session: Session, bind: BindInstant): Record<keyof SessionRow, Bound> {
  return {
    session_hash: session.sessionHash,
    sponsor_key: storable('sponsor_key', session.sponsorKey),
    sponsor: storable('sponsor', session.subject),
    sid: storableOrNull('sid', session.sessionId),
    authenticated_at: session.authenticatedAt === undefined ? null : bind(session.authenticatedAt),
    created_at: bind(session.createdAt),
    last_used_at: bind(session.lastUsedAt),
    expires_at: bind(session.expiresAt),
    sealed_id_token: storableOrNull('sealed_id_token', session.sealedIdToken),
  };
}

export function toSession(row: SessionRow): Session {
  return {
    sessionHash: row.session_hash,
    sponsorKey: row.sponsor_key,
    subject: row.sponsor,
    sessionId: row.sid ?? undefined,
    authenticatedAt: row.authenticated_at ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    sealedIdToken: row.sealed_id_token ?? undefined,
  };
}
