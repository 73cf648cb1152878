import { expect } from 'chai';
import { listCheckpoints } from '../../../application/ledger/query.ts';
import { type LedgerFixture, ledgerFixture } from '../../support/ledger-fixture.ts';

describe('the list of checkpoints', () => {
  let fixture: LedgerFixture;
  before(async () => {
    fixture = await ledgerFixture();
    for (let count = 1; count <= 5; count += 1) await fixture.sealed(count);
  });
  after(() => fixture.close());

  const list = async (after: number, limit: number) => {
    const { checkpoints, nextAfter } = await listCheckpoints(fixture.storage, { after, limit });
    return { ids: checkpoints.map(({ checkpointId }) => checkpointId), nextAfter };
  };

  it('continues after the previous page, and lists each checkpoint once, oldest first', async () => {
    expect(await list(0, 2)).to.deep.equal({ ids: [1, 2], nextAfter: 2 });
    expect(await list(2, 2)).to.deep.equal({ ids: [3, 4], nextAfter: 4 });
    expect(await list(4, 2)).to.deep.equal({ ids: [5], nextAfter: undefined });
  });

  it('reports no next page after the last page, even if that page is full', async () => {
    expect(await list(0, 5)).to.deep.equal({ ids: [1, 2, 3, 4, 5], nextAfter: undefined });
    expect(await list(5, 5)).to.deep.equal({ ids: [], nextAfter: undefined });
  });
});
