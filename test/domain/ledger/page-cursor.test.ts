import { expect } from 'chai';
import fc from 'fast-check';
import { instantFromMicros } from '../../../domain/instant.ts';
import { formatCursor, parseCursor } from '../../../domain/ledger/page-cursor.ts';

const FINGERPRINT = '0123456789abcdef0123456789abcdef';
const encode = (text: string) => Buffer.from(text).toString('base64url');

describe('the cursor of a ledger page', () => {
  it('reads back as it was written, to the microsecond', () => {
    const number = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(number, number, (micros, seq) => {
        const cursor = { at: instantFromMicros(micros), seq, fingerprint: FINGERPRINT };
        expect(parseCursor(formatCursor(cursor))).to.deep.equal(cursor);
      }),
    );
  });

  it('is refused in any other form', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseCursor(text)).to.equal(undefined);
        expect(parseCursor(encode(text))).to.equal(undefined);
      }),
    );
  });

  const refused: readonly [string, string][] = [
    ['padded', `${encode(`1 2 ${FINGERPRINT}`)}=`],
    ['in another spelling', 'MSAyIDAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm1'],
    ['with a negative number', encode(`-1 2 ${FINGERPRINT}`)],
    ['with an unsafe number', encode(`9007199254740992 2 ${FINGERPRINT}`)],
    ['without a fingerprint', encode('1 2 ')],
    ['with more text after it', encode(`1 2 ${FINGERPRINT} 3`)],
  ];
  for (const [what, text] of refused) {
    it(`is refused with ${what}`, () => {
      expect(parseCursor(text)).to.equal(undefined);
    });
  }
});
