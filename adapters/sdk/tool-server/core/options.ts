/** The options of `createToolServer`, their defaults and checks (specification "Options and defaults"). */

import { audienceProblem, issuerProblem } from '../../../../domain/address.ts';
import { DEFAULT_LIST_MAX_AGE_SECONDS } from '../../../../domain/tasks/status-list.ts';
import { CLOCK_SKEW_SECONDS, MAX_CLOCK_SKEW_SECONDS } from '../../../../domain/tokens/compact-jws.ts';
import { trimOws } from '../../../../domain/trim-ows.ts';
import {
  anyObject,
  type Check,
  type Checks,
  callable,
  checkArguments,
  flag,
  membersOf,
  must,
  oneOf,
  optional,
  optionsOf,
  textWithout,
  wholeNumber,
  withoutAbsent,
} from '../../arguments.ts';
import { type AccessEvent, writeEvent } from './access-event.ts';
import { type ApprovalKey, approvalKey } from './approval-key.ts';
import { noSpan, type StartSpan } from './span.ts';

export interface ToolServerOptions {
  /** The control plane's URL, which is the `iss` of every task token: https, or http on this machine. */
  readonly issuer: string;
  /** This server's URL: the `resource` that agents request, and the `aud` of accepted tokens. Compared exactly. */
  readonly audience: string;
  /** How far this server's clock and the control plane's may differ, in seconds. The default is 60. */
  readonly clockSkewSeconds?: number;
  /** Whether a token must name an agent (`act`). The default is true. A policy can override it. */
  readonly requireActor?: boolean;
  /** The longest accepted `act` chain. The default is 1. A policy can override it. */
  readonly maxDelegationDepth?: number;
  /** Time limit of a whole exchange with the control plane, in milliseconds. The default is 10000. */
  readonly timeoutMs?: number;
  /** The realm of `WWW-Authenticate`. The default is the audience. */
  readonly realm?: string;
  /** Polls the control plane's status lists, and refuses the tokens of tasks that are over. Not polled when absent. */
  readonly statusList?: StatusListOptions;
  /** Signs the requests for approval. Only policies with `approval` need it. */
  readonly approvalKey?: ApprovalKey;
  /**
   * Gets the event of every decided request, and is awaited. If it fails, the request is refused. By default each event is
   * written to stdout as a line of JSON.
   */
  readonly onAccess?: (event: AccessEvent) => void | Promise<void>;
  /**
   * Gets each error that was answered with a 500 without details, each error of `startSpan`, and the first failure of a
   * status list after a success. By default it writes to stderr.
   */
  readonly onError?: (error: unknown) => void;
  /** Sends the requests to the control plane. The default is the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Starts a span for each of these requests, such as `openTelemetrySpans()`; none when absent. */
  readonly startSpan?: StartSpan;
  /** Milliseconds since 1970; `Date.now` when absent. */
  readonly now?: () => number;
}

export interface StatusListOptions {
  /** The age up to which a list decides, in milliseconds; 10000 when absent. Lists are polled twice in this time. */
  readonly maxAgeMs?: number;
  /** The treatment of a token without a status in a fresh list: `introspect` when absent; `refuse` answers 503. */
  readonly onStale?: (typeof ON_STALE)[number];
}

/** The checked options, with all defaults. */
export type CheckedOptions = Required<Omit<ToolServerOptions, OptionWithoutDefault>> & {
  readonly statusList: Required<StatusListOptions> | undefined;
  readonly approvalKey: ApprovalKey | undefined;
};

type OptionWithoutDefault = 'statusList' | 'approvalKey';

const DEFAULT_TIMEOUT_MS = 10_000;
/** Clients time out earlier. Node's timers fire at once beyond 2^31 ms. */
const MAX_TIMEOUT_MS = 60_000;
export const DEFAULT_MAX_AGE_MS = DEFAULT_LIST_MAX_AGE_SECONDS * 1000;
/** The control plane makes a list at most once a second. */
export const MIN_MAX_AGE_MS = 1000;
/** Longer than most tokens live. */
export const MAX_MAX_AGE_MS = 600_000;
/** The first is the default. */
export const ON_STALE = ['introspect', 'refuse'] as const;
/** The text allowed in a quoted-string (RFC 9110 §5.6.4). A line break would start another header. */
const HEADER_TEXT = /^[\x20-\x7E]+$/;

const anyList = must('be a list', Array.isArray);

export const depth = wholeNumber(1, Number.MAX_SAFE_INTEGER, 'of 1 or more');

const CHECKS: Checks<ToolServerOptions> = {
  issuer: textWithout(issuerProblem),
  audience: textWithout(audienceProblem),
  clockSkewSeconds: optional(wholeNumber(0, MAX_CLOCK_SKEW_SECONDS)),
  requireActor: optional(flag),
  maxDelegationDepth: optional(depth),
  timeoutMs: optional(wholeNumber(1, MAX_TIMEOUT_MS)),
  realm: optional(
    must('be printable ASCII and not blank', (value) => {
      return typeof value === 'string' && trimOws(value) !== '' && HEADER_TEXT.test(value);
    }),
  ),
  statusList: optional(
    optionsOf({
      maxAgeMs: optional(wholeNumber(MIN_MAX_AGE_MS, MAX_MAX_AGE_MS)),
      onStale: optional(oneOf(ON_STALE)),
    } satisfies Checks<StatusListOptions>),
  ),
  approvalKey: optional(approvalKey),
  onAccess: optional(callable),
  onError: optional(callable),
  fetch: optional(callable),
  startSpan: optional(callable),
  now: optional(callable),
};

/** @throws TypeError that lists every wrong option */
export function checkOptions(given: ToolServerOptions): CheckedOptions {
  checkArguments('createToolServer', given, optionsOf(CHECKS));
  const options: Required<Omit<ToolServerOptions, OptionWithoutDefault>> &
    Pick<ToolServerOptions, OptionWithoutDefault> = {
    clockSkewSeconds: CLOCK_SKEW_SECONDS,
    requireActor: true,
    maxDelegationDepth: 1,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    realm: given.audience,
    onAccess: writeEvent,
    onError: (error) => console.error(error),
    fetch: (...request) => globalThis.fetch(...request),
    startSpan: noSpan,
    now: () => Date.now(),
    ...withoutAbsent(given),
  };
  const statusList = options.statusList && withStatusListDefaults(options.statusList);
  // The control plane also drops the last slash of its issuer, so no token has it.
  return { ...options, statusList, approvalKey: given.approvalKey, issuer: options.issuer.replace(/\/$/, '') };
}

/** What Node calls a middleware with. A program that calls one itself must pass the same. */
const MIDDLEWARE = optionsOf({
  request: membersOf({ rawHeaders: anyList, headers: anyObject }),
  response: membersOf({ setHeader: callable, end: callable }),
  next: callable,
});

export function checkMiddleware(call: string, request: unknown, response: unknown, next: unknown): void {
  checkArguments(call, { request, response, next }, MIDDLEWARE);
}

/** The argument `toolServer` of the adapters. By its members: two versions of the package may be installed. */
export const toolServerMade: Check = (value, name) =>
  membersOf({ policy: callable, policyForAnyScope: callable, remainingMs: callable, authorize: callable })(value, name)
    .length === 0
    ? []
    : [`${name} must be made by createToolServer`];

export function withStatusListDefaults(given: StatusListOptions): Required<StatusListOptions> {
  return { maxAgeMs: DEFAULT_MAX_AGE_MS, onStale: ON_STALE[0], ...withoutAbsent(given) };
}
