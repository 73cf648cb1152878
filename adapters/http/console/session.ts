/** An operator's session of the console, found by its cookie. */

import type { OperatorPerson } from '../../../domain/operators/operator.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { Trace } from '../../../domain/trace-context.ts';

export interface ConsoleSession {
  /** The roles are those of the sign-in. */
  readonly operator: OperatorPerson;
  /** Every write of the session must carry it: `form_token` in a form. */
  readonly formToken: string;
  /** That of the sign-in, for a sign-out at the provider. `undefined` if it was too long to keep. */
  readonly idToken?: Secret | undefined;
  /** Whether the provider can end its own session too. */
  readonly signsOutEverywhere?: boolean | undefined;
}

export interface ConsoleSessions {
  /** @param cookies the request's Cookie header. `undefined` without a usable session */
  find(cookies: string, trace?: Trace): Promise<ConsoleSession | undefined>;
  /** The same, without counting as a use: it does not prolong the session. */
  peek(cookies: string, trace?: Trace): Promise<ConsoleSession | undefined>;
}
