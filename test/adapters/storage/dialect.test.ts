import { expect } from 'chai';
import { byKeys, compile, inOrder, postgres, sqlite } from '../../../adapters/storage/dialect.ts';

const TEXT = 'select at::text from tasks where task_id = :task_id and (at, task_id) > (:at, :task_id)';

describe('A statement with named values', () => {
  it('has one parameter for each name on Postgres, and one for each place on SQLite', () => {
    expect(compile(TEXT, postgres)).to.deep.equal({
      text: 'select at::text from tasks where task_id = $1 and (at, task_id) > ($2, $1)',
      names: ['task_id', 'at'],
    });
    expect(compile(TEXT, sqlite)).to.deep.equal({
      text: 'select at::text from tasks where task_id = ? and (at, task_id) > (?, ?)',
      names: ['task_id', 'at', 'task_id'],
    });
  });

  it('takes its values from the columns of a row of keys, if Postgres looks up many at once', () => {
    expect(byKeys(TEXT)).to.equal(
      'select at::text from tasks where task_id = q.task_id and (at, task_id) > (q.at, q.task_id)',
    );
  });

  it('gets its values in the order of its parameters, and is not run without one of them', () => {
    const { names } = compile(TEXT, sqlite);
    expect(inOrder(names, { at: 5, task_id: 'task', unused: null })).to.deep.equal(['task', 5, 'task']);
    expect(() => inOrder(names, { at: null })).to.throw(':task_id');
  });
});
