/**
 * The classes of this service's requests and responses. They carry the results of admission control and the trace, and
 * have the prototypes that Express expects.
 */

import { IncomingMessage, ServerResponse } from 'node:http';
import type express from 'express';
import type { Permit } from '../../../domain/concurrency-limiter.ts';
import type { Operator } from '../../../domain/operators/operator.ts';
import type { RequestedAct } from '../../../domain/operators/operator-act.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import type { RequestMarks } from './connection.ts';
import type { MessageClasses } from './server.ts';

export type BodyOutcome =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** A compressed body. It is refused, because its inflated length is unknown (RFC 9110 §15.5.16). */
  | { readonly kind: 'unsupported_encoding' }
  /** The client disconnected before it sent the whole body. */
  | { readonly kind: 'aborted' };

export type AdmissionRefusal = 'rate_limited' | 'overloaded';

interface RequestState extends RequestMarks {
  /** The body, if admission control has already read it. */
  readAhead?: BodyOutcome | undefined;
  /** The trace that the request is part of. */
  trace?: Trace | undefined;
  /** The path, if a handler in front of Express serves it. */
  endpoint?: string | undefined;
  /** Who calls `/admin` or `/audit`, once authenticated. */
  operator?: Operator | undefined;
  /** What the operator's request changes. `undefined` for a request that only reads. */
  act?: RequestedAct | undefined;
  /** What admission gave the request. A response that stays open releases it early. */
  permit?: Permit | undefined;
}

interface ResponseState {
  /** Why admission refused the request. */
  refusal?: AdmissionRefusal | undefined;
  /** A fixed word for the log, which says why the request got its answer. */
  reason?: string | undefined;
  /** When a response began that stays open, by `performance.now()`. */
  streamsSince?: number | undefined;
}

export interface ServedRequest extends IncomingMessage, RequestState {}

export interface ServedResponse extends ServerResponse, ResponseState {}

declare global {
  /** Adds these properties to Express's types, as its documentation describes ("TypeScript"). */
  namespace Express {
    interface Request extends RequestState {}
    interface Response extends ResponseState {}
  }
}

/**
 * Express sets the prototype of each message to `app.request` or `app.response`. On an object with another prototype, that
 * would make every later property access slow: up to a quarter of an exchange's CPU time. Objects of these classes have
 * that prototype already. Both properties are documented extension points of Express ("Overriding the Express API").
 */
export function messageClasses(app: express.Express): MessageClasses {
  class AppRequest extends IncomingMessage implements ServedRequest {
    invite: (() => void) | undefined = undefined;
    isTooLate = false;
    readAhead: BodyOutcome | undefined = undefined;
    trace: Trace | undefined = undefined;
    endpoint: string | undefined = undefined;
    operator: Operator | undefined = undefined;
    act: RequestedAct | undefined = undefined;
    permit: Permit | undefined = undefined;
  }
  class AppResponse extends ServerResponse implements ServedResponse {
    refusal: AdmissionRefusal | undefined = undefined;
    reason: string | undefined = undefined;
    streamsSince: number | undefined = undefined;
  }
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request);
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response);
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as typeof ServerResponse };
}
