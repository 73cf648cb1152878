/** The request that a gateway names in a pair of headers. */

import { expect } from 'chai';
import { originalRequest } from '../../../../../adapters/sdk/tool-server/guard/original-request.ts';

const FORWARDED = ['X-Forwarded-Method', 'GET', 'X-Forwarded-Uri', '/issues/1?full'];
const ORIGINAL = ['X-Original-Method', 'GET', 'X-Original-URI', '/issues/1?full'];
const named = { method: 'GET', path: '/issues/1' };

const accepted: readonly (readonly [string, readonly string[]])[] = [
  ['the pair of Caddy and Traefik', FORWARDED],
  ['the pair of nginx', ORIGINAL],
  ['both pairs, which agree', [...ORIGINAL, ...FORWARDED]],
  [
    'a pair in other letter case, among other headers',
    ['Host', 'h', ...ORIGINAL.map((each, at) => (at % 2 ? each : each.toUpperCase()))],
  ],
];

const refused: readonly (readonly [string, readonly string[]])[] = [
  ['no pair', []],
  ['a name only as the value of another header', ['X-A', 'X-Original-Method', 'X-B', 'X-Original-URI']],
  ['a method without a target', FORWARDED.slice(0, 2)],
  ['a target without a method', ORIGINAL.slice(2)],
  ['the method of one pair and the target of the other', [...FORWARDED.slice(0, 2), ...ORIGINAL.slice(2)]],
  ['a whole pair and half of the other', [...ORIGINAL, ...FORWARDED.slice(2)]],
  ['a whole pair of Caddy and half of that of nginx', [...FORWARDED, ...ORIGINAL.slice(0, 2)]],
  ['a doubled method', [...ORIGINAL, 'x-original-method', 'GET']],
  ['a doubled target', [...FORWARDED, 'x-forwarded-uri', '/issues/1?full']],
  ['pairs with different methods', [...FORWARDED, 'X-Original-Method', 'POST', 'X-Original-URI', '/issues/1?full']],
  ['pairs with different targets', [...FORWARDED, 'X-Original-Method', 'GET', 'X-Original-URI', '/issues/2?full']],
  ['pairs with different queries', [...FORWARDED, 'X-Original-Method', 'GET', 'X-Original-URI', '/issues/1']],
  ['an empty method', ['X-Original-Method', '', 'X-Original-URI', '/']],
  ['two methods in one header', ['X-Original-Method', 'GET, POST', 'X-Original-URI', '/']],
  ['an empty target', ['X-Original-Method', 'GET', 'X-Original-URI', '']],
  ['an absolute target', ['X-Original-Method', 'GET', 'X-Original-URI', 'http://h/issues/1']],
  ['a target with a dot segment', ['X-Forwarded-Method', 'GET', 'X-Forwarded-Uri', '/issues/../admin']],
];

describe('The original request of the mode decide', () => {
  for (const [what, headers] of accepted) {
    it(`is read from ${what}`, () => expect(originalRequest(headers)).to.deep.equal(named));
  }
  for (const [what, headers] of refused) {
    it(`is malformed with ${what}`, () => expect(originalRequest(headers)).to.equal(undefined));
  }
  it('keeps the letter case of the method', () => {
    expect(originalRequest(['X-Original-Method', 'get', 'X-Original-URI', '/'])).to.deep.equal({
      method: 'get',
      path: '/',
    });
  });
});
