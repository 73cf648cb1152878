/**
 * What is wrong with a field of something that was sent (specification "Validation errors"): the field under the name
 * it has for the sender, and a sentence that says what would be right and never repeats the value.
 */
export interface FieldError {
  readonly field: string;
  readonly sentence: string;
}

export function fieldErrors(field: string, ...sentences: readonly string[]): readonly FieldError[] {
  return sentences.map((sentence) => ({ field, sentence }));
}
