/** The question before agents act again, to which the sign-in leads that a person needs for it. */

import { type Html, html } from '../../browser/html.ts';
import type { Language } from '../../browser/language.ts';
import { named } from '../../browser/words.ts';
import { assets } from '../assets.ts';
import { HOME, type MeContext, type MePage, nameOf, type Outcome } from '../context.ts';
import { documentOfMe, form, texts } from '../frame.ts';
import type { PersonView } from '../view.ts';

interface ResumeView extends Pick<PersonView, 'base' | 'formToken' | 'person'> {
  /** Whether the person signed in lately enough to lift the pause. */
  readonly mayResume: boolean;
}

/** @returns a whole document */
export function renderResume(view: ResumeView, language: Language): string {
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
export function resumeButton(view: Omit<ResumeView, 'person'>, label: string): Html {
  if (!view.mayResume) return html`<a class="button" id="resume" href="${view.base}/me/sign-in?to=resume">${label}</a>`;
  return form(view, resumePage.forms.resume.path, html`<button id="resume">${label}</button>`);
}

async function resume({ surface, person }: MeContext): Promise<Outcome> {
  switch (await surface.resume(person)) {
    case 'lifted':
      return { kind: 'done', to: HOME, notice: { kind: 'resumed', amount: 0 } };
    case 'not_blocked':
      return { kind: 'done', to: HOME };
    case 'sign_in_too_old':
      return { kind: 'done', to: resumePage.path };
    case 'not_owned':
      return { kind: 'refused', message: { status: 409, kind: 'pause_elsewhere' } };
  }
}

export const resumePage = {
  path: '/me/resume',
  async show(context) {
    const { surface, base, person, session, language } = context;
    const mayResume = await surface.mayResume(person);
    const view = { base, person: nameOf(context), formToken: session.formToken, mayResume };
    return { document: renderResume(view, language) };
  },
  forms: { resume: { path: '/me/resume', change: resume } },
} as const satisfies MePage;
