import { expect } from 'chai';
import { believedBefore, type KeyNaming, namedKey } from '../../../domain/ledger/recorded-keys.ts';

/** @param signer the key that signed the checkpoint; none: a key that is believed anyway */
const naming = (thumbprint: string, checkpointId: number, signer?: string): KeyNaming => ({
  thumbprint,
  checkpointId,
  signer,
});
const believed = (...namings: readonly KeyNaming[]) => Object.fromEntries(believedBefore(namings));

describe('A key that records name', () => {
  it('is believed before the newest checkpoint by a believed key that seals such a record', () => {
    expect(believed(naming('a', 3), naming('a', 7), naming('a', 5))).to.deep.equal({ a: 7 });
  });

  it('is believed through a chain of keys, in any order of the records', () => {
    const chain = [naming('a', 3, 'b'), naming('b', 5, 'c'), naming('c', 9)];
    for (const namings of [chain, chain.toReversed()]) expect(believed(...namings)).to.deep.equal({ a: 3, b: 5, c: 9 });
  });

  it('is not believed if only itself, a circle of such keys, or a key that signs too late vouches for it', () => {
    expect(believed(naming('a', 3, 'a'))).to.deep.equal({});
    expect(believed(naming('a', 3, 'b'), naming('b', 4, 'a'))).to.deep.equal({});
    // The key b is believed only before checkpoint 5.
    expect(believed(naming('b', 5), naming('a', 5, 'b'), naming('a', 8, 'b'))).to.deep.equal({ b: 5 });
  });

  it('is named by a record of its use for checkpoints only', () => {
    const record = { event: 'key.retired', reason: 'checkpoint_key', detail: 'a' };
    expect(namedKey(record)).to.equal('a');
    expect(namedKey({ ...record, event: 'key.activated' })).to.equal('a');
    for (const other of [{ event: 'audit.archived' }, { reason: 'log_key' }, { reason: undefined }]) {
      expect(namedKey({ ...record, ...other })).to.equal(undefined);
    }
  });
});
