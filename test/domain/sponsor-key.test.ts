import { expect } from 'chai';
import { parseSponsorKey } from '../../domain/identifiers.ts';

describe('a sponsor key', () => {
  it('has 1 to 256 characters, no white space and no control characters, and fits into a path', () => {
    for (const key of ['a', 'f47ac10b-58cc', 'é@example.com', '...', '.a', '__proto__', 'x'.repeat(256)]) {
      expect(parseSponsorKey(key), key).to.equal(key);
    }
    for (const key of [
      '',
      ' ',
      '.',
      '..',
      'a b',
      'a\tb',
      'a\u0000',
      'a\u0085',
      'a\u2028b',
      'a\u00a0',
      'x'.repeat(257),
      '\ud800',
    ]) {
      expect(parseSponsorKey(key), JSON.stringify(key)).to.equal(undefined);
    }
  });
});
