/** From an HTTP request to its form, or to the refusal that its sender gets (specification "OAuth error bodies"). */

import type { IncomingMessage } from 'node:http';
import { allowed, denied, type Outcome } from '../../../application/outcome.ts';
import { discardRest, readBody } from '../message/body.ts';
import { hasMediaType } from '../message/headers.ts';
import { type Form, readForm } from './form.ts';

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
