import { expect } from 'chai';
import { hasControl, hasControlOrSeparator } from '../../domain/control-characters.ts';

const NAMED = [
  ...['\0', '\t', '\n', '\u001f', '\u007f', '\u0080', '\u0085', '\u009f'],
  ...['\u2028', '\u2029', ' ', '~', '\u00a0', '\u200b', '\u202e', '\ufeff', '\u{e0001}'],
];

describe('A character in a text', () => {
  it('is a control character up to U+001F and from U+007F to U+009F, wherever it is', () => {
    const found = NAMED.filter((character) => hasControl(`a${character}b`));
    expect(found).to.deep.equal(NAMED.slice(0, 8));
  });

  it('is kept out of a line also if it separates lines or paragraphs, and not if it is only invisible', () => {
    const found = NAMED.filter((character) => hasControlOrSeparator(`a${character}b`));
    expect(found).to.deep.equal(NAMED.slice(0, 10));
  });
});
