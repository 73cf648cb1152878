/** Converts rows of the `operator_sessions` table to sessions of the console. */

import type { About } from '../../../application/decisions/fact.ts';
import type { Instant } from '../../../domain/instant.ts';
import { operatorRoles } from '../../../domain/operators/operator.ts';
import type { OperatorSession } from '../../../domain/operators/operator-session.ts';
import type { SessionHash } from '../../../domain/sponsors/session.ts';
import { type BindInstant, type Bound, storable, storableOrNull } from './column.ts';

export interface OperatorSessionRow {
  readonly session_hash: SessionHash;
  readonly iss: string;
  readonly sub: string;
  readonly sponsor_key: string | null;
  /** Words with spaces between them. */
  readonly roles: string;
  readonly sid: string | null;
  readonly created_at: Instant;
  readonly last_used_at: Instant;
  readonly expires_at: Instant;
  readonly sealed_id_token: string | null;
}

export const operatorSessionColumnNames = [
  'session_hash',
  'iss',
  'sub',
  'sponsor_key',
  'roles',
  'sid',
  'created_at',
  'last_used_at',
  'expires_at',
  'sealed_id_token',
] as const satisfies readonly (keyof OperatorSessionRow)[];

/** Which sessions a decision asks for: the column, and the values of its condition. */
export function operatorSessionsBy(about: About<'operator_sessions'>): {
  readonly by: 'session_hash' | 'sid' | 'sub';
  readonly values: readonly (string | null)[];
} {
  switch (about.kind) {
    case 'one':
      return { by: 'session_hash', values: [about.sessionHash] };
    case 'person':
      return { by: 'sub', values: [storable('sub', about.subject)] };
    case 'session':
      return { by: 'sid', values: [storable('sid', about.sessionId), storableOrNull('sub', about.subject)] };
  }
}

export function operatorSessionColumns(
  session: OperatorSession,
  bind: BindInstant,
): Record<keyof OperatorSessionRow, Bound> {
  const { issuer, subject, sponsorKey, roles } = session.operator;
  return {
    session_hash: session.sessionHash,
    iss: storable('iss', issuer),
    sub: storable('sub', subject),
    sponsor_key: storableOrNull('sponsor_key', sponsorKey),
    roles: roles.join(' '),
    sid: storableOrNull('sid', session.sessionId),
    created_at: bind(session.createdAt),
    last_used_at: bind(session.lastUsedAt),
    expires_at: bind(session.expiresAt),
    sealed_id_token: storableOrNull('sealed_id_token', session.sealedIdToken),
  };
}

export function toOperatorSession(row: OperatorSessionRow): OperatorSession {
  const held = row.roles.split(' ');
  return {
    sessionHash: row.session_hash,
    operator: {
      kind: 'person',
      issuer: row.iss,
      subject: row.sub,
      sponsorKey: row.sponsor_key ?? undefined,
      roles: operatorRoles.filter((role) => held.includes(role)),
    },
    sessionId: row.sid ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    sealedIdToken: row.sealed_id_token ?? undefined,
  };
}
