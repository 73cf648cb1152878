import { expect } from 'chai';
import { readMarkedUtf8, readUtf8, utf8Reader } from '../../../domain/tokens/strict-utf8.ts';

const MARK = [0xef, 0xbb, 0xbf];
const texts = ['', 'a', 'ü€😀', '\u0000', '\ufffd', 'a\ufeffb'];
const notUtf8: readonly (readonly [what: string, bytes: readonly number[]])[] = [
  ['a character in more bytes than it needs', [0xc0, 0xaf]],
  ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ['a code point above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['a continuation without a beginning', [0x80, 0x61]],
  ['a character that is cut off', [0x61, 0xe2, 0x82]],
  ['a character that another one cuts off', [0xe2, 0x82, 0x61]],
  ['Latin-1', [0x61, 0xfc, 0x62]],
  ['UTF-16 with a mark', [0xff, 0xfe, 0x61, 0x00]],
];

describe('The strict reader of UTF-8', () => {
  /** Reads one byte after another. */
  const inPieces = (bytes: Uint8Array) => {
    const read = utf8Reader();
    const pieces = [...[...bytes].map((byte) => read(Uint8Array.of(byte))), read()];
    return pieces.includes(undefined) ? undefined : pieces.join('');
  };
  const readers = { readUtf8, readMarkedUtf8, inPieces };

  for (const [name, read] of Object.entries(readers)) {
    it(`reads text as it was written (${name})`, () => {
      for (const text of texts) expect(read(Buffer.from(text))).to.equal(text);
    });

    it(`refuses what is not UTF-8, and reads the next text as if that had not been (${name})`, () => {
      for (const [what, bytes] of notUtf8) {
        expect(read(Uint8Array.from(bytes)), what).to.equal(undefined);
        expect(read(Buffer.from('ü')), what).to.equal('ü');
      }
    });
  }

  it('keeps a byte order mark, except where the call says that the text may have one: then it drops one', () => {
    const marked = (...before: number[]) => Uint8Array.from([...before, 0x61]);
    expect([readUtf8(marked(...MARK)), inPieces(marked(...MARK))]).to.deep.equal(['\ufeffa', '\ufeffa']);
    expect([marked(), marked(...MARK), marked(...MARK, ...MARK)].map(readMarkedUtf8)).to.deep.equal([
      'a',
      'a',
      '\ufeffa',
    ]);
  });
});
