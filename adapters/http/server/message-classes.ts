/**
 * The request and the response as this service passes them on: what admission found out goes with them, and Node's
 * server makes them with Express's prototypes.
 */

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';
import type { AdmissionRefusal } from '../admission/refusals.ts';
import type { BodyOutcome } from '../message/body.ts';

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
