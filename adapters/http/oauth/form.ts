/**
 * Form bodies (RFC 6749 appendix B), read strictly: a parameter that two readers could read differently is refused.
 */

/** Parameters that were sent with a value; one without a value counts as omitted (RFC 6749 §3.2). */
export type Form = ReadonlyMap<string, string>;

export type FormOutcome =
  | { readonly kind: 'read'; readonly form: Form }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'repeated'; readonly name: string };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function readForm(bytes: Uint8Array): FormOutcome {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  try {
    for (const pair of utf8.decode(bytes).split('&')) {
      if (pair === '') continue;
      const equals = pair.indexOf('=');
      const name = decode(equals === -1 ? pair : pair.slice(0, equals));
      const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
      // RFC 6749 §3.2: parameters must not be included more than once, with a value or without.
      if (seen.has(name)) return { kind: 'repeated', name };
      seen.add(name);
      if (value !== '') form.set(name, value);
    }
  } catch {
    return { kind: 'malformed' };
  }
  return { kind: 'read', form };
}

/** @throws URIError for a broken percent-escape or one that is not UTF-8 */
function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
