import { expect } from 'chai';
import fc from 'fast-check';
import { intersectScopes, isWithin, parseScope } from '../../domain/scope.ts';

const name = fc.constantFrom('jira:read', 'jira:comment', 'calendar:read', 'mail', 'x', '!#[]~');
const scope = fc.uniqueArray(name);

describe('scopes', () => {
  it('are read from names separated by spaces, each counted once', () => {
    expect(parseScope('b a  b ')).to.deep.equal(['b', 'a']);
    expect(parseScope('')).to.deep.equal([]);
  });

  it('are invalid if a name has a character that RFC 6749 §3.3 does not allow', () => {
    for (const text of ['a"b', 'a\\b', 'a\tb', 'a\nb', 'a\u0000', 'é', 'a\u007f', '\u00a0']) {
      expect(parseScope(text), JSON.stringify(text)).to.equal(undefined);
    }
  });

  it('intersect to exactly the names that all of them have', () => {
    fc.assert(
      fc.property(scope, scope, scope, (a, b, c) => {
        const both = intersectScopes(a, b, c);
        expect([...both].sort()).to.deep.equal(a.filter((one) => b.includes(one) && c.includes(one)).sort());
        for (const whole of [a, b, c]) expect(isWithin(both, whole)).to.equal(true);
      }),
    );
  });

  it('are within another scope only if that scope has all their names', () => {
    expect(isWithin([], ['a'])).to.equal(true);
    expect(isWithin(['a'], ['a', 'b'])).to.equal(true);
    expect(isWithin(['a', 'c'], ['a', 'b'])).to.equal(false);
    expect(isWithin(['A'], ['a'])).to.equal(false);
  });
});
