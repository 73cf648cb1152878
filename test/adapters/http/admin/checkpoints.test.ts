import { expect } from 'chai';
import { type AdminApi, startAdminApi } from '../../../support/admin-api.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

const entry = { at: NOON, event: 'token.denied', decision: 'deny', reason: 'invalid_request' } as const;

describe('GET /audit/checkpoints', () => {
  let api: AdminApi;
  before(async () => {
    api = await startAdminApi();
    for (let seal = 1; seal <= 5; seal += 1) {
      for (let record = 0; record < seal; record += 1) await api.storage.ledger.append(entry);
      await api.seal();
    }
  });
  after(() => api.stop());

  const page = async (query: string) => {
    const answer = await api.send('get', `/audit/checkpoints${query}`);
    expect(answer.status, answer.text).to.equal(200);
    expect(Object.keys(answer.body)).to.deep.equal(['checkpoints', 'next_after']);
    const ids = answer.body.checkpoints.map((checkpoint: { checkpoint_id: number }) => checkpoint.checkpoint_id);
    return [ids, answer.body.next_after];
  };

  it('answers every checkpoint, oldest first, with every published field', async () => {
    const { body } = await api.send('get', '/audit/checkpoints');
    const [first, second] = body.checkpoints;
    expect(Object.keys(first)).to.deep.equal([
      ...['checkpoint_id', 'first_seq', 'last_seq', 'tree_size', 'root_hash', 'prev_checkpoint_hash'],
      ...['closed_at', 'kid', 'signature'],
    ]);
    expect(first).to.include({ checkpoint_id: 1, first_seq: 1, last_seq: 1, tree_size: 1, prev_checkpoint_hash: null });
    expect(second).to.include({ checkpoint_id: 2, first_seq: 2, last_seq: 3, tree_size: 2 });
    expect([first.root_hash, second.prev_checkpoint_hash, first.signature.slice(64)]).to.satisfy((all: string[]) =>
      all.every((hex) => /^[0-9a-f]{64}$/.test(hex)),
    );
    expect(first.closed_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await page('')).to.deep.equal([[1, 2, 3, 4, 5], null]);
  });

  it('pages with limit and after, and names the next page', async () => {
    expect(await page('?limit=2')).to.deep.equal([[1, 2], 2]);
    expect(await page('?limit=2&after=2')).to.deep.equal([[3, 4], 4]);
    expect(await page('?after=4&limit=2')).to.deep.equal([[5], null]);
    expect(await page('?limit=5')).to.deep.equal([[1, 2, 3, 4, 5], null]);
    expect(await page('?after=0&limit=1000')).to.deep.equal([[1, 2, 3, 4, 5], null]);
    expect(await page('?after=5')).to.deep.equal([[], null]);
    expect(await page('?after=9007199254740991')).to.deep.equal([[], null]);
  });

  it('answers an empty list before the first seal', async () => {
    const fresh = await startAdminApi();
    const { body } = await fresh.send('get', '/audit/checkpoints');
    expect(body).to.deep.equal({ checkpoints: [], next_after: null });
    await fresh.stop();
  });
});
