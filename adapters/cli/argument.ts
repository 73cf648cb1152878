/**
 * Parses the arguments of a command. A thrown error's message is shown, and the command exits with the code for a wrong
 * command line. A message must not contain a colon: text after a colon counts as user input, and is not shown.
 */

import { travelsInTheClear } from '../../domain/address.ts';

/** Parses an option, and refuses a repeated one, which yargs would turn into a list. */
function once<Value>(name: string, read: (text: string) => Value): (given: unknown) => Value | undefined {
  return (given) => {
    if (given === undefined) return undefined;
    if (typeof given !== 'string') throw new Error(`${name} can be given once only.`);
    if (given === '') throw new Error(`${name} needs a value.`);
    return read(given);
  };
}

/** An option with a value, which a line gives at most once. @param name what a refusal calls it */
export function value<Value>(name: string, read: (text: string) => Value) {
  return { type: 'string', coerce: once(name, read) } as const;
}

export function textValue(name: string) {
  return value(name, (text) => text);
}

/** Reads a value with the parser of the domain. The reader throws an Error with the sentence as its message. */
export function readAs<Value>(parse: (text: string) => Value | undefined, sentence: string): (text: string) => Value {
  return (text) => {
    const read = parse(text);
    if (read === undefined) throw new Error(sentence);
    return read;
  };
}

/** An option that a line may repeat, with one value each time. */
export const texts = { type: 'string', array: true, nargs: 1 } as const;

/** An option without a value. Without `nargs` yargs would accept a value, and any value but `true` would mean no. */
export const flag = { type: 'boolean', nargs: 0, default: false } as const;

/**
 * Parses an address that cannot be impersonated on the network: https, or http within this machine. `undefined` for any
 * other address. Also for one with a user or a password, because arguments are not secret.
 */
export function trustedUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return undefined;
  return /^https?:$/.test(url.protocol) && !travelsInTheClear(url) ? url : undefined;
}

/** Where an auditor gets the published keys, or a note of the log: a file, or an address that is protected in transit. */
export type KeySource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

const URL_LIKE = /^[a-z][a-z0-9+.-]*:\/\//i;

/** @throws Error with the refusal as its message */
export function readKeySource(text: string): KeySource {
  if (!URL_LIKE.test(text)) return { kind: 'file', path: text };
  const url = trustedUrl(text);
  if (url === undefined) {
    throw new Error('--jwks takes a file or an https URL, or an http one of this machine.');
  }
  return { kind: 'url', url: url.href };
}

/** The address of a running service, without a trailing slash. */
export const SERVER = {
  ...value('--server', readServer),
  demandOption: true,
  describe: 'The address of the service: an https URL, or an http one of this machine',
} as const;

function readServer(text: string): string {
  const url = trustedUrl(text);
  if (url === undefined || url.search !== '' || url.hash !== '') {
    throw new Error('--server takes an https URL, or an http one of this machine, without user, query and fragment.');
  }
  return url.href.replace(/\/+$/, '');
}
