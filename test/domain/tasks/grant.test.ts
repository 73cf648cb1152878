import { expect } from 'chai';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { judgeGrant } from '../../../domain/tasks/grant.ts';
import { aGrant, aTask, NOON } from '../../support/domain-fixtures.ts';

const revoked = { kind: 'revoked', at: NOON, reason: 'operator_kill_switch' } as const;
const expired = { kind: 'expired', at: NOON } as const;
const past = aTask({ expiresAt: NOON });
const ending = aTask({ expiresAt: instantFromSeconds(1_789_653_821 + 5) });

describe('a task grant', () => {
  it('may be used while it and its task are live', () => {
    expect(judgeGrant(aGrant(), NOON)).to.equal(undefined);
  });

  it("is refused for the first of the specification's checks 2 to 4 that fails", () => {
    expect(judgeGrant(aGrant({ taskState: revoked, task: past }), NOON)).to.equal('task_revoked');
    expect(judgeGrant(aGrant({ task: past }), NOON)).to.equal('task_expired');
    expect(judgeGrant(aGrant({ taskState: expired }), NOON)).to.equal('task_expired');
    expect(judgeGrant(aGrant({ task: ending }), NOON)).to.equal('task_ending');
  });

  it('reports the end of its task, and not its own revocation at that end', () => {
    expect(judgeGrant(aGrant({ taskState: revoked, revokedAt: NOON }), NOON)).to.equal('task_revoked');
    expect(judgeGrant(aGrant({ revokedAt: NOON }), NOON)).to.equal('grant_revoked');
  });
});
