import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { checkpointHash, formatMark, parseMark, presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import type { Hash } from '../../../domain/ledger/merkle-tree.ts';
import { readCheckpoint } from '../../support/independent-ledger/read-published.ts';
import { publishedLedger } from '../../support/independent-ledger/vectors.ts';

const hash: Hash = (bytes) => createHash('sha256').update(bytes).digest();
const ROOT = '7ec8fcf9cf96ab5b3e3bedc95b403d0e5ae4a5defd5395048f9a7a5edb1d1876';

describe('a checkpoint', () => {
  it('is published like the published vector, with its members in the same order', () => {
    for (const { signed_bytes, ...published } of publishedLedger.checkpoints) {
      expect(JSON.stringify(presentCheckpoint(readCheckpoint(published)))).to.equal(JSON.stringify(published));
    }
  });

  it('has the hash of the published vector', () => {
    const chain = publishedLedger.checkpoints.map(readCheckpoint);
    expect(chain.slice(0, -1).map((checkpoint) => checkpointHash(hash, checkpoint))).to.deep.equal(
      chain.slice(1).map((checkpoint) => checkpoint.prevCheckpointHash),
    );
  });
});

describe('a mark', () => {
  it('reads back as it was written', () => {
    const mark = { checkpointId: 1440, rootHash: ROOT };
    expect(formatMark(mark)).to.equal(`1440:${ROOT}`);
    expect(parseMark(`1440:${ROOT}`)).to.deep.equal(mark);
  });

  const refused: readonly string[] = [
    '',
    '1',
    ROOT,
    `:${ROOT}`,
    `0:${ROOT}`,
    `-1:${ROOT}`,
    `01:${ROOT}`,
    `1.0:${ROOT}`,
    `9007199254740992:${ROOT}`,
    `1:${ROOT.slice(1)}`,
    `1:${ROOT}0`,
    `1:${ROOT.toUpperCase()}`,
    `1:${ROOT}\n`,
    ` 1:${ROOT}`,
    `1:${ROOT},`,
    `1;${ROOT}`,
  ];
  for (const text of refused) {
    it(`is refused in the form ${JSON.stringify(text)}`, () => expect(parseMark(text)).to.equal(undefined));
  }
});
