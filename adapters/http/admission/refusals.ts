/**
 * Answers requests that are refused admission, in the shape of each surface (specification "Errors"; supplement "Errors
 * elsewhere"). The answers are built once, because refusing must stay cheap under overload.
 */

import type { IncomingMessage } from 'node:http';
import { describeDenial } from '../../../domain/denial.ts';
import { discardRest } from '../message/body.ts';
import { CAPACITY_RETRY_AFTER } from '../message/faults.ts';
import { statusOf } from '../oauth/answers.ts';
import type { Surface } from '../routes.ts';
import { scimErrorMessage } from '../scim/answers.ts';
import type { AdmissionRefusal, ServedResponse } from '../server/message-classes.ts';
import { problemDocument } from '../server/problem-document.ts';
import { RETRY_AFTER_SECONDS } from './rate-limit.ts';

const RETRY_AFTER: Readonly<Record<AdmissionRefusal, number>> = {
  rate_limited: RETRY_AFTER_SECONDS,
  overloaded: CAPACITY_RETRY_AFTER,
};

/** The page for a browser, `undefined` for a program. */
export type RefusalPages = (request: IncomingMessage, reason: AdmissionRefusal) => Answer | undefined;

/** The pages of each surface that has some. */
export type PagesOf = Partial<Readonly<Record<Surface, RefusalPages | undefined>>>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  /** A string, not a buffer: Node writes a string together with the head. */
  readonly body: string;
}

/** Answers without reading the request. Discards a limited amount of its body. */
export function answerRefusal(
  request: IncomingMessage,
  response: ServedResponse,
  surface: Surface,
  reason: AdmissionRefusal,
  pages?: PagesOf,
): void {
  if (response.writableEnded || response.destroyed) return;
  const page = pages?.[surface]?.(request, reason);
  const { status, headers, body } = page ?? ANSWERS[surface][reason];
  response.refusal = reason;
  discardRest(request);
  response.writeHead(status, headers);
  response.end(body);
}

const NOT_STORED = { 'Cache-Control': 'no-store' } as const;
const JSON_TYPE = 'application/json; charset=utf-8';

const ANSWERS: Readonly<Record<Surface, Readonly<Record<AdmissionRefusal, Answer>>>> = {
  oauth: both((reason) => ({ ...oauth(reason), headers: { Pragma: 'no-cache' } })),
  backchannel_logout: both(oauth),
  scim: both((reason) => {
    const { status, sentence } = told(reason);
    return { type: 'application/scim+json', document: scimErrorMessage({ status, detail: sentence }) };
  }),
  // RFC 8935 has no code for "try later", so this is OAuth's code.
  events: both((reason) => {
    const { error, sentence } = told(reason);
    return { type: JSON_TYPE, document: { err: error, description: sentence } };
  }),
  admin: both(problem),
  me: both(problem),
  authorize: both(problem),
  console: both(problem),
  public: both(problem),
};

interface Shape {
  readonly type: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

function oauth(reason: AdmissionRefusal): Shape {
  const { error, sentence } = told(reason);
  return { type: JSON_TYPE, document: { error, error_description: sentence } };
}

function problem(reason: AdmissionRefusal): Shape {
  const { status, error, sentence } = told(reason);
  return {
    type: 'application/problem+json; charset=utf-8',
    document: problemDocument({ status, error, detail: sentence }),
  };
}

function told(reason: AdmissionRefusal) {
  const { error, sentence } = describeDenial(reason);
  return { status: statusOf(error), error, sentence };
}

export function answerOf(reason: AdmissionRefusal, headers: Readonly<Record<string, string>>, body: string): Answer {
  const length = Buffer.byteLength(body);
  return {
    status: told(reason).status,
    headers: { ...NOT_STORED, ...headers, 'Retry-After': RETRY_AFTER[reason], 'Content-Length': length },
    body,
  };
}

function both(shape: (reason: AdmissionRefusal) => Shape): Readonly<Record<AdmissionRefusal, Answer>> {
  const answer = (reason: AdmissionRefusal): Answer => {
    const { type, document, headers } = shape(reason);
    return answerOf(reason, { ...headers, 'Content-Type': type }, JSON.stringify(document));
  };
  return { rate_limited: answer('rate_limited'), overloaded: answer('overloaded') };
}
