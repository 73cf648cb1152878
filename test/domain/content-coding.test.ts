import { expect } from 'chai';
import { isCoded } from '../../domain/content-coding.ts';

describe('A Content-Encoding', () => {
  it('means no coding if it is absent or identity, in any letter case', () => {
    expect([undefined, 'identity', 'Identity', 'IDENTITY'].filter(isCoded)).to.deep.equal([]);
  });

  it('means a coding otherwise: an empty one, two and an unknown one too', () => {
    const coded = ['gzip', '', 'identity, identity', 'identity, gzip', 'utf-8', ' identity'];
    expect(coded.filter(isCoded)).to.deep.equal(coded);
  });
});
