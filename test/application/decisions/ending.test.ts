import { expect } from 'chai';
import { expireTasks, revokeTasks, voidAuthorizations } from '../../../application/decisions/ending.ts';
import type { TaskSelection } from '../../../application/decisions/fact.ts';
import { instantFromMicros, plusSeconds, toSeconds } from '../../../domain/instant.ts';
import { ADA, liveTasks, NO_TASKS, revoked, TASKS } from '../../support/decision-fixtures.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const LATER = instantFromMicros(NOON + 90_000_007);
const revocation = { at: LATER, reason: 'scim_deleted' } as const;
const [first, second, third] = TASKS;

describe('Ending tasks', () => {
  it('revokes selected tasks for the given reason, and delegated tasks because their parent is revoked', () => {
    const ended = revoked(LATER, [first, 'scim_deleted'], [second, 'parent_revoked'], [third, 'scim_deleted']);
    expect(revokeTasks(liveTasks([first, third], [second]), revocation, undefined)).to.deep.equal({
      tasks: 3,
      effects: [{ effect: 'end_tasks', ...ended }],
      ended,
    });
  });

  it('revokes the delegated tasks even if no selected task is live', () => {
    const { ended, tasks } = revokeTasks(liveTasks([], [second]), revocation, undefined);
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
    expect(revokeTasks(NO_TASKS, revocation, { kind: 'task', taskId: first })).to.deep.equal(nothing);
    expect(expireTasks([], LATER)).to.deep.equal(nothing);
  });

  it('makes the authorizations of the selection void, even if no task is live, and keeps those of a stopped task', () => {
    const bySponsor = { kind: 'sponsor', sponsorKey: ADA } as const;
    const gone = { effect: 'void_authorizations', selection: bySponsor, reason: 'scim_deleted' };
    expect(revokeTasks(NO_TASKS, revocation, bySponsor)).to.deep.equal({ tasks: 0, effects: [gone], ended: undefined });
    const ended = revoked(LATER, [first, 'scim_deleted']);
    const effects = (selection: TaskSelection) => revokeTasks(liveTasks([first]), revocation, selection).effects;
    expect(effects(bySponsor)).to.deep.equal([{ effect: 'end_tasks', ...ended }, gone]);
    expect(effects({ kind: 'task', taskId: first })).to.deep.equal([{ effect: 'end_tasks', ...ended }]);
  });

  it('counts the end of an agent, and of everything, for requests whose person is at the provider', () => {
    const { agentId } = anAgent();
    const forgetAt = plusSeconds(LATER, 7200);
    // A row that is stored anew, after it was forgotten, must not begin with the count of an earlier one.
    const first = Math.floor(toSeconds(forgetAt) / 60);
    for (const selection of [{ kind: 'agent', agentId }, { kind: 'everything' }] as const) {
      expect(voidAuthorizations(selection, revocation)).to.deep.equal([
        { effect: 'void_authorizations', selection, reason: 'scim_deleted' },
        { effect: 'count_authorization_end', of: selection, first, reason: 'scim_deleted', forgetAt },
      ]);
    }
  });
});
