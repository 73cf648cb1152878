/** The log, the spans and the metrics of the service. */

import type { ConflictReason, DenialReason } from '../../domain/denial.ts';
import type { Instant } from '../../domain/instant.ts';
import type { AnonymousDenial } from '../../domain/ledger/aggregation.ts';
import type { LedgerEvent } from '../../domain/ledger/record.ts';
import type { SignalSource } from '../../domain/signals/without-effect.ts';
import type { Trace } from '../../domain/trace-context.ts';

/** Field values that operators may read: never a token, key, grant or assertion, nor other data from a request. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The fields that name a request's trace in a log line. */
export function traceFields(trace: Trace | undefined): LogFields {
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /**
   * `cause` is logged by its class, code and stack: its message is not trusted to be free of request data. With `undefined`
   * the message says it all.
   */
  error(message: string, cause: unknown, fields?: LogFields): void;
}

export interface SpanStart {
  /** A fixed name, or the pattern of a route. Like the attributes, it contains no data of a request. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  /** Received from the client if the kind is `server`. A span without a parent begins a trace. */
  readonly parent?: Trace | undefined;
  readonly attributes?: LogFields;
}

export interface Span {
  /** For its log lines, its outgoing requests and its children. */
  readonly trace: Trace;
  /** @param outcome.failed sets the status of the span to an error */
  end(outcome?: { readonly name?: string; readonly attributes?: LogFields; readonly failed?: boolean }): void;
}

/** Spans of a running service, if the operator has turned them on. No method throws or waits. */
export interface Tracing {
  start(span: SpanStart): Span;
  /** Runs the work, and all that it begins, within a span of this trace. */
  within<Result>(trace: Trace, work: () => Result): Result;
  /** The innermost trace that this code runs within. */
  current(): Trace | undefined;
}

/** The part of the service that a request addresses, known from its path alone. */
export const surfaces = [
  'token',
  'introspection',
  'revocation',
  'approval',
  'admin',
  'audit',
  'scim',
  'events',
  'backchannel_logout',
  'me',
  'authorize',
  'console',
  'health',
  'keys',
  'status_lists',
  'log',
  'other',
] as const;
export type Surface = (typeof surfaces)[number];

export const outcomes = [
  /** 2xx or 3xx. */
  'ok',
  /** 4xx: the request is refused, malformed, or names something that does not exist. */
  'refused',
  'rate_limited',
  'overloaded',
  /** 503: the database, the identity provider or an agent's keys were unavailable. */
  'unavailable',
  /** Any other 5xx: a fault of the service. */
  'failed',
  /** The client closed the connection before the response was complete. */
  'aborted',
] as const;
export type RequestOutcome = (typeof outcomes)[number];

/** The separate limits of admission: token buckets of the rate limit, and concurrency limits. */
type AdmissionKind =
  | { readonly reason: 'rate_limited'; readonly kind: 'main' | 'introspection' | 'logout' | 'scim' | 'events' }
  | {
      readonly reason: 'overloaded';
      readonly kind: 'token' | 'introspection' | 'revoking' | 'proof' | 'sign_in' | 'console_sign_in' | 'other';
    };

/** The steps of approvals that follow from a request, as the events of their records name them. */
export const approvalSteps = ['requested', 'granted', 'refused', 'used'] as const;
export type ApprovalStep = (typeof approvalSteps)[number];

/**
 * Counters and timers of a running service. They receive only words of closed sets, never request data. No method
 * throws or waits.
 */
export interface Measurements {
  /** @param seconds from reading the request's head to the end of the response */
  answered(surface: Surface, outcome: RequestOutcome, seconds: number): void;

  /** Admission refused a request. The request also counts as answered, and as denied. */
  notAdmitted(refusal: AdmissionKind): void;

  /** A denial was recorded, or counted for a summary. */
  denied(event: LedgerEvent, reason: DenialReason | AnonymousDenial['reason'] | ConflictReason): void;

  /** A task token with a valid signature differs from its stored task (docs/operating.md). */
  tokenMismatch(surface: Extract<Surface, 'introspection' | 'revocation' | 'approval'>): void;

  /** An accepted signal would end tasks, and ended none. */
  signalWithoutEffect(source: SignalSource): void;

  /** An approval has taken this step. Its record is written. */
  approvalStep(step: ApprovalStep): void;

  /** @param readAt when the read of a list from the tables began @param seconds from then to its end */
  statusListRead(readAt: Instant, seconds: number): void;

  statusListFailed(): void;
}
