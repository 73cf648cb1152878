import { expect } from 'chai';
import fc from 'fast-check';
import {
  instantFromMicros,
  instantFromSeconds,
  plusSeconds,
  secondsBetween,
  toMicrosecondText,
  toMillisecondText,
  toSeconds,
  toShortText,
} from '../../domain/instant.ts';

const at = instantFromMicros(1_789_653_821_882_457);

describe('instants', () => {
  it('are published with exactly three fractional digits, rounded down', () => {
    expect(toMillisecondText(at)).to.equal('2026-09-17T14:03:41.882Z');
    expect(toMillisecondText(instantFromMicros(1_789_653_821_999_999))).to.equal('2026-09-17T14:03:41.999Z');
    expect(toMillisecondText(instantFromSeconds(1_789_653_821))).to.equal('2026-09-17T14:03:41.000Z');
  });

  it('are published in the form of toISOString, in any order of calls', () => {
    const minute = fc.integer({ min: -3, max: 3 }).map((nth) => nth * 60_000_000);
    const near = fc.tuple(minute, fc.integer({ min: -1_000_001, max: 1_000_001 })).map(([a, b]) => a + b);
    const anywhere = fc.integer({ min: -62_167_219_200_000_000 - 1e15, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(fc.array(fc.oneof(near, anywhere), { minLength: 2 }), (all) => {
        for (const micros of all) {
          const expected = new Date(Math.floor(micros / 1000)).toISOString();
          expect(toMillisecondText(instantFromMicros(micros))).to.equal(expected);
        }
      }),
    );
    expect(() => toMillisecondText(instantFromMicros(Number.NaN))).to.throw(RangeError);
  });

  it('are exported with exactly six fractional digits', () => {
    expect(toMicrosecondText(at)).to.equal('2026-09-17T14:03:41.882457Z');
    expect(toMicrosecondText(instantFromSeconds(0))).to.equal('1970-01-01T00:00:00.000000Z');
  });

  it('are shown elsewhere with only as many fractional digits as needed', () => {
    expect(toShortText(instantFromSeconds(1_789_653_600))).to.equal('2026-09-17T14:00:00Z');
    expect(toShortText(instantFromMicros(1_789_653_600_120_000))).to.equal('2026-09-17T14:00:00.12Z');
  });

  it('are read back from their seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 0, max: 100_000 }), (start, more) => {
        const from = instantFromSeconds(start);
        expect(toSeconds(plusSeconds(from, more))).to.equal(start + more);
        expect(secondsBetween(from, plusSeconds(from, more))).to.equal(more);
      }),
    );
  });
});
