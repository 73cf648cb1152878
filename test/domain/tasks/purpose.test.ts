import { expect } from 'chai';
import type { TaskId } from '../../../domain/identifiers.ts';
import { differenceOfPurpose, purposeDetail } from '../../../domain/tasks/purpose.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

describe('A stored purpose', () => {
  const digest = (text: string) => `hash of ${text}`;
  const task = { taskId: 'task_1' as TaskId, agentId: agentIdOf('triage'), sponsor: 'ada', createdAt: NOON };
  const stated = { ...task, words: 'Answer the issues', salt: 's'.repeat(43) };
  const record = {
    event: 'purpose.stated',
    agentId: task.agentId,
    sponsor: task.sponsor,
    detail: purposeDetail(digest(`${stated.salt}${stated.words}`)),
  };
  const howOf = (...records: Parameters<typeof differenceOfPurpose>[2]) =>
    differenceOfPurpose(digest, stated, records)?.how;

  it('agrees with its one record, among records of other events', () => {
    expect(howOf({ event: 'token.issued' }, record)).to.equal(undefined);
  });

  it('differs without a record, from two records, and from a record with other names or another hash', () => {
    expect(howOf({ ...record, event: 'token.issued' })).to.equal('no_record');
    expect(howOf(record, record)).to.equal('records');
    expect(howOf({ ...record, sponsor: 'grace' })).to.equal('names');
    expect(howOf({ ...record, detail: purposeDetail('another') })).to.equal('text');
  });
});
