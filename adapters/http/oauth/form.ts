import type { IncomingMessage } from 'node:http';
import { allowed, denied, type Outcome } from '../../../application/outcome.ts';
import { discardRest, readBody } from '../message/body.ts';
import { hasMediaType } from '../message/headers.ts';

/**
 * Form bodies (RFC 6749 appendix B), read strictly: a parameter that two readers could read differently is refused.
 */

/** Parameters that were sent with a value; one without a value counts as omitted (RFC 6749 §3.2). */
export type Form = ReadonlyMap<string, string>;

export type FormOutcome =
  | { readonly kind: 'read'; readonly form: Form }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'repeated'; readonly name: string };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function readForm(bytes: Uint8Array): FormOutcome {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  try {
    for (const pair of utf8.decode(bytes).split('&')) {
      if (pair === '') continue;
      const equals = pair.indexOf('=');
      const name = decode(equals === -1 ? pair : pair.slice(0, equals));
      const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
      // RFC 6749 §3.2: parameters must not be included more than once, with a value or without.
      if (seen.has(name)) return { kind: 'repeated', name };
      seen.add(name);
      if (value !== '') form.set(name, value);
    }
  } catch {
    return { kind: 'malformed' };
  }
  return { kind: 'read', form };
}

/** @throws URIError for a broken percent-escape or one that is not UTF-8 */
function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

/** From an HTTP request to its form, or to the refusal that its sender gets (specification "OAuth error bodies"). */
/** Every parameter that some endpoint here reads: the only names a refusal may repeat. */
const KNOWN_PARAMETERS = new Set([
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
]);

/** The client left before it had sent the request: there is nobody to answer. */
export const GONE = 'gone';

export async function readFormRequest(request: IncomingMessage): Promise<Outcome<Form> | typeof GONE> {
  if (!hasMediaType(request, ['application/x-www-form-urlencoded'])) {
    discardRest(request);
    return denied('invalid_request', { detail: 'The body must be application/x-www-form-urlencoded, in UTF-8.' });
  }
  const body = await readBody(request);
  switch (body.kind) {
    case 'aborted':
      return GONE;
    case 'too_large':
      return denied('invalid_request', { detail: 'The body is over 64 KiB.' });
    case 'unsupported_encoding':
      return denied('invalid_request', { detail: 'The body must not be compressed.' });
    case 'read':
      break;
  }
  const outcome = readForm(body.bytes);
  switch (outcome.kind) {
    case 'malformed':
      return denied('invalid_request', { detail: 'The body is not a well-formed form in UTF-8.' });
    case 'repeated':
      return denied('invalid_request', {
        detail: KNOWN_PARAMETERS.has(outcome.name)
          ? `The parameter ${outcome.name} is repeated.`
          : 'A parameter is repeated.',
      });
    case 'read':
      return allowed(outcome.form);
  }
}
