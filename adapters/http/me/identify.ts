/**
 * Who asks at `/me`: the holder of an access token for `Service:Me:Audience`, or of a session of the page. The agent
 * holds the person's other access tokens, so they open nothing here.
 */

import type { IncomingMessage } from 'node:http';
import type { Outcome } from '../../../application/outcome.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import type { Trace } from '../../../domain/trace-context.ts';

/** A session of the page, found by its cookie. */
export interface MeSession {
  readonly person: MePerson;
  /** Every write of the session must carry it: `form_token` in a form, or the header `Mandate-Form-Token`. */
  readonly formToken: string;
}

export interface MeSessions {
  /** @param cookies the request's Cookie header. `undefined` without a usable session */
  find(cookies: string | undefined, trace?: Trace): Promise<MeSession | undefined>;
}

export interface MeAccess {
  /** The origin of writes with a session. */
  readonly issuer: string;
  /** Validates an access token. `undefined` without `Service:Me:Audience`: then every token is refused. */
  readonly validate: ((token: string, trace?: Trace) => Promise<Outcome<MePerson>>) | undefined;
  /** `undefined` without `Service:Me:ClientId`: then cookies are not read. */
  readonly sessions: MeSessions | undefined;
}

export type MeRefusal = 'missing_token' | 'invalid_token' | 'subject_keys_unavailable';

export type Identified =
  /** `session` is `undefined` with an access token. */
  | { readonly kind: 'person'; readonly person: MePerson; readonly session: MeSession | undefined }
  | { readonly kind: 'refused'; readonly reason: MeRefusal };

/** Reads the Authorization header if there is one, else the cookies. Neither answers nor records. */
export type Identify = (access: MeAccess, request: IncomingMessage, trace?: Trace) => Promise<Identified>;
