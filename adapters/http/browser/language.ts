/** The languages of the pages for people. Each has a table of words in the `texts` of its pages. */

import type { IncomingMessage } from 'node:http';
import { trimOws } from '../../../domain/trim-ows.ts';

export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];

/** The first language of the browser's list that the pages have. Browsers list the preferred language first. */
export function languageOf({ headers }: IncomingMessage): Language {
  const wanted = (headers['accept-language'] ?? '').split(',').map((range) => trimOws(range).slice(0, 2).toLowerCase());
  return languages.find((language) => wanted.find(isLanguage) === language) ?? 'en';
}

function isLanguage(text: string): boolean {
  return languages.some((language) => language === text);
}
