/** The guard and the server behind it read one path from each accepted target. */

import { get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import fc from 'fast-check';
import { pathOfTarget } from '../../../../../adapters/sdk/tool-server/guard/request-target.ts';
import { matchesRoute, readRouteMatch } from '../../../../../adapters/sdk/tool-server/guard/route-match.ts';
import { byLength } from '../../../../support/length.ts';
import { targets } from '../../../../support/tool-server/confusing-targets.ts';

const refused: readonly (readonly [string, readonly string[]])[] = [
  ['has a dot segment', ['/.', '/..', '/a/./b', '/a/../b', '/a/..', '/../a', '/a/..?b']],
  ['has a dot segment with parameters', ['/a/..;b/c', '/a/.;', '/..;', '/a/..%3b/c', '/a/..%3Bx/c', '/a/.;b=1?c']],
  ['has an empty segment', ['//', '//a', '/a//b', '/a//', '/;/a', '/a/;b/c', '/a/%3bb/c']],
  ['has an encoded slash or backslash', ['/a%2fb', '/a%2Fb', '/a%5cb', '/a%5Cb', '/a/..%2fb']],
  [
    'has an encoded unreserved character',
    ['/%61', '/%7A', '/%41', '/%5A', '/%30', '/%39', '/%2e%2e/a', '/%2E', '/%2d', '/%5f', '/%7e'],
  ],
  ['has an encoded control character', ['/a%00', '/a%0d%0ab', '/a%1F', '/a%7f']],
  ['has escapes that are not UTF-8', ['/%c0%ae%c0%ae/a', '/%aa', '/a%c0%afb', '/%ed%a0%80']],
  ['has a broken escape', ['/%', '/a%2', '/a%zz', '/%u0041']],
  ['is absolute, an authority, or an asterisk', ['http://h/a', 'HTTPS://h/', 'h:443', '*', '', 'a', '?a', '\\a']],
  [
    'has a character that a path does not have',
    ['/a\\b', '/a b', '/a"', '/<a', '/{a}', '/a^', '/a|', '/`', '/é', '/a\t', '/[a]'],
  ],
  ['has a fragment', ['/a#', '/a?b#c', '/#/../a']],
  ['has a query with other characters than printable ASCII', ['/a?b c', '/a?é', '/a?\u0000', '/a?\u007f']],
];

const accepted: readonly (readonly [target: string, path: string])[] = [
  ['/', '/'],
  ['/?a=//../%2e', '/'],
  ['/issues/1/', '/issues/1/'],
  ['/a;b=1/c', '/a;b=1/c'],
  ["/a.b/..c/...%20(!$&'*+,=:@~_-)", "/a.b/..c/...%20(!$&'*+,=:@~_-)"],
  ['/caf%C3%a9/%252e', '/caf%C3%a9/%252e'],
  ['/%60%5b%5e%40%2c%2b%3a', '/%60%5b%5e%40%2c%2b%3a'],
];

/** What the most careless server makes of a path: it decodes first, then drops parameters, then splits. */
function carelessSegments(path: string): readonly string[] {
  const segments = path.split('/').slice(1);
  return segments.map((segment) => decodeURIComponent(segment).replace(/;.*$/s, ''));
}

describe('The target of a request to the guard', () => {
  for (const [fault, faulty] of refused) {
    it(`is refused if it ${fault}`, () => {
      expect(faulty.filter((target) => pathOfTarget(target) !== undefined)).to.deep.equal([]);
    });
  }

  it('is accepted otherwise, and its path stays as it was sent', () => {
    expect(accepted.map(([target]) => [target, pathOfTarget(target)])).to.deep.equal(accepted);
  });

  it('has, if accepted, the path that a URL parser finds, and no segment that a careless server would rewrite', () => {
    let some = 0;
    const run = fc.property(targets, (target) => {
      const path = pathOfTarget(target);
      if (path === undefined) return;
      some += 1;
      expect(new URL(target, 'http://h').pathname, target).to.equal(path);
      const segments = carelessSegments(path);
      expect(segments.slice(0, -1), target).not.to.include('');
      expect(
        segments.filter((segment) => /^\.{1,2}$|[/\\\p{Cc}]/u.test(segment)),
        target,
      ).to.deep.equal([]);
    });
    fc.assert(run, { numRuns: byLength({ short: 5000, full: 100_000 }) });
    expect(some).to.be.above(500);
  });

  describe('over HTTP', () => {
    let server: Server;
    before((done) => {
      const app = express().set('case sensitive routing', true).set('strict routing', true);
      const answer = (route: string | null) => (request: express.Request, response: express.Response) => {
        response.json({ url: request.url, path: request.path, route });
      };
      app.get('/issues/*rest', answer('GET /issues/*'));
      app.get('/a', answer('GET /a'));
      app.use(answer(null));
      server = app.listen(0, '127.0.0.1', () => done());
    });
    after(() => server.close());

    const routes = ['GET /issues/*', 'GET /a'].map((pattern) => readRouteMatch(pattern));
    const seenBehind = (path: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const { port } = server.address() as AddressInfo;
        get({ host: '127.0.0.1', port, path }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk) => {
            text += chunk;
          });
          response.on('end', () => resolve(JSON.parse(text)));
        }).on('error', reject);
      });

    it('has, if accepted, the path and the route that Node and Express see', async () => {
      const run = fc.asyncProperty(
        targets.filter((target) => pathOfTarget(target) !== undefined),
        async (target) => {
          const path = pathOfTarget(target) ?? '';
          const route = routes.find((match) => match !== undefined && matchesRoute(match, 'GET', path));
          expect(await seenBehind(target)).to.deep.equal({ url: target, path, route: route?.pattern ?? null });
        },
      );
      await fc.assert(run, { numRuns: byLength({ short: 200, full: 5000 }) });
    });
  });
});
