import { expect } from 'chai';
import fc from 'fast-check';
import { bindInstant, columnTypes } from '../../../../adapters/storage/postgres/column-types.ts';
import { readScope } from '../../../../adapters/storage/rows/column.ts';
import { instantFromMicros } from '../../../../domain/instant.ts';
import { formatScope } from '../../../../domain/scope.ts';

const TIMESTAMPTZ = 1184;
const readTimestamp = columnTypes.getTypeParser(TIMESTAMPTZ);

describe('A column', () => {
  it('returns a scope unchanged, also an empty one', () => {
    for (const scope of [[], ['a'], ['jira:read', 'a', 'jira:comment']]) {
      expect(readScope(formatScope(scope))).to.deep.equal(scope);
    }
  });

  it('returns an instant to the microsecond in the format of Postgres', () => {
    const micros = fc.integer({ min: -2_000_000_000_000_000, max: 8_000_000_000_000_000 });
    fc.assert(
      fc.property(micros, (at) => {
        const sent = String(bindInstant(instantFromMicros(at)));
        const written = sent.replace('T', ' ').replace(/0*Z$/, '+00').replace('.+00', '+00');
        expect(readTimestamp(written)).to.equal(at);
      }),
    );
  });

  it('refuses a timestamp in another format', () => {
    for (const text of ['2026-11-21 03:51:08+05:30', '21/11/2026 03:51:08+00', 'now', '']) {
      expect(() => readTimestamp(text)).to.throw('ISO');
    }
  });

  it('reads an infinite or BC timestamp, which only tampering writes, as infinite', () => {
    expect(readTimestamp('infinity')).to.equal(Number.POSITIVE_INFINITY);
    expect(readTimestamp('-infinity')).to.equal(Number.NEGATIVE_INFINITY);
    expect(readTimestamp('0044-03-15 12:00:00+00 BC')).to.equal(Number.NEGATIVE_INFINITY);
  });
});
