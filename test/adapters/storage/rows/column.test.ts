import { expect } from 'chai';
import fc from 'fast-check';
import { bindInstant, columnTypes } from '../../../../adapters/storage/postgres/column-types.ts';
import { readScope, scopeColumn } from '../../../../adapters/storage/rows/column.ts';
import { instantFromMicros } from '../../../../domain/instant.ts';

const TIMESTAMPTZ = 1184;
const readTimestamp = columnTypes.getTypeParser(TIMESTAMPTZ);

describe('columns', () => {
  it('give a scope back as it was, also an empty one', () => {
    for (const scope of [[], ['a'], ['jira:read', 'a', 'jira:comment']]) {
      expect(readScope(scopeColumn(scope))).to.deep.equal(scope);
    }
  });

  it('give an instant back to the microsecond, in the form in which Postgres writes it', () => {
    const micros = fc.integer({ min: -2_000_000_000_000_000, max: 8_000_000_000_000_000 });
    fc.assert(
      fc.property(micros, (at) => {
        const sent = String(bindInstant(instantFromMicros(at)));
        const written = sent.replace('T', ' ').replace(/0*Z$/, '+00').replace('.+00', '+00');
        expect(readTimestamp(written)).to.equal(at);
      }),
    );
  });

  it('refuse a timestamp in any other form, rather than guess', () => {
    for (const text of ['2026-11-21 03:51:08+05:30', '21/11/2026 03:51:08+00', 'now', '']) {
      expect(() => readTimestamp(text)).to.throw('ISO');
    }
  });

  it('read a time that only tampering can have written as before or after every other', () => {
    expect(readTimestamp('infinity')).to.equal(Number.POSITIVE_INFINITY);
    expect(readTimestamp('-infinity')).to.equal(Number.NEGATIVE_INFINITY);
    expect(readTimestamp('0044-03-15 12:00:00+00 BC')).to.equal(Number.NEGATIVE_INFINITY);
  });
});
