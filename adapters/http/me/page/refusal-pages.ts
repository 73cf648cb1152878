/** The pages with which admission refuses a browser at `/me`. They are rendered once, because refusals must be cheap. */

import { type Answer, answerOf, type RefusalPages } from '../../admission/refusals.ts';
import { PAGE_HEADERS, wantsPage } from '../../browser/page-headers.ts';
import type { AdmissionRefusal } from '../../server/message-classes.ts';
import { languageOf } from './notice.ts';
import { renderMessage } from './page.ts';
import { type Language, languages } from './view.ts';

/** @param base the path of the issuer */
export function refusalPages(base: string): RefusalPages {
  const answers = (reason: AdmissionRefusal) =>
    Object.fromEntries(
      languages.map((language) => [language, answerOf(reason, PAGE_HEADERS, renderMessage(reason, language, base))]),
    ) as Readonly<Record<Language, Answer>>;
  const pages = { rate_limited: answers('rate_limited'), overloaded: answers('overloaded') };
  return (request, reason) => (wantsPage(request) ? pages[reason][languageOf(request)] : undefined);
}
