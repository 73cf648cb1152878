/** Arguments of calls that a person approves, as text, so that the same value comes in several forms. */

import fc from 'fast-check';

export const anyArgumentsText: fc.Arbitrary<string> = fc.oneof(
  // Few values, so that calls repeat; among them some that differ only in their text.
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      '{"to":"a","n":1}',
      '{"n":1,"to":"a"}',
      '{"to":"a","n":1.0}',
      '{"to":"a","n":-0}',
      '{"to":"\\u0061","n":1}',
    ),
  },
  fc.record({ to: fc.constantFrom('a', 'é'), n: fc.constantFrom(1, 2, 1e21) }).map((value) => JSON.stringify(value)),
  fc
    .dictionary(
      fc.string({ maxLength: 3 }).filter((name) => name !== '__proto__'),
      fc.jsonValue({ maxDepth: 2 }),
      { maxKeys: 3 },
    )
    .map((value) => JSON.stringify(value)),
);

/** Canonical JSON (RFC 8785) of a value of JSON. Written anew, so that it does not repeat the library. */
export function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted)}]`;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`)}}`;
}
