/** The `error` in a provider's answer (RFC 6749 §5.2), which tells the operator why the provider refused the service. */

import { isJsonObject, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { visibleExcerpt } from '../../domain/visible.ts';

/** The codes of RFC 6749 and of Keycloak are shorter. */
const MAX_CODE = 64;
/** A shorter run of characters says nothing about a secret. */
const SHORTEST_PART = 8;

/**
 * A sentence about an answer that is not the expected one: its status, and the provider's own error code.
 *
 * @param sent the secrets and names in the request. An error that repeats a part of one is left out of the sentence.
 */
export function statusSentence(
  whose: 'answer' | 'token endpoint',
  { status, body }: { readonly status: number; readonly body: string },
  sent: readonly string[],
): string {
  const code = errorCode(body, sent);
  const said = code === undefined ? '' : `, and its error is "${code}"`;
  return `The ${whose}'s status was ${status}${said}.`;
}

function errorCode(body: string, sent: readonly string[]): string | undefined {
  const answer = parseStrictJson(body);
  const error = isJsonObject(answer) ? member(answer, 'error') : undefined;
  if (typeof error !== 'string' || error.trim() === '') return undefined;
  // The excerpt is searched, because only it is shown.
  const shown = error.slice(0, MAX_CODE);
  return repeatsAny(shown, sent) ? undefined : visibleExcerpt(error, MAX_CODE);
}

/** Whether a text contains one of these texts, or a part of one that is long enough to say something. */
export function repeatsAny(text: string, sent: readonly string[]): boolean {
  return sent.flatMap(formsOf).some((each) => {
    const length = Math.min(SHORTEST_PART, each.length);
    const starts = Array.from({ length: length === 0 ? 0 : each.length - length + 1 }, (_, at) => at);
    return starts.some((at) => text.includes(each.slice(at, at + length)));
  });
}

/** A text as it is, in a path, and in a form. */
function formsOf(text: string): readonly string[] {
  const inForm = new URLSearchParams({ text }).toString().slice('text='.length);
  return [...new Set([text, encodeURIComponent(text.toWellFormed()), inForm])];
}
