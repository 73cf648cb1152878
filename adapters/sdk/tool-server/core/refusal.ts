/**
 * The catalogue of refusals: each reason with its status, error and sentence (specification "Tool-server refusals"). It adds
 * reasons for a tool's own policy, for status lists, for calls that a person approves, and for the guard. A reason that is
 * missing here does not compile.
 */

import type { ServerResponse } from 'node:http';
import { formatScope, type Scope } from '../../../../domain/scope.ts';

const BY_STATUS = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
  413: 'invalid_request',
  429: 'slow_down',
  503: 'temporarily_unavailable',
  500: 'server_error',
} as const;

type Status = keyof typeof BY_STATUS;

/**
 * No scope helps against refused arguments or the lack of an approval. `insufficient_scope` would make clients request more
 * scopes.
 */
type CallError = 'arguments_refused' | 'approval_required' | 'approval_refused' | 'approval_expired' | 'approval_spent';

type RefusalError = (typeof BY_STATUS)[Status] | CallError;

interface Entry {
  readonly status: Status;
  readonly sentence: string;
  /** By default that of the status. */
  readonly error?: CallError;
  /** In seconds; of a refusal of this server. Others repeat that of the control plane. */
  readonly retryAfter?: string;
}

const entry = (status: Status, sentence: string, error?: CallError): Entry => ({
  status,
  sentence,
  ...(error && { error }),
});

const catalogue = {
  malformed_request: entry(400, 'The request does not have one method and one path that every server reads alike.'),
  missing_token: entry(401, 'The request carries no bearer token.'),
  malformed_token: entry(401, 'The token is not a well-formed task token.'),
  unsupported_algorithm: entry(401, 'The token is not signed with ES256.'),
  wrong_type: entry(401, 'The token is not of the type at+jwt.'),
  unknown_key: entry(401, 'The token names no key that the control plane publishes.'),
  invalid_signature: entry(401, 'The signature of the token does not verify.'),
  wrong_issuer: entry(401, 'The token was issued by another control plane.'),
  wrong_audience: entry(401, 'The token was issued for another server.'),
  expired: entry(401, 'The token has expired.'),
  not_yet_valid: entry(401, 'The token is not valid yet.'),
  no_subject: entry(401, 'The token names no person.'),
  subject_is_agent: entry(401, 'The token names an agent where it has to name a person.'),
  no_actor: entry(401, 'Only an agent that acts for a person is answered here.'),
  not_active: entry(401, 'The control plane says that the token is not active.'),
  delegation_too_deep: entry(403, 'The token was handed on more often than is accepted here.'),
  insufficient_scope: entry(403, 'The token lacks a required scope.'),
  unknown_route: entry(403, 'No policy lets anybody use this route.'),
  unknown_tool: entry(403, 'No policy lets anybody use this tool.'),
  headers_differ: entry(400, 'A header of the message names another method, tool or revision than its body.'),
  arguments_refused: entry(403, 'The policy of the tool refuses these arguments.', 'arguments_refused'),
  approval_required: entry(
    403,
    'A person has to approve this call at approval_uri. Then repeat it.',
    'approval_required',
  ),
  approval_refused: entry(403, 'The person refused this call.', 'approval_refused'),
  approval_expired: entry(403, 'The approval of this call expired. Repeat the call to ask again.', 'approval_expired'),
  approval_spent: entry(403, 'The approval of this call was used: it was let through before.', 'approval_spent'),
  too_many_pending: entry(429, 'Too many calls wait for this person. Repeat the call when they have answered.'),
  malformed_body: entry(
    400,
    'The body of this call must be JSON that all readers read alike, sent as application/json in UTF-8.',
  ),
  body_too_long: entry(413, 'The body is longer than is accepted here.'),
  overloaded: {
    ...entry(503, 'Too many requests are held here with their bodies. Retry the request.'),
    retryAfter: '1',
  },
  introspection_unavailable: entry(503, 'The control plane could not be asked about the token. Retry the request.'),
  status_unavailable: entry(
    503,
    'No fresh status list of the control plane has the status of the token. Retry the request.',
  ),
  policy_unavailable: entry(503, 'The policy of the tool did not decide about the arguments. Retry the request.'),
  approval_unavailable: entry(
    503,
    'The control plane could not be asked for the approval, or was asked too often. Retry the request.',
  ),
  keys_unavailable: entry(503, 'The keys of the control plane could not be fetched. Retry the request.'),
  /** For an internal fault, which also refuses the request: "any other error" in the specification. */
  internal_error: entry(500, 'The server met an unexpected condition.'),
} as const satisfies Record<string, Entry>;

/** A stable, machine-readable reason. */
export type RefusalReason = keyof typeof catalogue;

