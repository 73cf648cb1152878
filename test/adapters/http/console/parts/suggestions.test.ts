/** Names that entry fields suggest. */

import { expect } from 'chai';
import { suggestionList } from '../../../../../adapters/http/console/parts/suggestions.ts';

const options = (...names: readonly string[]) =>
  /^<datalist id="people">(.*)<\/datalist>$/s.exec(`${suggestionList('people', names)}`)?.[1];

describe('A suggested name', () => {
  it('is the value of its option, without a label if a reader sees all of it', () => {
    expect(options('ada', 'a  b', '<b>')).to.equal(
      '<option value="ada"></option><option value="a  b"></option><option value="&lt;b&gt;"></option>',
    );
  });

  it('has a label with the numbers of its hidden characters, so that two names never look like one', () => {
    for (const [name, label] of [
      ['a\u200bda', 'a\\u{200b}da'],
      ['ada\ufe0f', 'ada\\u{fe0f}'],
      ['\u202eada', '\\u{202e}ada'],
      ['ada\u{e0041}', 'ada\\u{e0041}'],
      [' ada', '\\u{20}ada'],
    ] as const) {
      expect(options(name)).to.equal(`<option value="${name}" label="${label}"></option>`);
    }
  });
});
