/** Answers with pages where a handler threw, and where admission refused a request. */

import type { IncomingMessage } from 'node:http';
import type { ErrorRequestHandler, Response } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type Answer, answerOf, type RefusalPages } from '../admission/refusals.ts';
import { DATABASE_RETRY_AFTER, faultHandler } from '../message/faults.ts';
import type { AdmissionRefusal } from '../server/message-classes.ts';
import { PAGE_HEADERS, wantsPage } from './page-headers.ts';

interface FaultMessage {
  readonly status: number;
  readonly kind: 'storage_unavailable' | 'malformed' | 'fault';
}

export function answerFaultsWithPages(
  log: Log,
  say: (response: Response, message: FaultMessage) => void,
): ErrorRequestHandler {
  return faultHandler(log, {
    unavailable(response) {
      response.set('Retry-After', String(DATABASE_RETRY_AFTER));
      say(response, { status: 503, kind: 'storage_unavailable' });
    },
    malformedPath: (response) => say(response, { status: 400, kind: 'malformed' }),
    fault: (response) => say(response, { status: 500, kind: 'fault' }),
  });
}

/** Renders the pages once, because refusals must be cheap. A program gets problem details. */
export function refusalPages<Language extends string>(
  languages: readonly Language[],
  languageOf: (request: IncomingMessage) => Language,
  render: (reason: AdmissionRefusal, language: Language) => string,
): RefusalPages {
  const answers = (reason: AdmissionRefusal) =>
    new Map<Language, Answer>(
      languages.map((language) => [language, answerOf(reason, PAGE_HEADERS, render(reason, language))]),
    );
  const pages = { rate_limited: answers('rate_limited'), overloaded: answers('overloaded') };
  return (request, reason) => (wantsPage(request) ? pages[reason].get(languageOf(request)) : undefined);
}
