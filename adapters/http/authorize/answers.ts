/** Writes the answers of `/oauth2/authorize`: pages, and redirects to the client. */

import type { ErrorRequestHandler, Response } from 'express';
import { DOCUMENT_AWAY } from '../../../application/authentication/authenticate-client.ts';
import type { FoundRequest, OverReason } from '../../../application/authorization/answer.ts';
import type { AnswerAddress, UnaddressedReason } from '../../../application/authorization/judge-request.ts';
import type { Denial } from '../../../application/outcome.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { withAnswer } from '../../../domain/agents/redirect-uri.ts';
import { answerError } from '../../../domain/authorization/answer-error.ts';
import { type DenialReason, describeDenial, type OAuthError } from '../../../domain/denial.ts';
import type { SignInDenial } from '../../../domain/sign-in-denial.ts';
import type { PurposeMode } from '../../../domain/tasks/purpose.ts';
import { formTokenOf } from '../browser/cookies.ts';
import { answerFaultsWithPages } from '../browser/faults.ts';
import { languageOf } from '../browser/language.ts';
import { CLIENT_FORM_PAGE_HEADERS, PAGE_HEADERS } from '../browser/page-headers.ts';
import type { ScopeWords } from '../browser/scope-words.ts';
import { discardRest } from '../message/body.ts';
import { DATABASE_RETRY_AFTER } from '../message/faults.ts';
import { issuerPath } from '../routes.ts';
import { nameKeptWith } from './cookies.ts';
import {
  type MessageKind,
  messageOf,
  overMessage,
  type QuestionView,
  refusalAddress,
  renderMessage,
  renderQuestion,
} from './page.ts';

export interface AnswerOptions {
  readonly issuer: string;
  readonly clock: Clock;
  readonly scopeWords: ScopeWords;
  /** `Service:Tasks:Purpose`. */
  readonly purpose: PurposeMode;
  /** `Service:Agents:MinTaskTtl`, in seconds. */
  readonly minTaskTtl: number;
  readonly log: Log;
}

/** A document has sentences that no record needs. */
const UNADDRESSED: Readonly<Record<UnaddressedReason, { readonly error: OAuthError; readonly sentence: string }>> = {
  client_unknown: { error: 'invalid_client', sentence: describeDenial('client_unknown').sentence },
  client_document_unusable: {
    error: 'invalid_client',
    sentence: "The client's metadata document cannot be used.",
  },
  client_document_unavailable: { error: 'temporarily_unavailable', sentence: DOCUMENT_AWAY },
  redirect_uri_not_registered: {
    error: 'invalid_request',
    sentence: describeDenial('redirect_uri_not_registered').sentence,
  },
};

type OpenRequest = Extract<FoundRequest, { readonly kind: 'open' }>;

/** Each writes the whole answer. */
export interface Answers {
  /**
   * A page. Nothing is sent to an address that may not be the client's (RFC 6749 §4.1.2.1). A program that prefers JSON gets the
   * OAuth error: after `invalid_client`, clients register again.
   */
  unaddressed(response: Response, reason: UnaddressedReason): void;
  /** To the client. */
  refused(response: Response, to: AnswerAddress, denial: Pick<Denial, 'reason' | 'detail'>): void;
  /** To the client, with the code (RFC 6749 §4.1.2, RFC 9207 §2). */
  allowed(response: Response, to: AnswerAddress, code: string): void;
  /** A page, whose link tells the client. */
  ended(response: Response, to: AnswerAddress, reason: DenialReason | SignInDenial): void;
  /** The same. @param to `undefined` if it is not known to this browser */
  over(response: Response, why: OverReason, to?: AnswerAddress): void;
  question(response: Response, open: OpenRequest, again?: Pick<QuestionView, 'lacks' | 'chosen'>): void;
  asksPurpose(open: OpenRequest): boolean;
  message(response: Response, status: 400 | 403 | 503, kind: MessageKind, back?: string): void;
  readonly faults: ErrorRequestHandler;
}

export function answerWith(options: AnswerOptions): Answers {
  const { issuer, log } = options;
  const frame = (response: Response) => ({ base: issuerPath(issuer), language: languageOf(response.req) });
  const message: Answers['message'] = (response, status, kind, back) => {
    discardRest(response.req);
    response.reason = kind;
    if (status === 503) response.set('Retry-After', String(DATABASE_RETRY_AFTER));
    response
      .status(status)
      .set(PAGE_HEADERS)
      .send(renderMessage(frame(response), kind, back));
  };
  const asksPurpose: Answers['asksPurpose'] = ({ request }) =>
    options.purpose === 'require' && request.purpose === undefined;

  return {
    message,
    asksPurpose,
    unaddressed(response, reason) {
      const { error, sentence } = UNADDRESSED[reason];
      const status = error === 'temporarily_unavailable' ? 503 : 400;
      if (response.req.accepts(['html', 'json']) !== 'json') return message(response, status, reason);
      discardRest(response.req);
      response.reason = reason;
      if (status === 503) response.set('Retry-After', String(DATABASE_RETRY_AFTER));
      response.status(status).json({ error, error_description: sentence });
    },
    refused(response, to, { reason, detail }) {
      response.reason = reason;
      sendAway(response, refusalAddress(issuer, to, reason, detail));
    },
    allowed: (response, { redirectUri, state }, code) =>
      sendAway(response, withAnswer(redirectUri, { code, state, iss: issuer })),
    ended(response, to, reason) {
      const status = answerError(reason) === 'temporarily_unavailable' ? 503 : reason === 'request_expired' ? 400 : 403;
      message(response, status, messageOf(reason), refusalAddress(issuer, to, reason));
    },
    over(response, why, to) {
      const { kind, reason } = overMessage(why);
      // The client has its answer already.
      const back = to === undefined || why.kind === 'answered' ? undefined : refusalAddress(issuer, to, reason);
      message(response, 400, kind, back);
    },
    question(response, open, again = {}) {
      const { request, agent, isProven, secret } = open;
      const { clock, scopeWords, minTaskTtl } = options;
      const view: QuestionView = {
        request,
        agent,
        isProven,
        person: nameKeptWith(secret, response.req.headers.cookie),
        formToken: formTokenOf(secret),
        now: clock.now(),
        scopeWords,
        minTaskTtl,
        asksPurpose: asksPurpose(open),
        ...again,
      };
      response
        .status(again.lacks === undefined ? 200 : 400)
        .set(CLIENT_FORM_PAGE_HEADERS)
        .send(renderQuestion(frame(response), view));
    },
    faults: answerFaultsWithPages(log, (response, { status, kind }) => {
      response.reason = kind;
      response
        .status(status)
        .set(PAGE_HEADERS)
        .send(renderMessage(frame(response), kind));
    }),
  };
}

/**
 * Always a GET (RFC 9700 §4.12: with 307 the browser would send the person's form to the client). The body is empty: Express would
 * write the address into it, with the code.
 */
function sendAway(response: Response, address: string): void {
  discardRest(response.req);
  response.set({ ...PAGE_HEADERS, 'Referrer-Policy': 'no-referrer', Location: address, 'Content-Length': '0' });
  response.status(303).end();
}
