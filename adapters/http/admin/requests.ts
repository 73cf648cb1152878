/** The check of the admin key, and parsers for query, path and body, for `/admin` and `/audit`. `/me` uses those for queries. */

import type { Request, RequestHandler, Response } from 'express';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../domain/identifiers.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import { isJsonObject, type JsonObject } from '../../../domain/tokens/strict-json.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { requireBearer } from '../message/bearer.ts';
import { discardRest, parseJson, readTypedBody } from '../message/body.ts';
import { queryParameters } from '../message/head.ts';
import { answerInvalid, answerProblem } from '../message/problem-details.ts';
import { forRequest, type Traceable } from '../traceable.ts';
import { authenticateOperator, type OperatorAccess, requireOperator } from './operators.ts';
import type { AdminRoute } from './roles.ts';

/** Writes the answer to a request. */
export type Answer = (response: Response) => void;

export interface AdminAccess {
  /** `undefined` disables the admin API. */
  readonly apiKey: Secret | undefined;
  /** Writes the record of a refused request. */
  refuse(reason: CredentialDenialReason, trace?: Trace): Promise<void>;
  /** `undefined` without `Service:Operators`. */
  readonly operators?: OperatorAccess | undefined;
}

/** Requires the admin key (specification "Authentication"), or of an operator a valid access token. */
export function requireAdminKey({ apiKey, refuse, operators }: AdminAccess): RequestHandler {
  if (operators !== undefined) return authenticateOperator({ apiKey, refuse }, operators);
  if (apiKey !== undefined) {
    return requireBearer({ credentials: [apiKey], refuse }, (response, reason) =>
      answerProblem(response, { status: 401, detail: 'The admin key is missing or wrong.', reason }),
    );
  }
  return (request, response) => {
    discardRest(request);
    const detail = 'The admin API is disabled: no admin key is configured.';
    answerProblem(response, { status: 503, detail, reason: 'admin_api_disabled' });
  };
}

/** The part of a surface that settles a change before it is answered. */
export interface Settling {
  /** Records the act of the request's operator, unless a decision has. Absent without an act. */
  settle?(): Promise<void>;
}

/**
 * A route that changes something. What the handler did is durable, and so is the record of who asked for it, before the
 * answer leaves. The handler returns `undefined` if the client has disconnected.
 */
export function changing<Surface extends AdminAccess & Settling, Parameters>(
  surface: Traceable<Surface>,
  route: AdminRoute,
  handle: (own: Surface, request: Request<Parameters>) => Promise<Answer | undefined>,
): RequestHandler<Parameters>[] {
  return [
    requireOperator(surface.operators, route) as RequestHandler<Parameters>,
    async (request, response) => {
      const own = forRequest<Surface>(surface, request);
      const answer = await handle(own, request);
      await own.settle?.();
      answer?.(response);
    },
  ];
}

interface QueryReader {
  /** The parsed parameter. `undefined` if the parameter is absent or invalid; an invalid one adds an error. */
  read<T>(name: string, parse: (text: string) => T | undefined, sentence: string): T | undefined;
  readonly errors: readonly FieldError[];
}

/**
 * Parses a query string strictly: only known parameters, each once, correctly encoded. If a mistyped or repeated filter
 * were ignored, an auditor would see other records than requested.
 *
 * @param url the request's URL, unchanged
 */
export function readQuery(url: string, known: readonly string[]): QueryReader {
  const values = new Map<string, string>();
  const errors: FieldError[] = [];
  for (const { rawName, name, value } of queryParameters(url)) {
    if (name === undefined || !known.includes(name)) {
      errors.push(...fieldErrors(name ?? rawName, 'Is not a parameter here.'));
    } else if (value === undefined) {
      errors.push(...fieldErrors(name, 'Must be percent-encoded UTF-8.'));
    } else if (values.has(name)) {
      errors.push(...fieldErrors(name, 'Must not be repeated.'));
    }
    if (name !== undefined && value !== undefined) values.set(name, value);
  }
  const read: QueryReader['read'] = (name, parse, sentence) => {
    const text = values.get(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) errors.push(...fieldErrors(name, sentence));
    return value;
  };
  return { read, errors };
}

/** The maximum page size (specification "Other limits"). */
const MAX_PAGE = 1000;

export const PAGE_SIZE_SENTENCE = `Must be an integer from 1 to ${MAX_PAGE}.`;

export function parsePageSize(text: string): number | undefined {
  const size = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
  return size !== undefined && size <= MAX_PAGE ? size : undefined;
}

/** The parameter that continues a page. */
export const CURSOR = 'cursor';
export const CURSOR_SENTENCE = 'Must be the next_cursor of a page.';

export function answerForeignCursor(response: Response): void {
  const sentence = 'Belongs to a page with other filters: send the filters of that page with it.';
  answerInvalid(response, fieldErrors(CURSOR, sentence));
}

/** The maximum length of a person's `sub`, and of a sponsor key. */
const MAX_SUBJECT_LENGTH = 256;
const CONTROL = /\p{Cc}/u;
export const SUBJECT_SENTENCE = `Must be 1 to ${MAX_SUBJECT_LENGTH} characters.`;

export function parseSubject(text: string): string | undefined {
  return text.length >= 1 && text.length <= MAX_SUBJECT_LENGTH && !CONTROL.test(text) ? text : undefined;
}

/** As long as a `resource`, and made of the same characters. */
const AUDIENCE = /^[^\s\p{Cc}]{1,2048}$/u;
export const AUDIENCE_SENTENCE = 'Must be 1 to 2048 characters, none of them white space or a control character.';

export function parseAudience(text: string): string | undefined {
  return AUDIENCE.test(text) ? text : undefined;
}

/** The page size if the request names none. */
export const DEFAULT_PAGE = 100;

/** A sequence number in plain digits without leading zeros; `undefined` for anything else. */
export function parseOrdinal(text: string): number | undefined {
  const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
}

export const SPONSOR_KEY_SENTENCE = 'Must be 1 to 256 characters, none of them white space or a control character.';

/** Parses a sponsor key in a path (specification "Admin API"). Returns the answer if it is invalid. */
export function readSponsorKey(text: string): SponsorKey | Answer {
  const invalid: Answer = (response) => answerInvalid(response, fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE));
  return parseSponsorKey(text) ?? invalid;
}

/**
 * Reads the JSON object in the request's body (supplement "Token endpoint", "Agents"). Returns the answer if there is none,
 * and `undefined` if the client has disconnected.
 */
export async function readJsonBody(request: Request): Promise<JsonObject | Answer | undefined> {
  const body = await readTypedBody(request, ['application/json'], 'The body must be application/json, in UTF-8.');
  if (body.kind === 'aborted') return undefined;
  const refuse =
    (status: 400 | 415, detail: string, reason: string): Answer =>
    (response) =>
      answerProblem(response, { status, detail, reason });
  if (body.kind === 'refused') {
    return refuse(body.reason === 'body_too_large' ? 400 : 415, body.sentence, body.reason);
  }
  const value = parseJson(body.bytes);
  if (isJsonObject(value)) return value;
  return refuse(400, value === undefined ? MALFORMED : 'The body must be a JSON object.', 'malformed_body');
}

const MALFORMED =
  'The body must be well-formed JSON in UTF-8, without a member named twice and without nesting deeper than 32.';
