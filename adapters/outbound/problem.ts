/** The refusals of the admin API (specification "Validation errors"), made safe for a terminal. */

import type { FieldError } from '../../domain/field-error.ts';
import { isJsonObject, type JsonObject, member } from '../../domain/tokens/strict-json.ts';

/** Longer than any sentence of the service: longer text is from another program. */
const MAX_SENTENCE = 500;
const MAX_FIELDS = 100;
const MAX_SENTENCES = 20;
/** Characters that can control a terminal. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns the sentences by field. A refusal without fields has one sentence, without a field name. Empty if there is no
 * sentence.
 */
export function readProblem(problem: JsonObject): readonly FieldError[] {
  const errors = member(problem, 'errors');
  if (isJsonObject(errors)) {
    return Object.entries(errors)
      .slice(0, MAX_FIELDS)
      .flatMap(([field, sentences]) =>
        (Array.isArray(sentences) ? sentences : [])
          .filter((sentence) => typeof sentence === 'string')
          .slice(0, MAX_SENTENCES)
          .map((sentence) => ({ field: showable(field), sentence: showable(sentence) })),
      );
  }
  const detail = member(problem, 'detail');
  return typeof detail === 'string' ? [{ field: '', sentence: showable(detail) }] : [];
}

function showable(text: string): string {
  return text.slice(0, MAX_SENTENCE).replaceAll(UNSHOWABLE, '\u{fffd}');
}
