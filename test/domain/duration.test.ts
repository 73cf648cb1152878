import { expect } from 'chai';
import fc from 'fast-check';
import { durationInWords, formatDuration, parseDuration, parseIsoDuration } from '../../domain/duration.ts';

const ISO: readonly (readonly [string, number])[] = [
  ['PT1S', 1],
  ['PT90S', 90],
  ['PT30M', 1_800],
  ['PT1H30M', 5_400],
  ['PT2H3M4S', 7_384],
  ['PT2H4S', 7_204],
  ['P1D', 86_400],
  ['P7D', 604_800],
  ['P1DT12H', 129_600],
  ['P2DT3M', 172_980],
  ['P2W', 1_209_600],
  ['PT0H5M', 300],
  ['P36525D', 3_155_760_000],
];

const TIME_SPANS: readonly (readonly [string, number])[] = [
  ['00:00:01', 1],
  ['00:30:00', 1_800],
  ['23:59:59', 86_399],
  ['1.00:00:00', 86_400],
  ['7.12:30:05', 649_805],
];

const NEITHER: readonly (readonly [string, string])[] = [
  ['', 'nothing'],
  ['P', 'no component'],
  ['PT', 'no component'],
  ['P1DT', 'a T with nothing after it'],
  ['PT0S', 'zero'],
  ['P0D', 'zero'],
  ['P0W', 'zero'],
  ['00:00:00', 'zero'],
  ['0.00:00:00', 'zero'],
  ['P1Y', 'years'],
  ['P1M', 'months'],
  ['P1Y2M3DT4H', 'years and months'],
  ['P1W2D', 'weeks beside days'],
  ['PT1.5M', 'a fraction'],
  ['PT1,5M', 'a fraction'],
  ['PT0.5S', 'a fraction'],
  ['00:00:01.5', 'a fraction'],
  ['-PT1M', 'a sign'],
  ['+PT1M', 'a sign'],
  ['PT-1M', 'a sign'],
  ['-00:01:00', 'a sign'],
  ['pt1m', 'lower case'],
  ['PT1M ', 'white space'],
  [' PT1M', 'white space'],
  ['PT1M\n', 'white space'],
  ['PT1S1M', 'components out of order'],
  ['PT1M1M', 'a component twice'],
  ['P1H', 'hours without a T'],
  ['PT1D', 'days after the T'],
  ['PT１M', 'digits that are not ASCII'],
  ['30', 'a bare number'],
  ['30:00', 'minutes and seconds only'],
  ['0:30:00', 'one digit of hours'],
  ['24:00:00', 'hours that .NET would read as days'],
  ['00:60:00', 'sixty minutes'],
  ['00:00:60', 'sixty seconds'],
  ['1:00:00:00', 'days before a colon'],
  ['P36525DT1S', 'more than a hundred years'],
  [`PT${'9'.repeat(400)}S`, 'more digits than a number holds'],
];

describe('parseIsoDuration', () => {
  for (const [text, seconds] of ISO) {
    it(`reads ${text} as ${seconds} seconds`, () => expect(parseIsoDuration(text)).to.equal(seconds));
  }

  for (const [text] of TIME_SPANS) {
    it(`refuses the duration ${text}`, () => expect(parseIsoDuration(text)).to.equal(undefined));
  }

  for (const [text, why] of NEITHER) {
    it(`refuses ${why}: ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(parseIsoDuration(text)).to.equal(undefined);
    });
  }
});

describe('parseDuration', () => {
  for (const [text, seconds] of [...ISO, ...TIME_SPANS]) {
    it(`reads ${text} as ${seconds} seconds`, () => expect(parseDuration(text)).to.equal(seconds));
  }

  for (const [text, why] of NEITHER) {
    it(`refuses ${why}: ${JSON.stringify(text.slice(0, 20))}`, () => expect(parseDuration(text)).to.equal(undefined));
  }
});

describe('formatDuration', () => {
  const forms: readonly (readonly [number, string])[] = [
    [1, 'PT1S'],
    [90, 'PT1M30S'],
    [1_800, 'PT30M'],
    [5_400, 'PT1H30M'],
    [7_204, 'PT2H4S'],
    [86_400, 'P1D'],
    [86_401, 'P1DT1S'],
    [129_600, 'P1DT12H'],
    [604_800, 'P7D'],
    [1_209_600, 'P14D'],
  ];
  for (const [seconds, text] of forms) {
    it(`writes ${seconds} seconds as ${text}`, () => expect(formatDuration(seconds)).to.equal(text));
  }

  it('writes any duration such that parseIsoDuration reads it back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_155_760_000 }), (seconds) => {
        expect(parseIsoDuration(formatDuration(seconds))).to.equal(seconds);
      }),
    );
  });

  it('writes equal durations the same way', () => {
    const lengths = ['PT90M', 'PT1H30M', 'PT5400S', '01:30:00'].map(parseDuration);
    expect(lengths.map((seconds) => formatDuration(seconds ?? 0))).to.deep.equal(Array(4).fill('PT1H30M'));
  });
});

describe('durationInWords', () => {
  for (const [seconds, most, text] of [
    [0, undefined, '0 seconds'],
    [1, undefined, '1 second'],
    [90, undefined, '1 minute 30 seconds'],
    [3_602, undefined, '1 hour 2 seconds'],
    [3_602, 2, '1 hour'],
    [86_399, 1, '23 hours'],
    [183_845, undefined, '2 days 3 hours 4 minutes 5 seconds'],
    [183_845, 2, '2 days 3 hours'],
    [604_800, 2, '7 days'],
  ] as const) {
    it(`writes ${seconds} seconds as ${text}${most === undefined ? '' : `, in units: ${most}`}`, () => {
      expect(durationInWords(seconds, most)).to.equal(text);
    });
  }
});
