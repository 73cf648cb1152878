/** Converts between authorizations and rows of the table `authorizations`, and reads the ends that are counted beside them. */

import type { AuthorizationEnd, AuthorizationEnds } from '../../../application/decisions/fact.ts';
import {
  type Authorization,
  type AuthorizationState,
  type IssuedCode,
  type VoidReason,
  waitingStates,
} from '../../../domain/authorization/authorization.ts';
import { compareAuthorization } from '../../../domain/authorization/authorization-records.ts';
import type { AgentId, RequestId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import { formatScope } from '../../../domain/scope.ts';
import type { ClientLabel, TaskAuthorization } from '../../../domain/tasks/task-authorization.ts';
import type { RowOf, tables } from '../tables.ts';
import { type ReadRow, readScope, storable, storableOrNull } from './column.ts';
import { readRecords } from './recorded.ts';

export interface AuthorizationRow extends ReadRow<typeof tables.authorizations> {
  readonly request_id: RequestId;
  readonly agent_id: AgentId;
  readonly client: ClientLabel;
  readonly sponsor_key: SponsorKey;
  readonly state: AuthorizationState;
  readonly void_reason: VoidReason | null;
  readonly task_id: TaskId | null;
}

/** With the records of its answer (`recordsOfAnswer`). */
export interface RecordedAuthorizationRow extends AuthorizationRow {
  readonly records: string | null;
}

/** The condition of an authorization that may lead to a task, as in the partial indexes. SQLite compares the two word by word. */
export const IS_WAITING = `state in (${waitingStates.map((state) => `'${state}'`).join(', ')})`;

export function authorizationRow({
  person,
  code,
  forgetAt,
  ...authorization
}: Authorization & { readonly forgetAt: Instant }): RowOf<typeof tables.authorizations> {
  return {
    request_id: authorization.requestId,
    browser_hash: authorization.browserHash,
    agent_id: authorization.agentId,
    client: authorization.client,
    redirect_uri: storable('redirect_uri', authorization.redirectUri),
    client_state: storableOrNull('client_state', authorization.clientState),
    challenge: authorization.challenge,
    audience: storable('audience', authorization.audience),
    offered_scope: formatScope(authorization.offered),
    asked_scope: formatScope(authorization.asked),
    held_scope: formatScope(person.scope),
    purpose: storableOrNull('purpose', authorization.purpose),
    sponsor_key: storable('sponsor_key', person.sponsorKey),
    sponsor: storable('sponsor', person.subject),
    session_id: storableOrNull('session_id', person.sessionId),
    issued_at: person.issuedAt ?? null,
    authenticated_at: person.authenticatedAt ?? null,
    began_at: authorization.beganAt,
    came_at: authorization.cameAt,
    expires_at: authorization.expiresAt,
    state: authorization.state,
    answered_at: authorization.answeredAt ?? null,
    void_reason: authorization.voidReason ?? null,
    ...codeColumns(code),
    forget_at: forgetAt,
  };
}

export function codeColumns(code: IssuedCode | undefined) {
  return {
    code_hash: code?.hash ?? null,
    code_expires_at: code?.expiresAt ?? null,
    chosen_scope: code === undefined ? null : formatScope(code.scope),
    task_ends_at: code?.taskEndsAt ?? null,
    task_id: code?.taskId ?? null,
  };
}

export function toAuthorization(row: AuthorizationRow): Authorization {
  return {
    requestId: row.request_id,
    browserHash: row.browser_hash,
    agentId: row.agent_id,
    client: row.client,
    redirectUri: row.redirect_uri,
    clientState: row.client_state ?? undefined,
    challenge: row.challenge,
    audience: row.audience,
    offered: readScope(row.offered_scope),
    asked: readScope(row.asked_scope),
    purpose: row.purpose ?? undefined,
    person: {
      subject: row.sponsor,
      sponsorKey: row.sponsor_key,
      sessionId: row.session_id ?? undefined,
      issuedAt: row.issued_at ?? undefined,
      authenticatedAt: row.authenticated_at ?? undefined,
      scope: readScope(row.held_scope),
    },
    beganAt: row.began_at,
    cameAt: row.came_at,
    expiresAt: row.expires_at,
    state: row.state,
    answeredAt: row.answered_at ?? undefined,
    voidReason: row.void_reason ?? undefined,
    code: toCode(row),
  };
}

export function toRecorded(row: RecordedAuthorizationRow): Compared<Authorization> {
  return compareAuthorization(toAuthorization(row), readRecords(row.records));
}

function toCode(row: AuthorizationRow): IssuedCode | undefined {
  const { code_hash: hash, code_expires_at: expiresAt, chosen_scope: scope, task_ends_at: taskEndsAt } = row;
  const { task_id: taskId } = row;
  if (hash === null || expiresAt === null || scope === null || taskEndsAt === null || taskId === null) return undefined;
  return { hash, expiresAt, scope: readScope(scope), taskEndsAt, taskId };
}

export interface AuthorizationEndRow {
  readonly kind: keyof AuthorizationEnds;
  readonly ends: number;
  readonly reason: VoidReason;
}

/** The rows of the ends of everything and of an agent `:agent_id`. */
export const SELECT_ENDS = `select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'everything' and e.name = ''
      union all
      select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'agent' and e.name = :agent_id`;

export function toEnds(rows: readonly AuthorizationEndRow[]): AuthorizationEnds {
  const of = (kind: keyof AuthorizationEnds): AuthorizationEnd | undefined => {
    const row = rows.find((each) => each.kind === kind);
    return row && { count: row.ends, reason: row.reason };
  };
  return { everything: of('everything'), agent: of('agent') };
}

/** What a query of tasks has of the authorization `z` and the grant `g` of each. */
export interface TaskAuthorizationRow {
  readonly authorization_id: RequestId | null;
  readonly authorization_client: ClientLabel | null;
  readonly authorization_uri: string | null;
  readonly rotation_hash: string | null;
}

export const TASK_AUTHORIZATION = `z.request_id as authorization_id, z.client as authorization_client,
      z.redirect_uri as authorization_uri, g.rotation_hash`;

/** Nothing for a task of an exchange. */
export function toTaskAuthorization(row: TaskAuthorizationRow): { readonly authorization?: TaskAuthorization } {
  const { authorization_id: requestId, authorization_client: client, authorization_uri: redirectUri } = row;
  if (requestId === null || client === null || redirectUri === null) return {};
  return { authorization: { requestId, client, redirectUri, isRotating: row.rotation_hash !== null } };
}
