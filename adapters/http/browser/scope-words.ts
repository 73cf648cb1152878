/** What a scope is called on the pages for people (`Service:Me:ScopeDescriptions`). */

import type { Html } from './html.ts';
import type { Language } from './language.ts';
import { isolated, named } from './words.ts';

/** The operator's sentence for a scope: one for all languages, or one for each. */
export type ScopeWords = ReadonlyMap<string, string | Readonly<Partial<Record<Language, string>>>>;

/** A browser may translate the operator's sentence for a scope, but not the name of a scope without one. */
export function scopeInWords(scopeWords: ScopeWords, name: string, language: Language): Html {
  const known = scopeWords.get(name);
  const words = typeof known === 'string' ? known : (known?.[language] ?? known?.en);
  return words === undefined ? named(name) : isolated(words);
}
