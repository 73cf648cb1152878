/** Bodies whose parts cost more than their bytes. */

import { expect } from 'chai';
import { hasTooManyParts } from '../../../../../adapters/sdk/tool-server/core/json-parts.ts';

const times = (count: number, part: string | ((at: number) => string)) =>
  Array.from({ length: count }, (_, at) => (typeof part === 'string' ? part : part(at))).join(',');

const many: Readonly<Record<string, string>> = {
  'members of one object': `{${times(10_001, (at) => `"k${at}":1`)}}`,
  'members of many objects': `[${times(4000, '{"a":1,"b":2}')}]`,
  'empty objects': `[${times(10_001, '{}')}]`,
  'empty lists': `[${times(10_001, '[]')}]`,
  'lists in lists': `[${times(700, `${'['.repeat(16)}${']'.repeat(16)}`)}]`,
  numbers: `[${times(100_002, '1')}]`,
  'escaped names': `{${times(10_001, (at) => `"\\u0061\\"${at}":1`)}}`,
};
const few: Readonly<Record<string, string>> = {
  'a long text': `{"text":"${'[{:,'.repeat(100_000)}"}`,
  'a long text with quotes': `{"text":"${'\\",{'.repeat(100_000)}"}`,
  'the most members': `{${times(9998, (at) => `"k${at}":1`)}}`,
  'an embedding': `{"vector":[${times(4096, '0.123456')}]}`,
  'the most items': `[${times(100_000, '1')}]`,
  'a text without an end': `"${'['.repeat(100_000)}`,
  'a text that ends in a backslash': `"${'['.repeat(100_000)}\\`,
};

describe('A JSON text', () => {
  for (const [what, text] of Object.entries(many)) {
    it(`has too many parts with ${what}`, () => expect(hasTooManyParts(text)).to.equal(true));
  }
  for (const [what, text] of Object.entries(few)) {
    it(`has few parts with ${what}`, () => expect(hasTooManyParts(text)).to.equal(false));
  }
});
