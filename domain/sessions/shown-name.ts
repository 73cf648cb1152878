/** The name by which a page greets the person who signed in. It is only shown: nothing is decided, found or recorded by it. */

import { readProviderJws } from '../tokens/compact-jws.ts';
import { textMember } from '../tokens/strict-json.ts';
import { isBlank } from '../visible.ts';

/** Claims that people know themselves by (OpenID Connect Core 1.0 §5.1). The first usable one is shown. */
export const NAME_CLAIMS = ['preferred_username', 'name', 'email'] as const;

/** Characters. A longer text is no name: it would push everything else off a phone. */
const LONGEST = 100;

/**
 * @param idToken that of the sign-in, whose signature was verified then
 * @param subject of the session. A token of another person has no name for this one
 * @returns `undefined` if the token has no usable name
 */
export function shownName(idToken: string, subject: string): string | undefined {
  const claims = readProviderJws(idToken)?.claims;
  if (claims === undefined || claims.subject !== subject) return undefined;
  return NAME_CLAIMS.map((claim) => textMember(claims.json, claim)).find(
    (text) => text !== undefined && text.length <= LONGEST && !isBlank(text),
  );
}
