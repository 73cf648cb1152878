/** The document of all pages of `/me`, and the header and scripts of the pages of a signed-in person. */

import { toMillisecondText } from '../../../domain/instant.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import type { Language } from '../browser/language.ts';
import { documentOfPerson, type Skip } from '../browser/person-document.ts';
import { form as formOf, named } from '../browser/words.ts';
import { assets } from './assets.ts';
import { noticeText } from './notice.ts';
import { de } from './texts/de.ts';
import { en, type Texts } from './texts/en.ts';
import type { PersonView } from './view.ts';

export const texts: Readonly<Record<Language, Texts>> = { en, de };

interface Head {
  readonly base: string;
  readonly language: Language;
  /** The browser keeps the title: it names no agent. */
  readonly title: string;
  /** The address that the browser opens next. */
  readonly opens?: string | undefined;
  /** By default one link, to the content. */
  readonly skips?: readonly Skip[];
}

export function documentOfMe({ skips, ...head }: Head, body: Html): string {
  return documentOfPerson({ ...head, skips: skips ?? [CONTENT(texts[head.language])] }, body);
}

const CONTENT = (words: Texts): Skip => ['#main', words.skipToContent];

/** A person hears of an approval that waits within seconds. Other pages renew themselves less often (renewal.js). */
const RENEW_MS = 4000;

/**
 * The script replaces this part only by another version. Until then its buttons stay in their places: nothing that changes is
 * above it.
 */
interface ApprovalsPart {
  readonly version: string;
  readonly shown: Insert;
}

interface Content {
  readonly title: string;
  /** The title as the page shows it. */
  readonly heading: Insert;
  readonly approvals?: ApprovalsPart | undefined;
  /** The part that the script renews. */
  readonly renewed: Insert;
  readonly below?: Insert;
  readonly skips?: readonly Skip[];
  /** The address of the page, if it answers a form: the script renews it from there. */
  readonly address?: string | undefined;
}

/** A page of a signed-in person. `data-signed-in`: the script removes the element when the session is over. */
export function pageOfPerson(view: PersonView, language: Language, content: Content): string {
  const words = texts[language];
  const { base, notice } = view;
  const { title, heading, approvals, renewed, below, skips, address = '' } = content;
  const body = html`<header>
<p><img src="${base}${assets.mark.path}" alt=""><span data-signed-in>${words.signedInAs(named(view.person))}</span></p>
<div data-signed-in>${form(view, '/me/sign-out', html`<button class="plain">${words.signOut}</button>`)}</div>
</header>
<main id="main" data-renew-from="${address}" data-session-ms="${view.sessionTtl * 1000}"${view.hearsApprovals && html` data-renew-ms="${RENEW_MS}"`}>
<h1>${heading}</h1>
<div role="status">${notice !== undefined && html`<p class="banner good">${noticeText(view, notice, words, language)}</p>`}</div>
${
  approvals &&
  html`<p class="hidden" id="asked" role="status"></p>
<div id="approvals" data-renewed data-version="${approvals.version}">${approvals.shown}</div>
`
}<p class="banner warn" id="offline" role="status" hidden>${words.offline}</p>
<div id="renewed" data-renewed data-now="${toMillisecondText(view.now)}">
${renewed}
</div>
${below}
</main>
<template id="over"><h1>${words.title}</h1>${overMessage(base, words)}</template>
<script type="module" src="${base}${assets.script.path}"></script>
<script type="module" src="${base}${assets.renewal.path}"></script>`;
  return documentOfMe({ base, language, title, ...(skips && { skips }) }, body);
}

function overMessage(base: string, words: Texts): Html {
  return html`<p class="banner warn" role="alert">${words.over}</p>
<p><a class="button main" href="${base}/me">${words.signIn}</a></p>`;
}

export function form(
  { base, formToken }: Pick<PersonView, 'base' | 'formToken'>,
  path: string,
  fields: Html,
  id?: string,
): Html {
  return formOf(formToken, `${base}${path}`, fields, id);
}

/** The links to other pages of a list. @param links those that are `undefined` are left out */
export function pageLinks(links: readonly (readonly [address: string, label: string] | undefined)[]): Insert {
  const shown = links.flatMap((link) => (link === undefined ? [] : [link]));
  if (shown.length === 0) return undefined;
  return html`<p class="pages">
${shown.map(([address, label]) => html`<a class="button" href="${address}">${label}</a>`)}
</p>`;
}
