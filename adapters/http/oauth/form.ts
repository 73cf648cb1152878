/** Parses form bodies (RFC 6749 appendix B) strictly: refuses forms that parsers could read differently. */

import type { IncomingMessage } from 'node:http';
import { allowed, denied, type Outcome } from '../../../application/outcome.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import { readTypedBody } from '../message/body.ts';
import { decodeParameter } from '../message/head.ts';

/** Parameters with a value. A parameter without a value counts as omitted (RFC 6749 §3.2). */
type Form = ReadonlyMap<string, string>;

type FormOutcome =
  | { readonly kind: 'read'; readonly form: Form }
  /** The name of the parameter whose value is malformed, unless the name or the body is malformed as well. */
  | { readonly kind: 'malformed'; readonly name: string | undefined }
  | { readonly kind: 'repeated'; readonly name: string };

export const FORM_TYPES = ['application/x-www-form-urlencoded'];

export function readForm(bytes: Uint8Array): FormOutcome {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  const text = readUtf8(bytes);
  if (text === undefined) return { kind: 'malformed', name: undefined };
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeParameter(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decodeParameter(pair.slice(equals + 1));
    if (name === undefined || value === undefined) return { kind: 'malformed', name };
    // RFC 6749 §3.2: parameters must not be included more than once, with a value or without.
    if (seen.has(name)) return { kind: 'repeated', name };
    seen.add(name);
    if (value !== '') form.set(name, value);
  }
  return { kind: 'read', form };
}

/** Every parameter that an endpoint always reads. A refusal repeats no other parameter's name. */
const KNOWN_PARAMETERS = [
  'grant_type',
  'subject_token',
  'subject_token_type',
  'actor_token',
  'actor_token_type',
  'requested_token_type',
  'resource',
  'scope',
  'refresh_token',
  'client_assertion_type',
  'client_assertion',
  'client_id',
  'token',
  'token_type_hint',
] as const;
export type KnownParameter = (typeof KNOWN_PARAMETERS)[number];

/** The client disconnected before it sent the whole request. No answer is possible. */
export const GONE = 'gone';

/**
 * Returns the request's form, or the refusal to answer with (specification "OAuth error bodies"). A charset is ignored if
 * all bytes are ASCII (supplement "Sizes and forms nobody wrote down").
 *
 * @param added parameters that a setting adds; a refusal names these too
 */
export async function readFormRequest(
  request: IncomingMessage,
  added: readonly string[] = [],
): Promise<Outcome<Form> | typeof GONE> {
  const body = await readTypedBody(
    request,
    FORM_TYPES,
    'The body must be application/x-www-form-urlencoded, in UTF-8.',
    'any',
  );
  if (body.kind === 'aborted') return GONE;
  if (body.kind === 'refused') return denied('invalid_request', { detail: body.sentence });
  const outcome = readForm(body.bytes);
  switch (outcome.kind) {
    case 'malformed':
      return denied('invalid_request', {
        detail:
          outcome.name !== undefined && added.includes(outcome.name)
            ? `The parameter ${outcome.name} is not well-formed in UTF-8.`
            : 'The body is not a well-formed form in UTF-8.',
      });
    case 'repeated':
      return denied('invalid_request', {
        detail: [...KNOWN_PARAMETERS, ...added].includes(outcome.name)
          ? `The parameter ${outcome.name} is repeated.`
          : 'A parameter is repeated.',
      });
    case 'read':
      return allowed(outcome.form);
  }
}
