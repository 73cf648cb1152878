/**
 * The source of the published keys for an auditor: a file, or an address that is protected against changes in transit.
 */

import { trustedUrl } from './trusted-url.ts';

export type KeySource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

const URL_LIKE = /^[a-z][a-z0-9+.-]*:\/\//i;

/** @throws Error with the refusal */
export function readKeySource(text: string): KeySource {
  if (!URL_LIKE.test(text)) return { kind: 'file', path: text };
  const url = trustedUrl(text);
  if (url === undefined) {
    throw new Error('--jwks takes a file or an https URL, or an http one of this machine.');
  }
  return { kind: 'url', url: url.href };
}
