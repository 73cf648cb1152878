/** A session of a page, found by its cookie. */

import type { Secret } from '../../../domain/secret.ts';
import type { Trace } from '../../../domain/trace-context.ts';

export interface BrowserSession<Holder> {
  readonly holder: Holder;
  /** Every write of the session must carry it: `form_token` in a form, or at `/me` the header `Mandate-Form-Token`. */
  readonly formToken: string;
  /** That of the sign-in, for a sign-out at the provider. `undefined` if it was too long to keep. */
  readonly idToken?: Secret | undefined;
  /** Whether the provider can end its own session too. */
  readonly signsOutEverywhere?: boolean | undefined;
}

export interface BrowserSessions<Holder> {
  /** @param cookies the request's Cookie header. `undefined` without a usable session */
  find(cookies: string, trace?: Trace): Promise<BrowserSession<Holder> | undefined>;
  /** The same, without counting as a use: it does not prolong the session. */
  peek(cookies: string, trace?: Trace): Promise<BrowserSession<Holder> | undefined>;
}
