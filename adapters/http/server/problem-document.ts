/** The document of problem details (RFC 9457). */

import { STATUS_CODES } from 'node:http';
import type { OAuthError } from '../../../domain/denial.ts';
import type { FieldError } from '../../../domain/field-error.ts';

/** The error codes of `/me`: of RFC 6750 §3.1 and RFC 9470 §3, and those of this service. */
type MeError =
  | ('missing_token' | 'invalid_token' | 'insufficient_user_authentication')
  | ('invalid_form_token' | 'pause_not_liftable')
  | ('altered' | 'other_words' | 'not_waiting');

export interface Problem {
  readonly status: number;
  /** A fixed sentence for a person. */
  readonly detail?: string;
  readonly errors?: readonly FieldError[];
  /** The OAuth error code, for refusals that other surfaces answer in OAuth's format (supplement "Errors elsewhere"). */
  readonly error?: OAuthError | MeError;
  /** The checkpoint that seals an archived record (specification "GET /audit/records/{seq}/proof"). */
  readonly checkpoint?: number;
  /** Tasks that have ended, although the request did not end all. */
  readonly revokedTasks?: number;
}

/** Limits the size of the answer to a body with thousands of unknown members. */
const MAX_FIELDS = 100;
/** Longer than all field names of this API. */
const MAX_FIELD_NAME = 128;

export function problemDocument(problem: Problem): Record<string, unknown> {
  return {
    // RFC 9457 §4.2.1: with about:blank the title is the phrase of the status.
    type: 'about:blank',
    title: STATUS_CODES[problem.status] ?? 'Error',
    status: problem.status,
    ...(problem.error === undefined ? {} : { error: problem.error }),
    ...(problem.detail === undefined ? {} : { detail: problem.detail }),
    ...(problem.checkpoint === undefined ? {} : { checkpoint: problem.checkpoint }),
    ...(problem.revokedTasks === undefined ? {} : { revoked_tasks: problem.revokedTasks }),
    ...(problem.errors === undefined ? {} : { errors: byField(problem.errors) }),
  };
}

/** The sentences of each field. Built from entries, because a request may name a field `__proto__`. */
function byField(errors: readonly FieldError[]): Record<string, readonly string[]> {
  const fields = new Map<string, Set<string>>();
  for (const { field, sentence } of errors) {
    const name = field.length > MAX_FIELD_NAME ? `${field.slice(0, MAX_FIELD_NAME)}…` : field;
    fields.set(name, (fields.get(name) ?? new Set()).add(sentence));
  }
  const reported = [...fields].slice(0, MAX_FIELDS);
  return Object.fromEntries(reported.map(([field, sentences]) => [field, [...sentences]]));
}
