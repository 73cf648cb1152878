import { expect } from 'chai';
import { freshnessOf } from '../../../adapters/platform/freshness.ts';

const DATE = 'Sun, 29 Nov 2026 20:00:00 GMT';

describe('The freshness of an answer', () => {
  const cases: readonly (readonly [Parameters<typeof freshnessOf>[0], number])[] = [
    [{}, 0],
    [{ 'cache-control': 'max-age=60' }, 60],
    [{ 'cache-control': 'public, MAX-AGE="90" , must-revalidate' }, 90],
    [{ 'cache-control': 'private, max-age=60' }, 60],
    // For caches that several users share.
    [{ 'cache-control': 's-maxage=600, max-age=60' }, 60],
    [{ 'cache-control': 's-maxage=600' }, 0],
    [{ 'cache-control': 'max-age=60, max-age=60' }, 60],
    [{ 'cache-control': 'max-age=60, max-age=600' }, 0],
    [{ 'cache-control': 'max-age=-1' }, 0],
    [{ 'cache-control': 'max-age=1.5' }, 0],
    [{ 'cache-control': 'max-age' }, 0],
    [{ 'cache-control': 'x-max-age=60' }, 0],
    [{ 'cache-control': 'max-age=60, no-store' }, 0],
    [{ 'cache-control': 'no-cache, max-age=60' }, 0],
    [{ 'cache-control': 'max-age=60, no-cache="set-cookie"' }, 0],
    [{ 'cache-control': 'max-age=60', vary: 'accept, *' }, 0],
    [{ 'cache-control': 'max-age=60', vary: 'accept' }, 60],
    [{ 'cache-control': 'max-age=60', age: '20' }, 40],
    [{ 'cache-control': 'max-age=60', age: '61' }, 0],
    [{ 'cache-control': 'max-age=60', age: 'x' }, 60],
    [{ date: DATE, expires: 'Sun, 29 Nov 2026 20:01:30 GMT' }, 90],
    [{ date: DATE, expires: 'Sun, 29 Nov 2026 20:01:30 GMT', age: '30' }, 60],
    [{ date: DATE, expires: 'Sun, 29 Nov 2026 19:00:00 GMT' }, 0],
    [{ date: DATE, expires: '0' }, 0],
    [{ expires: 'Sun, 29 Nov 2026 20:01:30 GMT' }, 0],
    [{ 'cache-control': 'max-age=60', date: DATE, expires: 'Sun, 29 Nov 2026 21:00:00 GMT' }, 60],
  ];
  it('is what its headers say, and nothing where they do not agree or say nothing', () => {
    for (const [headers, seconds] of cases) expect(freshnessOf(headers), JSON.stringify(headers)).to.equal(seconds);
  });
});
