/** The patterns of the guard's routes. */

import { expect } from 'chai';
import {
  comparable,
  matchesRoute,
  overlaps,
  type RouteMatch,
  readRouteMatch,
} from '../../../../../adapters/sdk/tool-server/guard/route-match.ts';

function match(pattern: string): RouteMatch {
  const found = readRouteMatch(pattern);
  if (found === undefined) throw new Error(`${pattern} is no pattern`);
  return found;
}

const cases: readonly (readonly [pattern: string, matches: readonly string[], others: readonly string[]])[] = [
  ['GET /issues', ['GET /issues'], ['GET /issues/', 'GET /Issues', 'HEAD /issues', 'get /issues', 'GET /issues/1']],
  ['GET /issues/*', ['GET /issues/1', 'GET /issues/1/2/'], ['GET /issues/', 'GET /issues', 'GET /ISSUES/1']],
  ['POST /*', ['POST /a', 'POST /a/b'], ['POST /', 'GET /a']],
  ['M-SEARCH /', ['M-SEARCH /'], ['M-SEARCH /a']],
  ['GET /caf%c3%a9', ['GET /caf%C3%A9', 'GET /caf%c3%a9'], ['GET /caf']],
  ['GET /a.b+c(d)', ['GET /a.b+c(d)'], ['GET /aXb+c(d)']],
];

const noPatterns: readonly string[] = [
  ...['', 'GET', '/issues', 'get /issues', 'Get /issues', 'GET issues', 'GET  /issues', ' GET /issues', 'GET /issues '],
  ...['GET /a/*/b', 'GET /a*', 'GET *', 'GET /a/**', 'GET /*/a', 'GET /a/*?b', 'GET /a?b', 'GET /a#b', 'G-ET- /a'],
  ...[
    'GET /a/../b',
    'GET /a//b',
    'GET /%61',
    'GET /a%2fb',
    'GET /./*',
    'GET //*',
    'GET /a\\b',
    'GET /é',
    'GET http://h/a',
  ],
  ...['GET /a\nGET /b', '* /a', 'GET,POST /a'],
];

const pairs: readonly (readonly [string, string, boolean])[] = [
  ['GET /a', 'GET /a', true],
  ['GET /a', 'POST /a', false],
  ['GET /a', 'GET /a/', false],
  ['GET /a/*', 'GET /a/b', true],
  ['GET /a/*', 'GET /a/', false],
  ['GET /a/*', 'GET /a/b/*', true],
  ['GET /a/*', 'GET /b/*', false],
  ['GET /*', 'GET /a/*', true],
  ['GET /a/%c3%a9', 'GET /a/%C3%A9', true],
];

describe("A route of the guard's file", () => {
  for (const [pattern, matches, others] of cases) {
    it(`${pattern} matches its method and path, and no others`, () => {
      const isMatched = (request: string) => {
        const [method = '', path = ''] = request.split(' ');
        return matchesRoute(match(pattern), method, comparable(path));
      };
      expect([...matches, ...others].filter(isMatched)).to.deep.equal(matches);
    });
  }

  it('is refused unless it is an upper-case method and a plain path, with a wildcard only last after a slash', () => {
    expect(noPatterns.filter((pattern) => readRouteMatch(pattern) !== undefined)).to.deep.equal([]);
  });

  it('overlaps another if some request matches both', () => {
    const both = (one: string, other: string) => overlaps(match(one), match(other));
    expect(pairs.map(([one, other]) => [one, other, both(one, other)])).to.deep.equal(pairs);
    expect(pairs.map(([one, other]) => [one, other, both(other, one)])).to.deep.equal(pairs);
  });
});
