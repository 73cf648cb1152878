/** Answers with a page of one message, and a link to what the person can do next. */

import type { ErrorRequestHandler, Response } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { answerFaultsWithPages } from '../browser/faults.ts';
import { html } from '../browser/html.ts';
import { type Language, languageOf } from '../browser/language.ts';
import { PAGE_HEADERS, wantsPage } from '../browser/page-headers.ts';
import { named } from '../browser/words.ts';
import { discardRest } from '../message/body.ts';
import { documentOfMe, texts } from './frame.ts';
import type { MessageKind } from './texts/en.ts';

/** A page that says one thing. */
export interface Message {
  readonly status: number;
  readonly kind: MessageKind;
  /** The account that is signed in, and the path of a sign-in with another one. */
  readonly signedIn?: { readonly as: string; readonly to: string };
}

interface MessagePage extends Message {
  /** The path of the issuer. */
  readonly base: string;
  /** Where the link leads: a path after the issuer's, or an address of the identity provider. The default is the page `/me`. */
  readonly to?: string;
}

/** Says what went wrong, or what has ended. From `signing_out` the browser follows the link by itself. @param to its link */
export function renderMessage(
  kind: MessageKind,
  language: Language,
  base: string,
  to = '/me',
  signedIn?: Message['signedIn'],
): string {
  const words = texts[language];
  const { title, text, action } = words.messages[kind];
  const body = html`<main id="main">
<h1>${title}</h1>
<p>${text}</p>
${
  signedIn &&
  html`<p>${words.maybeAnothers(named(signedIn.as))}</p>
`
}<p class="pages"><a class="button main" href="${to.startsWith('/') ? base : ''}${to}">${action}</a>${
    signedIn && html`<a class="button" href="${base}${signedIn.to}">${words.signInAsAnother}</a>`
  }</p>
</main>`;
  return documentOfMe({ base, language, title, opens: kind === 'signing_out' ? to : undefined }, body);
}

/** Returns `false` for a program, which has no answer yet. */
export type AnswerBrowser = (response: Response, message: Message) => boolean;

export function answerMessage(response: Response, { status, kind, base, to, signedIn }: MessagePage): void {
  response.reason = kind;
  // RFC 9110 §15.5.2 requires it. A browser shows no dialog for this scheme.
  if (status === 401) response.set('WWW-Authenticate', 'Bearer');
  response
    .status(status)
    .set(PAGE_HEADERS)
    .send(renderMessage(kind, languageOf(response.req), base, to, signedIn));
}

/** @param base the path of the issuer */
export function answerBrowser(base: string): AnswerBrowser {
  return (response, message) => {
    if (!wantsPage(response.req)) return false;
    discardRest(response.req);
    answerMessage(response, { ...message, base });
    return true;
  };
}

/** Answers a browser with a page. For a program it calls the next handler, which sends problem details. */
export function answerFaults(log: Log, base: string): ErrorRequestHandler {
  const pages = answerFaultsWithPages(log, (response, message) => answerMessage(response, { ...message, base }));
  return (error, request, response, next) => {
    if (wantsPage(request)) pages(error, request, response, next);
    else next(error);
  };
}
