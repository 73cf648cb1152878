/** Pages without tasks: a message, and the question before agents act again. */

import { type Html, html } from '../browser/html.ts';
import { named } from '../browser/words.ts';
import { assets } from './assets.ts';
import { documentOfMe, form, texts } from './frame.ts';
import type { MessageKind } from './texts/texts.ts';
import type { Language, MeView } from './view.ts';

/** An error, or an end. The page `signing_out` opens its link. @param to where its link leads */
export function renderMessage(kind: MessageKind, language: Language, base: string, to = '/me'): string {
  const { title, text, action } = texts[language].messages[kind];
  const body = html`<main id="main">
<h1>${title}</h1>
<p>${text}</p>
<p><a class="button main" href="${to.startsWith('/') ? base : ''}${to}">${action}</a></p>
</main>`;
  return documentOfMe({ base, language, title, opens: kind === 'signing_out' ? to : undefined }, body);
}

/** The page that lifts the pause, after the person has signed in again. */
export function renderResume(
  view: Pick<MeView, 'base' | 'formToken' | 'mayResume' | 'person'>,
  language: Language,
): string {
  const words = texts[language];
  const body = html`<header>
<p><img src="${view.base}${assets.mark.path}" alt=""><span>${words.signedInAs(named(view.person))}</span></p>
</header>
<main id="main">
<h1>${words.resume}</h1>
<p>${words.resumeMeans}</p>
<div class="choices">
${resumeButton(view, words.resumeNow)}
<a class="button" href="${view.base}/me">${words.back}</a>
</div>
</main>`;
  return documentOfMe({ base: view.base, language, title: words.resume }, body);
}

/** Who signed in long ago signs in again. This is a link: a redirect of a form to the provider would need its origin in the policy. */
export function resumeButton(view: Pick<MeView, 'base' | 'formToken' | 'mayResume'>, label: string): Html {
  if (!view.mayResume) return html`<a class="button" id="resume" href="${view.base}/me/sign-in?to=resume">${label}</a>`;
  return form(view, '/me/resume', html`<button id="resume">${label}</button>`);
}
