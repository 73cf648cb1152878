/** Answers with a page of one message, and a link to what the person can do next. */

import type { IncomingMessage } from 'node:http';
import type { ErrorRequestHandler, Response } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { trimOws } from '../../../domain/trim-ows.ts';
import { answerFaultsWithPages } from '../browser/faults.ts';
import { PAGE_HEADERS, wantsPage } from '../browser/page-headers.ts';
import { discardRest } from '../message/body.ts';
import { renderMessage } from './message-page.ts';
import type { MessageKind } from './texts/texts.ts';
import { type Language, languages } from './view.ts';

export interface Notice {
  readonly status: number;
  readonly kind: MessageKind;
  /** The path of the issuer. */
  readonly base: string;
  /** Where the link leads: a path after the issuer's, or an address of the identity provider. The default is the page `/me`. */
  readonly to?: string;
}

/** Returns `false` for a program, which has no answer yet. */
export type AnswerBrowser = (response: Response, notice: Pick<Notice, 'status' | 'kind'>) => boolean;

export function answerNotice(response: Response, notice: Notice): void {
  const { status, kind, base, to } = notice;
  response.reason = kind;
  // RFC 9110 §15.5.2 requires it. A browser shows no dialog for this scheme.
  if (status === 401) response.set('WWW-Authenticate', 'Bearer');
  response
    .status(status)
    .set(PAGE_HEADERS)
    .send(renderMessage(kind, languageOf(response.req), base, to));
}

/** @param base the path of the issuer */
export function answerBrowser(base: string): AnswerBrowser {
  return (response, notice) => {
    if (!wantsPage(response.req)) return false;
    discardRest(response.req);
    answerNotice(response, { ...notice, base });
    return true;
  };
}

/** Answers a browser with a page. For a program it calls the next handler, which sends problem details. */
export function answerFaults(log: Log, base: string): ErrorRequestHandler {
  const pages = answerFaultsWithPages(log, (response, notice) => answerNotice(response, { ...notice, base }));
  return (error, request, response, next) => {
    if (wantsPage(request)) pages(error, request, response, next);
    else next(error);
  };
}

/** The first language of the browser's list that the page has. Browsers list the preferred language first. */
export function languageOf({ headers }: IncomingMessage): Language {
  const wanted = (headers['accept-language'] ?? '').split(',').map((range) => trimOws(range).slice(0, 2).toLowerCase());
  return languages.find((language) => wanted.find(isLanguage) === language) ?? 'en';
}

function isLanguage(text: string): boolean {
  return languages.some((language) => language === text);
}
