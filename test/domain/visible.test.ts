import { expect } from 'chai';
import fc from 'fast-check';
import { displayNameProblems } from '../../domain/agents/field-rules.ts';
import { isLine } from '../../domain/approvals/approval-request.ts';
import { parseReason } from '../../domain/operators/reason.ts';
import { isBlank, visibleExcerpt, visibleJson, visibleText, visibleWords } from '../../domain/visible.ts';

/** Characters that are blank or that only change their neighbours, and their neighbours in words. */
const odd = fc.constantFrom(
  ...'\u202e\u200b\u2066\ufeff\u00ad\u001b\u0085\u2028\u3164\u2800\n"\\é \u00a0\u202f\u3000\u200c\u200d\u200f\ufe0e\ufe0f\u180b',
  ...[
    '\u{e0041}',
    '\u{e0100}',
    '\u{1d159}',
    '\u{16fe4}',
    '\u{13441}',
    '\\u{',
    '}',
    '20',
    '1',
    '#',
    '\u20e3',
    '€',
    'CHF',
  ],
  ...['⚠', '⌚', '👨', '👩', '❤', '葛', 'م', 'ی', 'क', '्', 'ष'],
);
const text = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), odd, odd)).map((parts) => parts.join(''));
/** Characters that control a terminal, or that a reader does not see. Joiners and one selector have a shape in places. */
const HIDDEN =
  /(?!\u200c|\u200d|\ufe0f)(?:\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point})|[\u2800\u{1d159}\u{16fe4}\u{13441}]/u;
const numbers = (characters: string) =>
  [...characters].map((each) => `\\u{${each.codePointAt(0)?.toString(16)}}`).join('');

describe('Text that is shown', () => {
  it('has each hidden character as its number, also line ends, and all others as they are', () => {
    expect(visibleText('a\u202e\u200bb\r\n\u{e0041}\u00a0é 😀')).to.equal(
      'a\\u{202e}\\u{200b}b\\u{d}\\u{a}\\u{e0041}\\u{a0}é 😀',
    );
    fc.assert(fc.property(text, (given) => !HIDDEN.test(visibleText(given))));
  });

  it('has no letter, mark or symbol that looks like nothing, in all of Unicode', () => {
    const codes = [...Array(0x20000).keys(), ...Array.from({ length: 0x1000 }, (_, at) => 0xe0000 + at)];
    const all = codes.filter((code) => code !== 0x7c).map((code) => String.fromCodePoint(code));
    const shown = visibleText(all.join('|')).split('|');
    const asTheyAre = shown.filter((each, at) => each === all[at]).join('');
    expect(asTheyAre).not.to.match(/[\p{C}\p{Default_Ignorable_Code_Point}]|(?! )\p{White_Space}/u);
    expect([...asTheyAre].filter(isBlank)).to.deep.equal([' ']);
    const fillers = '\u3164\u2800\u115f\u{1d159}\u{16fe4}\u{13441}\u{13442}\u{1107f}\u2d7f\u17b4';
    expect(visibleText(fillers)).to.equal(numbers(fillers));
  });

  it('has a selector of variants only where it belongs to an emoji that Unicode lists', () => {
    for (const kept of ['⚠\ufe0f', '1\ufe0f\u20e3', '#\ufe0f\u20e3', '©\ufe0f', '🏳\ufe0f\u200d🌈'])
      expect(visibleText(kept)).to.equal(kept);
    for (const [base, hidden] of [
      ['ACME', '\ufe0f'],
      ['1', '\ufe0f'],
      ['*', '\ufe0f'],
      ['⌚', '\ufe0f'],
      ['⚠\ufe0f', '\ufe0f'],
      ['葛', '\u{e0100}'],
      ['ᠠ', '\u180b'],
      ['ᠠ', '\u180f'],
      ['😀', '\ufe0e'],
      ['∩', '\ufe00'],
    ] as const) {
      expect(visibleText(`${base}${hidden} Ltd`)).to.equal(`${base}${numbers(hidden)} Ltd`);
    }
  });

  it('has a joiner only between letters of one script that joins, and in emoji that Unicode lists', () => {
    const kept = [
      'می\u200cخواهم',
      'क्\u200dष',
      'ক\u200cষ',
      'ශ්\u200dරී',
      '👨\u200d👩\u200d👧',
      '❤\ufe0f\u200d🔥',
      '🧑🏽\u200d🚀',
    ];
    expect(kept.map(visibleText)).to.deep.equal(kept);
    const [non, zwj] = [numbers('\u200c'), numbers('\u200d')];
    for (const [given, shown] of [
      ['pay\u200dpal', `pay${zwj}pal`],
      ['می\u200c', `می${non}`],
      ['\u200cمی', `${non}می`],
      ['می\u200c\u200cخ', `می${non}${non}خ`],
      ['م\u200cक', `م${non}क`],
      ['1\u200d2', `1${zwj}2`],
      ['👨\u200d😀', `👨${zwj}😀`],
      ['👨\u200d', `👨${zwj}`],
      ['\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}', `\u{1f3f4}${numbers('\u{e0067}\u{e0062}\u{e007f}')}`],
    ] as const) {
      expect(visibleText(given)).to.equal(shown);
    }
  });

  it('has a typographic space as a space in the amounts of the platform, with marks of direction by number', () => {
    const currencies = ['EUR', 'CHF', 'PLN', 'SEK', 'JPY', 'ILS', 'USD'];
    for (const locale of [
      'de-DE',
      'fr-FR',
      'pl-PL',
      'de-CH',
      'ja',
      'he-IL',
      'sv-SE',
      'cs',
      'nb',
      'pt-BR',
      'ru',
      'ar',
    ]) {
      const formats = currencies.flatMap((currency) =>
        (['symbol', 'code', 'narrowSymbol'] as const).map(
          (currencyDisplay) => new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay }),
        ),
      );
      const others = ['percent', 'unit'].map(
        (style) => new Intl.NumberFormat(locale, { style, unit: 'kilogram' } as object),
      );
      for (const format of [...formats, ...others]) {
        for (const amount of [1234567.8, -12]) {
          const given = format.format(amount);
          const wanted = given.replace(/\p{Zs}/gu, ' ').replace(/[\u200e\u200f\u061c]/g, numbers);
          expect(visibleText(given), `${locale} ${JSON.stringify(given)}`).to.equal(wanted);
        }
      }
    }
    expect(visibleText('7:05\u202fPM')).to.equal('7:05 PM');
  });

  it('has a typographic space elsewhere by its number', () => {
    for (const [given, shown] of [
      ['東京都\u3000千代田区', '東京都\\u{3000}千代田区'],
      ['ACME\u00a0Ltd', 'ACME\\u{a0}Ltd'],
      ['report\u00a07', 'report\\u{a0}7'],
      ['7\u00a0reports', '7\\u{a0}reports'],
      ['1\u00a0\u00a02', '1\\u{a0}\\u{a0}2'],
      ['1\u00a0', '1\\u{a0}'],
      ['\u2003€', '\\u{2003}€'],
    ] as const) {
      expect(visibleText(given)).to.equal(shown);
    }
  });

  it('is cut where it is too long', () => {
    expect(visibleExcerpt('a\u00a0b', 3)).to.equal('a\\u{a0}b');
    expect(visibleExcerpt('a\u00a0bc', 3)).to.equal('a\\u{a0}b…');
  });

  it('is the same value in JSON', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(undefined, 2), (given, indent) => {
        const json = visibleJson(JSON.stringify({ [given]: [given] }, null, indent));
        expect(json.replaceAll('\n', '')).not.to.match(HIDDEN);
        expect(JSON.parse(json)).to.deep.equal({ [given]: [given] });
      }),
    );
    expect(visibleJson('"⚠\ufe0f 1\u00a0€"')).to.equal('"⚠\ufe0f 1\\u00a0€"');
  });

  it('takes time that grows with the length of the text alone', () => {
    for (const unit of ['a', '1\u00a0', '\u200f\u00a0', '\u200d', '👨\u200d', 'م\u200c', ' ', '\\u{']) {
      const before = process.cpuUsage().user;
      visibleWords(`${unit.repeat(20_000)}\u200b`);
      expect(process.cpuUsage(undefined).user - before, JSON.stringify(unit)).to.be.below(2_000_000);
    }
  });
});

