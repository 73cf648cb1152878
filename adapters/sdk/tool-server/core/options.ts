/** The options of `createToolServer`, their defaults and checks (specification "Options and defaults"). */

import { audienceProblem, issuerProblem } from '../../../../domain/address.ts';
import { DEFAULT_LIST_MAX_AGE_SECONDS } from '../../../../domain/tasks/status-list.ts';
import { CLOCK_SKEW_SECONDS, MAX_CLOCK_SKEW_SECONDS } from '../../../../domain/tokens/compact-jws.ts';
import { isObject } from '../../../../domain/tokens/strict-json.ts';
import { trimOws } from '../../../../domain/trim-ows.ts';
import {
  anyObject,
  anything,
  type Check,
  type Checks,
  callable,
  checkArguments,
  flag,
  listOf,
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

/** `issuer` for the tokens of one control plane, or `issuers` for those of several. */
export type ToolServerOptions = CommonOptions & (OneIssuer | SeveralIssuers);

interface OneIssuer {
  /** The control plane's URL, which is the `iss` of every task token: https, or http on this machine. */
  readonly issuer: string;
  readonly issuers?: never;
}

interface SeveralIssuers {
  readonly issuer?: never;
  /** The control planes, 1 to 64. The `iss` of a token chooses the one that is asked about it. Events name it. */
  readonly issuers: readonly IssuerOptions[];
}

/** One of several control planes. An option that it has replaces the common one. */
export interface IssuerOptions extends Pick<CommonOptions, OfIssuer> {
  /** As the option `issuer` of a tool server with one control plane. */
  readonly issuer: string;
}

/** The common options that each of several control planes may have for itself. */
type OfIssuer = 'statusList' | 'approvalKey' | 'fetch';

interface CommonOptions {
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
   * Gets each error that was answered with a 500 without details, and each error of `startSpan`. Of a status list it gets the
   * first failure after a success. By default it writes to stderr.
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
export type CheckedOptions = Required<Omit<CommonOptions, OfIssuer>> & CheckedIssuers;

export interface CheckedIssuers {
  readonly issuers: readonly CheckedIssuer[];
  /** Whether the option `issuers` was given, also with one entry. Then events name the control plane. */
  readonly areNamed: boolean;
}

/** A control plane with its own options, or else the common ones. */
export interface CheckedIssuer extends Required<Pick<IssuerOptions, 'issuer' | 'fetch'>> {
  readonly statusList: Required<StatusListOptions> | undefined;
  readonly approvalKey: ApprovalKey | undefined;
}

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
/** More control planes than a tool server has customers with one. Each has a cache of keys. */
export const MAX_ISSUERS = 64;
/** The text allowed in a quoted-string (RFC 9110 §5.6.4). A line break would start another header. */
const HEADER_TEXT = /^[\x20-\x7E]+$/;

const anyList = must('be a list', Array.isArray);

export const depth = wholeNumber(1, Number.MAX_SAFE_INTEGER, 'of 1 or more');

const oneIssuer = textWithout(issuerProblem);

const COMMON: Checks<CommonOptions> = {
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

const { statusList, approvalKey: key, fetch } = COMMON;
const ENTRY: Checks<IssuerOptions> = { issuer: oneIssuer, statusList, approvalKey: key, fetch };

/** One entry for each control plane. */
const issuerList: Check = (value, name) => {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_ISSUERS) {
    return [`${name} must be a list of 1 to ${MAX_ISSUERS} control planes`];
  }
  const texts = value.map((entry: unknown) => (isObject(entry) ? entry.issuer : undefined));
  const repeated = repeatedIssuers(texts).map((at) => `${name}[${at}].issuer ${REPEATED}`);
  return [...listOf(optionsOf(ENTRY))(value, name), ...repeated];
};

const ONE = optionsOf({ issuer: oneIssuer, issuers: optional(anything), ...COMMON });
const SEVERAL = optionsOf({
  issuer: must('be absent beside issuers', (value) => value === undefined),
  issuers: issuerList,
  ...COMMON,
});

/** Follows the name of an issuer that an earlier one repeats. */
export const REPEATED = 'must not name a control plane that an earlier one names';

/** The places of the issuers that an earlier one names too, also in another spelling: only one of them can be the `iss`. */
export function repeatedIssuers(texts: readonly unknown[]): readonly number[] {
  const names = texts.map((text) => {
    return typeof text === 'string' && URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : undefined;
  });
  return [...names.keys()].filter((at) => names[at] !== undefined && names.indexOf(names[at]) < at);
}

/** @throws TypeError that lists every wrong option */
export function checkOptions(given: ToolServerOptions): CheckedOptions {
  const check: Check = (options, name) => {
    return (isObject(options) && options.issuers !== undefined ? SEVERAL : ONE)(options, name);
  };
  checkArguments('createToolServer', given, check);
  const { issuer: _one, issuers: _several, statusList: _lists, approvalKey: _key, fetch: _fetch, ...common } = given;
  return {
    clockSkewSeconds: CLOCK_SKEW_SECONDS,
    requireActor: true,
    maxDelegationDepth: 1,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    realm: given.audience,
    onAccess: writeEvent,
    onError: (error) => console.error(error),
    startSpan: noSpan,
    now: () => Date.now(),
    ...withoutAbsent(common),
    ...checkedIssuers(given),
  };
}

/** The options that say which control planes there are. */
export type GivenIssuers = Pick<CommonOptions, OfIssuer> & (OneIssuer | SeveralIssuers);

/** @param given checked options */
export function checkedIssuers(given: GivenIssuers): CheckedIssuers {
  const { statusList, approvalKey, fetch = (...request) => globalThis.fetch(...request) } = given;
  const entries = given.issuers ?? [{ issuer: given.issuer }];
  const issuers = entries.map((entry): CheckedIssuer => {
    const own = { statusList, approvalKey, fetch, ...withoutAbsent(entry) };
    return {
      ...own,
      // The control plane also drops the last slash of its issuer, so no token has it.
      issuer: own.issuer.replace(/\/$/, ''),
      statusList: own.statusList && {
        maxAgeMs: DEFAULT_MAX_AGE_MS,
        onStale: ON_STALE[0],
        ...withoutAbsent(own.statusList),
      },
    };
  });
  return { issuers, areNamed: given.issuers !== undefined };
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
