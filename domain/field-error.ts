/**
 * A problem with one field of a request (specification "Validation errors"). `field` is the name that the sender uses.
 * The sentence says which values are valid, and never repeats the one that was sent.
 */
export interface FieldError {
  readonly field: string;
  readonly sentence: string;
}

export function fieldErrors(field: string, ...sentences: readonly string[]): readonly FieldError[] {
  return sentences.map((sentence) => ({ field, sentence }));
}
