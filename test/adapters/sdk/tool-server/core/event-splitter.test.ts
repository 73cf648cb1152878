/** Server-sent events, split however their bytes come. */

import { expect } from 'chai';
import fc from 'fast-check';
import { eventSplitter } from '../../../../../adapters/sdk/tool-server/core/event-splitter.ts';

const split = (pieces: readonly string[]) => {
  const splitter = eventSplitter();
  const events = pieces.flatMap((piece) => splitter.take(Buffer.from(piece))).map(String);
  return { events, rest: splitter.release().toString() };
};

describe('A stream of events', () => {
  for (const end of ['\n', '\r', '\r\n']) {
    it(`is split at empty lines that end with ${JSON.stringify(end)}`, () => {
      const events = [`data: a${end}${end}`, `id: 1${end}data: b${end}data: c${end}${end}`, `: x${end}${end}`];
      const { events: found, rest } = split([`${events.join('')}data: d${end}`]);
      expect(found.length).to.equal(3);
      expect(found.join('') + rest).to.equal(`${events.join('')}data: d${end}`);
      expect(found.map((event) => event.replaceAll(/[\r\n]/g, '|').replaceAll('||', '|'))).to.have.lengthOf(3);
    });
  }

  it('is split alike however it comes, and loses no byte', () => {
    const text = fc
      .array(fc.constantFrom('\n', '\r', '\r\n', 'data: a', 'x', ':', '\n\n', '\r\n\r\n'))
      .map((all) => all.join(''));
    const run = fc.property(text, fc.infiniteStream(fc.integer({ min: 1, max: 4 })), (whole, sizes) => {
      const pieces: string[] = [];
      for (let at = 0; at < whole.length; ) {
        const size = sizes.next().value;
        pieces.push(whole.slice(at, at + size));
        at += size;
      }
      const found = split(pieces);
      expect(found).to.deep.equal(split([whole]));
      expect(found.events.join('') + found.rest).to.equal(whole);
    });
    fc.assert(run, { numRuns: 500 });
  });

  it('gives up an event that is long, and goes on behind it', () => {
    const splitter = eventSplitter();
    expect(splitter.take(Buffer.from(`data: ${'a'.repeat(100_000)}`))).to.deep.equal([]);
    expect(splitter.held()).to.equal(100_006);
    expect(splitter.release()).to.have.lengthOf(100_006);
    expect(splitter.release()).to.have.lengthOf(0);
    expect(splitter.take(Buffer.from('b\n\ndata: c\n\n')).map(String)).to.deep.equal(['b\n\n', 'data: c\n\n']);
  });
});
