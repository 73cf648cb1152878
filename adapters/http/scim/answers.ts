/**
 * Turns outcomes into SCIM messages (RFC 7644 §3.4.2, §3.12; supplement "SCIM"). Each error has a fixed sentence, which
 * repeats nothing of the request.
 */

import type { Response } from 'express';
import type { UsersPage } from '../../../application/ports/users.ts';
import type { WriteRefusal } from '../../../application/signals/provision-user.ts';
import { toShortText } from '../../../domain/instant.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { type ScimErrorCode, type ScimFault, USER_SCHEMA } from '../../../domain/signals/user-attribute.ts';
import { DATABASE_RETRY_AFTER, type FaultAnswers } from '../message/faults.ts';

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';
const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export function sendScim(response: Response, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.status(status).setHeader('Content-Type', 'application/scim+json');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

interface ScimError {
  readonly status: number;
  readonly scimType?: ScimErrorCode | 'uniqueness';
  readonly detail: string;
  /** A fixed word for the log. */
  readonly reason: string;
}

export function answerScimError(response: Response, { status, scimType, detail, reason }: ScimError): void {
  response.reason = reason;
  sendScim(response, status, scimErrorMessage({ status, ...(scimType === undefined ? {} : { scimType }), detail }));
}

export function scimErrorMessage({ status, scimType, detail }: Omit<ScimError, 'reason'>): Record<string, unknown> {
  return {
    schemas: [ERROR_SCHEMA],
    // RFC 7644 §3.12 requires a JSON string.
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail,
  };
}

export function answerUnauthenticated(response: Response, reason: CredentialDenialReason): void {
  answerScimError(response, { status: 401, detail: 'The credential is missing or wrong.', reason });
}

export function answerInvalid(response: Response, fault: ScimFault): void {
  answerScimError(response, invalid(fault));
}

export function answerNotHere(response: Response): void {
  answerScimError(response, NOT_HERE);
}

export function answerRefusedWrite(response: Response, refusal: WriteRefusal): void {
  answerScimError(response, refusal.kind === 'invalid' ? invalid(refusal) : REFUSALS[refusal.kind]);
}

function invalid({ code, sentence }: ScimFault): ScimError {
  return { status: 400, scimType: code, detail: sentence, reason: INVALID_REASONS[code] };
}

const INVALID_REASONS = {
  invalidValue: 'scim_invalid_value',
  invalidSyntax: 'scim_invalid_syntax',
  invalidFilter: 'scim_invalid_filter',
} as const satisfies Record<ScimErrorCode, string>;

const NOT_HERE: ScimError = { status: 404, detail: 'There is no such resource here.', reason: 'scim_not_found' };

/** The errors of the specification ("SCIM errors"). */
const REFUSALS: Readonly<Record<Exclude<WriteRefusal['kind'], 'invalid'>, ScimError>> = {
  uniqueness: {
    status: 409,
    scimType: 'uniqueness',
    detail: 'Another user has this userName.',
    reason: 'scim_uniqueness',
  },
  full: { status: 507, detail: 'This service holds as many users as it may.', reason: 'scim_full' },
  not_found: NOT_HERE,
  kept_changing: {
    status: 412,
    detail: 'The user kept changing while this was applied. Send it again.',
    reason: 'scim_kept_changing',
  },
};

/** A user's stored attributes and location, in the format of RFC 7643 §3. */
export function presentUser(user: ProvisionedUser, baseUrl: string): Record<string, unknown> {
  return {
    schemas: [USER_SCHEMA],
    id: user.userId,
    ...(user.externalId === undefined ? {} : { externalId: user.externalId }),
    userName: user.userName,
    active: user.active,
    meta: {
      resourceType: 'User',
      created: toShortText(user.createdAt),
      lastModified: toShortText(user.modifiedAt),
      location: locationOf(user, baseUrl),
    },
  };
}

export function locationOf({ userId }: Pick<ProvisionedUser, 'userId'>, baseUrl: string): string {
  return `${baseUrl}/Users/${userId}`;
}

export function presentUsers({ users, total }: UsersPage, startIndex: number, baseUrl: string) {
  return listResponse(
    users.map((user) => presentUser(user, baseUrl)),
    { total, startIndex },
  );
}

export function listResponse(
  resources: readonly unknown[],
  { total = resources.length, startIndex = 1 } = {},
): Record<string, unknown> {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

/** Errors in the format of RFC 7644 §3.12. */
export const scimFaults: FaultAnswers = {
  unavailable(response) {
    response.set('Retry-After', String(DATABASE_RETRY_AFTER));
    const detail = 'The service could not reach its database. Send the request again.';
    answerScimError(response, { status: 503, detail, reason: 'storage_unavailable' });
  },
  malformedPath: (response) =>
    answerScimError(response, { status: 400, detail: 'The path is not well-formed.', reason: 'malformed_path' }),
  fault: (response) =>
    answerScimError(response, { status: 500, detail: 'The service met an unexpected condition.', reason: 'fault' }),
};
