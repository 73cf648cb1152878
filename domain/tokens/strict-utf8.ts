/**
 * Reads text from bytes that come from outside. It refuses bytes that are not UTF-8: a decoder that replaces them lets two
 * readers of the same bytes find two texts. The lint allows no decoder in another file (architecture.grit).
 */

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const MARK = '\ufeff';

/**
 * The text; `undefined` if the bytes are not UTF-8. A byte order mark stays in the text, so that no JSON, form or token
 * begins with one (RFC 8259 §8.1 forbids to add it, and lets readers differ about it).
 */
export function readUtf8(bytes: Uint8Array): string | undefined {
  return decoded(DECODER, bytes);
}

/** Like {@link readUtf8}, without a byte order mark at the beginning. The call says why the text may have one. */
export function readMarkedUtf8(bytes: Uint8Array): string | undefined {
  const text = readUtf8(bytes);
  return text?.startsWith(MARK) ? text.slice(MARK.length) : text;
}

/**
 * Like {@link readUtf8}, for bytes that arrive in chunks. It is called with each chunk, and without one at the end: a
 * character that the last chunk cuts off is not UTF-8 either.
 */
export function utf8Reader(): (chunk?: Uint8Array) => string | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (chunk) => decoded(decoder, chunk, { stream: chunk !== undefined });
}

function decoded(
  decoder: typeof DECODER,
  bytes?: Uint8Array,
  options?: { readonly stream: boolean },
): string | undefined {
  try {
    return decoder.decode(bytes, options);
  } catch {
    return undefined;
  }
}
