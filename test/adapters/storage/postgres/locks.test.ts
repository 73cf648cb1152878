import { expect } from 'chai';
import { LOCK } from '../../../../adapters/storage/postgres/locks.ts';

describe('The locks on Postgres', () => {
  it('have a number for each kind, so that none waits for another kind', () => {
    const numbers = Object.values(LOCK);
    expect([...new Set(numbers)]).to.deep.equal(numbers);
  });
});
