/** Pages without tasks: a message, and the question before agents act again. */

import { type Html, html } from '../browser/html.ts';
import { named } from '../browser/words.ts';
import { assets } from './assets.ts';
import { documentOfMe, form, texts } from './frame.ts';
import type { MessageKind } from './texts/texts.ts';
import type { Language, MeView } from './view.ts';

/** Says what went wrong, or what has ended. From `signing_out` the browser follows the link by itself. @param to its link */
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

/**
 * If the sign-in is too old, a link leads to another one. A form cannot: it would be redirected to the provider, whose origin
 * is not in the policy.
 */
export function resumeButton(view: Pick<MeView, 'base' | 'formToken' | 'mayResume'>, label: string): Html {
  if (!view.mayResume) return html`<a class="button" id="resume" href="${view.base}/me/sign-in?to=resume">${label}</a>`;
  return form(view, '/me/resume', html`<button id="resume">${label}</button>`);
}
