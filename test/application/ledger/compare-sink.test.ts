import { expect } from 'chai';
import { compareSink } from '../../../application/ledger/compare-sink.ts';
import { readSinkLine, type SinkRecord } from '../../../domain/ledger/lost-records.ts';

describe('comparing what a sink received with a ledger that lost its end', () => {
  const blocked = (seq: number, sponsor: string) => ({
    seq,
    ts: '2026-07-01T12:00:00.000Z',
    event: 'sponsor.blocked',
    sponsor,
  });

  async function* received(...records: readonly object[]): AsyncGenerator<SinkRecord> {
    for (const record of records) {
      const read = readSinkLine(JSON.stringify(record));
      if (typeof read === 'string') throw new Error(read);
      yield* read;
    }
  }

  it('counts a record once that the sink received twice, and none that was archived', async () => {
    const comparison = await compareSink(
      received(blocked(4, 'archived'), blocked(7, 'ada'), blocked(7, 'ada'), blocked(6, 'bob')),
      { records: async () => [] },
      async () => ({ lastSeq: 5 }) as never,
    );
    expect(comparison).to.deep.include({ newest: 7, lost: 2, contradicted: [] });
    expect(comparison.repetitions.map(({ seq, request }) => [seq, request])).to.deep.equal([
      [7, 'PUT /admin/sponsors/ada/block'],
      [6, 'PUT /admin/sponsors/bob/block'],
    ]);
  });
});
