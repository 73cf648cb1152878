/**
 * Parses the arguments of a command. The message of a thrown error is shown, and the command exits with the code for a
 * wrong command line. A message must not have a colon: text after a colon is taken for user input and not shown.
 */

import { travelsInTheClear } from '../../domain/address.ts';

/** Refuses a repeated option, which yargs would turn into a list. */
export function once<Value>(name: string, read: (text: string) => Value): (given: unknown) => Value | undefined {
  return (given) => {
    if (given === undefined) return undefined;
    if (typeof given !== 'string') throw new Error(`${name} can be given once only.`);
    if (given === '') throw new Error(`${name} needs a value.`);
    return read(given);
  };
}

/** A flag. Without `nargs` it would accept a value, and any value but `true` would mean no. */
export const flag = { type: 'boolean', nargs: 0, default: false } as const;

/**
 * An address that cannot be impersonated on the network: https, or plain http within this machine. `undefined` for any
 * other address, and for one with a user or a password: arguments are not secret.
 */
export function trustedUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return undefined;
  return /^https?:$/.test(url.protocol) && !travelsInTheClear(url) ? url : undefined;
}

/** The source of the published keys for an auditor: a file, or an address protected against changes in transit. */
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
