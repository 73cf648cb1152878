import { expect } from 'chai';
import fc from 'fast-check';
import { visibleJson, visibleText } from '../../domain/visible.ts';

const unit = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    '\u202e',
    '\u200b',
    '\u2066',
    '\ufeff',
    '\u00ad',
    '\u{e0041}',
    '\u001b',
    '\u0085',
    '\u2028',
    '\u3164',
    '\u2800',
    '\n',
    '"',
    '\\',
    'é',
  ),
);
const text = fc.array(unit).map((parts) => parts.join(''));
/** Characters that control a terminal, or that a reader does not see. */
const HIDDEN = /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|(?!\p{VS})\p{Default_Ignorable_Code_Point}|\u2800/u;

describe('Text that is shown', () => {
  it('has each hidden character as its number, also line ends, and all others as they are', () => {
    expect(visibleText('a\u202e\u200bb\r\n\u{e0041}\u00a0é 😀')).to.equal(
      'a\\u{202e}\\u{200b}b\\u{d}\\u{a}\\u{e0041}\\u{a0}é 😀',
    );
    fc.assert(fc.property(text, (given) => !HIDDEN.test(visibleText(given))));
  });

  it('has no letter, mark or symbol that looks like nothing, so that no words are blank for a reader', () => {
    const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCodePoint(code)).join('');
    expect(HIDDEN.test(visibleText(all))).to.equal(false);
    expect(visibleText('\u3164\u2800')).to.equal('\\u{3164}\\u{2800}');
    expect(visibleText('⚠\ufe0f 葛\u{e0100}')).to.equal('⚠\ufe0f 葛\u{e0100}');
  });

  it('is the same value in JSON', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(undefined, 2), (given, indent) => {
        const json = visibleJson(JSON.stringify({ [given]: [given] }, null, indent));
        expect(json.replaceAll('\n', '')).not.to.match(HIDDEN);
        expect(JSON.parse(json)).to.deep.equal({ [given]: [given] });
      }),
    );
  });
});
