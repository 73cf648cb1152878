/** From a key as an operator writes it to the catalogue's. */

import { catalogue } from './catalogue.ts';
import type { CatalogueKey } from './settings.ts';

/** `Service:Signing:Keys:12:Path`: list, number and field. Numbers have one spelling, so that each item has one name. */
export const LIST_KEY = /^(.+):(0|[1-9]\d{0,2}):([^:]+)$/;

export function isCatalogueKey(key: string): key is CatalogueKey {
  return Object.hasOwn(catalogue, key);
}

/** The catalogue's key, with `N` for a number; `undefined` for what is no setting. */
export function catalogueKeyOf(key: string): CatalogueKey | undefined {
  if (key.includes(':N:')) return undefined;
  const declared = key.replace(LIST_KEY, '$1:N:$3');
  return isCatalogueKey(declared) ? declared : undefined;
}
