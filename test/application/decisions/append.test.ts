import { expect } from 'chai';
import { append } from '../../../application/decisions/append.ts';
import { anEntry } from '../../contract/storage-fixtures.ts';

describe('Appending an entry', () => {
  it('appends the entry as it is, without a lock or a question', () => {
    const entry = anEntry('admin.denied', { detail: 'a detail', count: 3 });
    expect(append.judge(entry, {})).to.deep.equal({
      verdict: undefined,
      effects: [{ effect: 'append', entries: [entry] }],
    });
    expect(append.locks(entry)).to.deep.equal([]);
    expect(append.asks(entry)).to.deep.equal({});
  });
});