describe('Words that a person reads before they act', () => {
  it('have a mark for each space at their beginning and end, and keep the spaces between', () => {
    for (const [given, shown] of [
      [' ACME', '\\u{20}ACME'],
      ['ACME  ', 'ACME\\u{20}\\u{20}'],
      ['   12   ', '\\u{20}\\u{20}\\u{20}12\\u{20}\\u{20}\\u{20}'],
      ['report  final', 'report  final'],
      ['   ', '\\u{20}\\u{20}\\u{20}'],
    ] as const) {
      expect(visibleWords(given)).to.equal(shown);
    }
  });

  it('are not imitated by words that spell the number of a character', () => {
    expect(visibleWords('\\u{202e}')).to.equal('\\u{5c}u{202e}');
    expect(visibleWords('C:\\users\\ada')).to.equal('C:\\users\\ada');
    const values = (shown: string) =>
      shown.replace(/\\u\{([\da-f]+)\}/g, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16)));
    const spaces = (given: string) => given.replace(/(?! )\p{Zs}/gu, ' ');
    fc.assert(fc.property(text, (given) => spaces(values(visibleWords(given))) === spaces(given)));
  });
});

describe('Blank words', () => {
  const BLANK = [
    '',
    '   ',
    '\ufe0f',
    '\u{e0100}',
    '\u180b',
    '\u3164',
    '\u2800',
    '\u{1d159}',
    '\u200b \u00a0',
    '\u202e',
    '\u{e0041}',
  ];

  it('are those that show nothing', () => {
    expect(BLANK.filter((each) => !isBlank(each))).to.deep.equal([]);
    expect(['a', '.', '😀', '\u0301', '葛', '\ue000', '\\u{20}', ' x '].filter(isBlank)).to.deep.equal([]);
  });

  it('are no line of an approval, no name of an agent and no reason of an operator', () => {
    expect(BLANK.filter((each) => isLine(each, 200))).to.deep.equal([]);
    expect(BLANK.filter((each) => displayNameProblems(each).length === 0)).to.deep.equal([]);
    expect(BLANK.filter((each) => parseReason(each.repeat(3)) !== undefined)).to.deep.equal([]);
  });
});
