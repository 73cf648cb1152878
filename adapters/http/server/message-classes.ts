/**
 * The request and the response as this service passes them on: what admission found out goes with them, and Node's
 * server makes them with Express's prototypes.
 */

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

export type BodyOutcome =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** Compressed: what is declared and what it inflates to differ, so we read none (RFC 9110 §15.5.16). */
  | { readonly kind: 'unsupported_encoding' }
  /** The client left before it had sent everything. */
  | { readonly kind: 'aborted' };

export type AdmissionRefusal = 'rate_limited' | 'overloaded';

export interface ServedRequest extends IncomingMessage {
  /** Asks for the body, where the client waits for that (`Expect: 100-continue`, RFC 9110 §10.1.1). */
  invite?: (() => void) | undefined;
  /** The body, where admission has read it before the application asks. */
  readAhead?: BodyOutcome | undefined;
}

export interface ServedResponse extends ServerResponse {
  /** Why admission refused the request. */
  refusal?: AdmissionRefusal | undefined;
}

export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Express sets the prototype of each message to `app.request` or `app.response`. On an object with another prototype that
 * makes every later property access slow: up to a quarter of the CPU of an exchange. For these classes it changes nothing.
 * Both properties are documented extension points of Express ("Overriding the Express API").
 */
export function messageClasses(app: Express): MessageClasses {
  class AppRequest extends IncomingMessage implements ServedRequest {
    invite: (() => void) | undefined = undefined;
    readAhead: BodyOutcome | undefined = undefined;
  }
  class AppResponse extends ServerResponse implements ServedResponse {
    refusal: AdmissionRefusal | undefined = undefined;
  }
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request);
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response);
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as typeof ServerResponse };
}
