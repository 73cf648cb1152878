import { expect } from 'chai';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { judgeGrant, makeGrant, makeRotatingGrant, readGrant, rotate } from '../../../domain/tasks/grant.ts';
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

describe('a rotating grant', () => {
  it('is named by its family, whatever its rotation; another grant by the whole of it', () => {
    const [one, other] = [makeRotatingGrant('family', '1'.repeat(43)), makeRotatingGrant('family', '2'.repeat(43))];
    expect(readGrant(one)).to.deep.equal({ named: makeGrant('family'), rotating: one });
    expect(readGrant(other).named).to.equal(readGrant(one).named);
    expect(readGrant(makeGrant('family'))).to.deep.equal({ named: makeGrant('family'), rotating: undefined });
  });

  it('gives way to the next one when it is used, and may be presented again until that one is used', () => {
    const rotation = { current: 'second', previous: 'first' };
    const rotated = (presented: string) => rotate(rotation, presented, 'next');
    expect(rotated('second')).to.deep.equal({ kind: 'rotated', rotation: { current: 'next', previous: 'second' } });
    // The answer with `second` may have been lost. It is older now.
    expect(rotated('first')).to.deep.equal({ kind: 'rotated', rotation: { current: 'next', previous: 'first' } });
    expect(rotated('zeroth')).to.deep.equal({ kind: 'superseded' });
    expect(rotate({ current: 'first', previous: undefined }, 'zeroth', 'next').kind).to.equal('superseded');
  });
});
