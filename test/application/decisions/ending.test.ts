import { expect } from 'chai';
import { expireTasks, revokeTasks } from '../../../application/decisions/ending.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { liveTasks, NO_TASKS, revoked, TASKS } from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const revocation = { at: LATER, reason: 'scim_deleted' } as const;
const [first, second, third] = TASKS;

describe('Ending tasks', () => {
  it('revokes selected tasks for the given reason, and delegated tasks because their parent is revoked', () => {
    const ended = revoked(LATER, [first, 'scim_deleted'], [second, 'parent_revoked'], [third, 'scim_deleted']);
    expect(revokeTasks(liveTasks([first, third], [second]), revocation)).to.deep.equal({
      tasks: 3,
      effects: [{ effect: 'end_tasks', ...ended }],
      ended,
    });
  });

  it('revokes the delegated tasks even if no selected task is live', () => {
    const { ended, tasks } = revokeTasks(liveTasks([], [second]), revocation);
    expect([ended, tasks]).to.deep.equal([revoked(LATER, [second, 'parent_revoked']), 1]);
  });

  it('expires tasks at the given time, and names the event of the summary of their renewals', () => {
    const end = { state: 'expired', record: { event: 'task.expired', reason: 'task_ttl_elapsed' } };
    const tasks = [third, first].map((taskId) => ({ taskId, end }));
    const ended = { tasks, at: LATER, renewalsEvent: 'token.refreshed', withdrawnEvent: 'approval.withdrawn' };
    const effects = [{ effect: 'end_tasks', ...ended }];
    expect(expireTasks([third, first], LATER)).to.deep.equal({ tasks: 2, effects, ended });
  });

  it('has no effect without a live task', () => {
    const nothing = { tasks: 0, effects: [], ended: undefined };
    expect(revokeTasks(NO_TASKS, revocation)).to.deep.equal(nothing);
    expect(expireTasks([], LATER)).to.deep.equal(nothing);
  });
});
