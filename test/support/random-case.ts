import fc from 'fast-check';

/** The same letters, each randomly in upper or lower case. */
export function inRandomCase(text: string): fc.Arbitrary<string> {
  const cases = fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length });
  return cases.map((upper) =>
    [...text].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter.toLowerCase())).join(''),
  );
}
