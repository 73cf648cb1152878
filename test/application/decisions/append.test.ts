import { expect } from 'chai';
import { append } from '../../../application/decisions/append.ts';
import { anEntry } from '../../contract/storage-fixtures.ts';

describe('Appending an entry', () => {
  it('appends the entry unchanged, and neither locks nor reads anything', () => {
    const entry = anEntry('admin.denied', { detail: 'a detail', count: 3 });
    expect(append.judge(entry, {})).to.deep.equal({
      verdict: undefined,
      effects: [{ effect: 'append', entries: [entry] }],
    });
    expect(append.locks(entry)).to.deep.equal([]);
    expect(append.asks(entry)).to.deep.equal({});
  });
});
