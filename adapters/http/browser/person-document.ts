/** The document of every page for people, and the style that these pages share. */

import { readAsset, readCommonStyle, readMark } from './assets.ts';
import { documentOf } from './document.ts';
import { type Html, html } from './html.ts';
import type { Language } from './language.ts';

/** `/me` serves the files. Every other page for people needs `/me`. */
export const PERSON_ASSETS_BASE = '/me';

export const personAssets = {
  common: readCommonStyle(PERSON_ASSETS_BASE),
  style: readAsset(import.meta.url, PERSON_ASSETS_BASE, 'person', 'css'),
  mark: readMark(PERSON_ASSETS_BASE),
} as const;

interface Head {
  /** The path of the issuer. */
  readonly base: string;
  readonly language: Language;
  /** The browser keeps the title: it names no agent. */
  readonly title: string;
  /** The address that the browser opens next. */
  readonly opens?: string | undefined;
  readonly skips: readonly Skip[];
}

/**
 * A link at the beginning of a page, for people who use the keyboard or a screen reader. One that is not shown leads nowhere yet. When the
 * session ends, `#main` alone remains.
 */
export type Skip = readonly [to: `#${string}`, label: string, isShown?: boolean];

export function documentOfPerson({ base, language, title, opens, skips }: Head, body: Html): string {
  const { mark, common, style } = personAssets;
  const styles = [common, style].map(({ path }) => `${base}${path}`);
  return documentOf(
    { language, title, icon: `${base}${mark.path}`, styles, opens },
    html`<div class="page">
${skips.map(([to, label, isShown]) => html`<a class="skip button" href="${to}"${to !== '#main' && html` data-signed-in`}${isShown === false && html` hidden`}>${label}</a>\n`)}${body}
</div>`,
  );
}
