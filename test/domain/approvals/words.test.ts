/** Which words of an approval are those that the person read. */

import { expect } from 'chai';
import { hasSameWords } from '../../../domain/approvals/approval.ts';

const TO = { label: 'To', value: 'ACME' };
const AMOUNT = { label: 'Amount', value: '5 EUR' };
const READ = { title: 'Pay', lines: [TO, AMOUNT] };

describe('The words of an approval', () => {
  it('are the same if title, labels and values are', () => {
    expect(hasSameWords(READ, structuredClone(READ))).to.equal(true);
    expect(hasSameWords({ title: 'Pay', lines: [] }, { title: 'Pay', lines: [] })).to.equal(true);
  });

  for (const [what, words] of Object.entries({
    'one letter of the title in another case': { ...READ, title: 'pay' },
    'a line more': { ...READ, lines: [TO, AMOUNT, { label: 'From', value: 'mine' }] },
    'a line less': { ...READ, lines: [TO] },
    'another order': { ...READ, lines: [AMOUNT, TO] },
    'another label': { ...READ, lines: [{ ...TO, label: 'to' }, AMOUNT] },
    'another value': { ...READ, lines: [TO, { ...AMOUNT, value: '50 EUR' }] },
    'a character that is not visible': { ...READ, title: 'Pay\u200b' },
  })) {
    it(`are other words: ${what}`, () => {
      expect(hasSameWords(READ, words)).to.equal(false);
      expect(hasSameWords(words, READ)).to.equal(false);
    });
  }
});