/**
 * Every reason, in the order of the specification's table; for documentation and tests.
 *
 * @example
 * ```ts
 * import { refusalReasons } from '@mandate/tool-server';
 *
 * const counts = new Map(refusalReasons.map((reason) => [reason, 0]));
 * console.log(counts.get('expired'));
 * ```
 */
export const refusalReasons = Object.keys(catalogue) as readonly RefusalReason[];

export interface RefusalBody {
  readonly error: RefusalError;
  readonly error_description?: string;
  readonly reason?: RefusalReason;
  /** With `approval_required`: the page where the person approves the call. */
  readonly approval_uri?: string;
  /** With `approval_refused`: why not, in the words of the person, if they wrote a line with the no. */
  readonly person_says?: string;
}

/** The complete response to a refused request. It holds no part of the token. */
export interface Refusal {
  readonly kind: 'refused';
  readonly status: Status;
  readonly reason: RefusalReason;
  readonly error: RefusalError;
  readonly message: string;
  /** `WWW-Authenticate` with 401, 403 and `malformed_request`, and the control plane's `Retry-After` or interval if it sent one. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response, as JSON. */
  readonly body: RefusalBody;
}

/** Details that a refusal adds to its reason. */
export interface RefusalDetail {
  /** The scopes that the token lacks. */
  readonly missing?: Scope;
  /** The control plane's code for why the token is not active. */
  readonly revocationReason?: string | undefined;
  readonly retryAfter?: string | undefined;
  readonly approvalUri?: string;
  /** With `approval_refused`: what the person wrote. It may have any characters but control characters, so no header has it. */
  readonly personSays?: string;
  /** Of a refused call: a sentence that repeats no value of the call. It may have names of any script. */
  readonly unusable?: string;
}

/** A call that its policy refuses, with a sentence that repeats no value of the call. */
export class RefusedCall {
  readonly reason = 'arguments_refused';
  readonly detail: RefusalDetail;

  constructor(sentence: string) {
    this.detail = { unusable: sentence };
  }
}

export function describeRefusal(
  reason: RefusalReason,
): Pick<Entry, 'status' | 'sentence' | 'retryAfter'> & Pick<RefusalBody, 'error'> {
  const { error, ...entry }: Entry = catalogue[reason];
  return { ...entry, error: error ?? BY_STATUS[entry.status] };
}

export function refusal(reason: RefusalReason, realm: string, detail: RefusalDetail = {}): Refusal {
  const { status, sentence, error, retryAfter = detail.retryAfter } = describeRefusal(reason);
  const message = [sentence, ...remarks(detail)].join(' ');
  // A header has ASCII only, so the challenge has the first part.
  const whole = detail.unusable === undefined ? message : `${message} ${detail.unusable}`;
  return {
    kind: 'refused',
    status,
    reason,
    error,
    message: whole,
    headers: {
      ...(isChallenged(reason, status)
        ? { 'WWW-Authenticate': challenge(realm, reason === 'missing_token' ? {} : { error, message }) }
        : {}),
      ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }),
    },
    // A 500 shows no details, not even the reason (specification "Tool-server refusals").
    body: status === 500 ? { error } : { error, error_description: whole, reason, ...approvalOf(detail) },
  };
}

/** Towards a gateway `malformed_request` is a 403, so it has a challenge like every other 403. */
function isChallenged(reason: RefusalReason, status: Status): boolean {
  return status === 401 || status === 403 || reason === 'malformed_request';
}

function approvalOf({ approvalUri, personSays }: RefusalDetail): Pick<RefusalBody, 'approval_uri' | 'person_says'> {
  return {
    ...(approvalUri === undefined ? {} : { approval_uri: approvalUri }),
    ...(personSays === undefined ? {} : { person_says: personSays }),
  };
}

function remarks({ missing, revocationReason }: RefusalDetail): readonly string[] {
  return [
    ...(missing === undefined ? [] : [`Missing: ${formatScope(missing)}.`]),
    ...(revocationReason === undefined ? [] : [`Reason: ${revocationReason}.`]),
  ];
}

/** RFC 6750 §3: without a token in the request, the challenge names no error. */
function challenge(realm: string, fault: { readonly error?: string; readonly message?: string }): string {
  const parameters = [
    `realm=${quoted(realm)}`,
    ...(fault.error === undefined ? [] : [`error=${quoted(fault.error)}`]),
    ...(fault.message === undefined ? [] : [`error_description=${quoted(fault.message)}`]),
  ];
  return `Bearer ${parameters.join(', ')}`;
}

/** A quoted-string (RFC 9110 §5.6.4). */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Writes a refusal to a node:http response, which Express and MCP servers use too. */
export function answerRefusal(response: ServerResponse, { status, headers, body }: Refusal): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // RFC 6750 §5.3: the response depends on the token, so no cache may reuse it.
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
