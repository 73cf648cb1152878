/** A person at `/me`: what they may see and stop is their own. */

import type { Person } from './subject-token.ts';

export interface MePerson extends Pick<Person, 'subject' | 'sponsorKey' | 'sessionId' | 'authenticatedAt'> {
  /** An access token for `Service:Me:Audience`, or a session of the page. */
  readonly by: 'token' | 'session';
}

/** The person of an ID token, who may be one at `/me`. */
export type SignedInPerson = Omit<MePerson, 'by'>;

/**
 * The reasons of refusals at `/me` whose record names no person. `token_audience_mismatch`: a valid token of the
 * provider for another audience, such as the one that an agent holds. `invalid_form_token`: a write with a session,
 * without the proof that it comes from the page of this service.
 */
export type MeDenialReason =
  | ('missing_token' | 'invalid_token' | 'token_audience_mismatch')
  | 'subject_keys_unavailable'
  | 'invalid_form_token';
