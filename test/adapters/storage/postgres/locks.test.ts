import { expect } from 'chai';
import { LOCK } from '../../../../adapters/storage/postgres/locks.ts';

describe('The advisory locks on Postgres', () => {
  it('have a key for each kind: with one key, unrelated decisions would wait for each other', () => {
    const kinds = Object.entries(LOCK);
    const shared = kinds.filter(([, key]) => kinds.filter(([, other]) => other === key).length > 1);
    expect(shared).to.deep.equal([]);
  });
});
