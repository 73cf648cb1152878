import { expect } from 'chai';
import { type BoundedCache, boundedCache } from '../../../adapters/jose/bounded-cache.ts';

describe('a bounded cache', () => {
  it('drops what was not asked for the longest', () => {
    const cache: BoundedCache<number> = boundedCache(3);
    for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index);
    cache.get('a');
    cache.set('b', 7);
    cache.set('d', 3);
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).to.deep.equal([0, 7, undefined, 3]);
  });
});
