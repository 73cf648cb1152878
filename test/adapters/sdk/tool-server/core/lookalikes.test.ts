/** Names that some parsers take for others, and names that cost time to compare. */

import { expect } from 'chai';
import { folded, hasLookalike, isUnfolded } from '../../../../../adapters/sdk/tool-server/core/lookalikes.ts';

/** Two marks whose order a normalization changes: it takes time by the square of their number. */
const marks = (pairs: number) => '\u0315\u0300'.repeat(pairs);

describe('A name in a message', () => {
  it('is another one in other letters, compatible letters, or behind a NUL', () => {
    const alike = [
      'Method',
      'METHOD',
      'm\uff45thod',
      'method\0x',
      '\ud835\udc5aethod',
      'ID',
      'Par\u0061ms',
      'param\u017f',
    ];
    expect(alike.filter((name) => !hasLookalike({ [name]: 1 }))).to.deep.equal([]);
    const others = ['method', 'methods', 'meth', '', 'id\u0301', 'x'.repeat(100), `method${'x'.repeat(100)}`];
    expect(others.filter((name) => hasLookalike({ [name]: 1 }))).to.deep.equal([]);
    expect(hasLookalike({ params: { Name: 'x' } })).to.equal(true);
    expect(hasLookalike({ params: { notifications: { RESOURCESUBSCRIPTIONS: [] } } })).to.equal(true);
    expect(hasLookalike([{ Method: 1 }])).to.equal(false);
  });

  it('is compared at once however many marks it has', () => {
    // A second with a tenth of them, minutes with all.
    const name = `a${marks(250_000)}`;
    expect(hasLookalike({ [name]: 1, params: { [name]: 1 } })).to.equal(false);
    expect([folded(name), folded(`X${marks(250_000)}`).length]).to.deep.equal([name, 500_001]);
    expect([isUnfolded(name), isUnfolded(`a${marks(15)}`)]).to.deep.equal([true, false]);
    expect(folded(`E\u0301${'\u0315'}`)).to.equal('\u00e9\u0315');
  });
});
