import { expect } from 'chai';
import fc from 'fast-check';
import { instantFromMicros, toMicrosecondText } from '../../../domain/instant.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';

const shown = (instant: ReturnType<typeof parseRangeStart>) =>
  instant === undefined ? undefined : toMicrosecondText(instant);

describe('the ends of a time range', () => {
  const readings: readonly [string, string, string][] = [
    ['2026-03-01', '2026-03-01T00:00:00.000000Z', '2026-03-02T00:00:00.000000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000000Z', '2028-03-01T00:00:00.000000Z'],
    ['2026-12-31', '2026-12-31T00:00:00.000000Z', '2027-01-01T00:00:00.000000Z'],
    ['2026-03-01T09:30Z', '2026-03-01T09:30:00.000000Z', '2026-03-01T09:30:00.000000Z'],
    ['2026-03-01T09:30:15', '2026-03-01T09:30:15.000000Z', '2026-03-01T09:30:15.000000Z'],
    ['2026-03-01T09:30:15.123456Z', '2026-03-01T09:30:15.123456Z', '2026-03-01T09:30:15.123456Z'],
    ['2026-03-01T09:30:15.1Z', '2026-03-01T09:30:15.100000Z', '2026-03-01T09:30:15.100000Z'],
    ['2026-03-01T00:30:00+02:00', '2026-02-28T22:30:00.000000Z', '2026-02-28T22:30:00.000000Z'],
    ['2026-03-01T23:30:00-05:30', '2026-03-02T05:00:00.000000Z', '2026-03-02T05:00:00.000000Z'],
  ];
  for (const [text, start, end] of readings) {
    it(`read ${text}`, () => {
      expect([shown(parseRangeStart(text)), shown(parseRangeEnd(text))]).to.deep.equal([start, end]);
    });
  }

  it('are both rounded up to the next microsecond', () => {
    for (const parse of [parseRangeStart, parseRangeEnd]) {
      expect(shown(parse('2026-03-01T00:00:00.000000001Z')), parse.name).to.equal('2026-03-01T00:00:00.000001Z');
    }
  });

  it('are within the times that an instant can have', () => {
    expect(parseRangeStart('0001-01-01')).to.equal(0);
    expect(parseRangeEnd('9999-12-31')).to.equal(Number.MAX_SAFE_INTEGER);
  });

  const refused = [
    '',
    '2026',
    '2026-3-1',
    '2026-02-30',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '20260301',
    '2026-03-01T',
    '2026-03-01T24:00:00Z',
    '2026-03-01T09:60:00Z',
    '2026-03-01T09:30:60Z',
    '2026-03-01T09:30:00.Z',
    '2026-03-01T09:30:00.1234567890Z',
    '2026-03-01T09:30:00 02:00',
    '2026-03-01T09:30:00+0200',
    '2026-03-01T09:30:00+24:00',
    '2026-03-01 09:30:00Z',
    '2026-03-01T09:30:00ZT',
    '+002026-03-01',
    '1772355600',
    'yesterday',
    '2026-03-01\n',
    '٢٠٢٦-٠٣-٠١',
  ];
  for (const text of refused) {
    it(`refuse ${JSON.stringify(text)}`, () => {
      expect([parseRangeStart(text), parseRangeEnd(text)]).to.deep.equal([undefined, undefined]);
    });
  }

  it('read back every instant that was written to the microsecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (micros) => {
        expect(parseRangeStart(toMicrosecondText(instantFromMicros(micros)))).to.equal(micros);
      }),
    );
  });
});
