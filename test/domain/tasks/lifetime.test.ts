import { expect } from 'chai';
import { instantFromMicros, instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';
import { endReasonOf, isEnding, isTimeUp, stateAt, tokenEnd, worksUntil } from '../../../domain/tasks/lifetime.ts';
import { CLOCK_SKEW_SECONDS } from '../../../domain/tokens/compact-jws.ts';
import { aTask, NOON } from '../../support/domain-fixtures.ts';

const expiresAt = instantFromSeconds(1000);
const task = aTask({ expiresAt });

describe('the end of a task', () => {
  it('is too near for a new token in the last five seconds', () => {
    expect(isEnding(task, instantFromSeconds(995))).to.equal(false);
    expect(isEnding(task, instantFromMicros(995_000_001))).to.equal(true);
  });

  it('is its time, from the microsecond on at which its time is up, whether it is recorded or not', () => {
    const before = instantFromMicros(999_999_999);
    const live = { kind: 'live' } as const;
    expect([isTimeUp(task, before), isTimeUp(task, expiresAt)]).to.deep.equal([false, true]);
    expect(stateAt(live, task, before)).to.equal(live);
    expect(stateAt(live, task, expiresAt)).to.deep.equal({ kind: 'expired', at: expiresAt });
    const revoked = { kind: 'revoked', at: before, reason: 'client_revoked' } as const;
    expect(stateAt(revoked, task, plusSeconds(expiresAt, 1))).to.equal(revoked);
  });

  it('has a reason, which a live task has not', () => {
    expect(endReasonOf({ kind: 'live' })).to.equal(undefined);
    expect(endReasonOf({ kind: 'expired', at: NOON })).to.equal('task_ttl_elapsed');
    expect(endReasonOf({ kind: 'revoked', at: NOON, reason: 'sponsor_paused' })).to.equal('sponsor_paused');
  });
});

describe('Tokens that tool servers without introspection still accept', () => {
  it('is a token until its own end, and never longer than its task', () => {
    expect(tokenEnd(instantFromSeconds(600), 300, task)).to.equal(instantFromSeconds(900));
    expect(tokenEnd(instantFromSeconds(900), 300, task)).to.equal(expiresAt);
  });

  it('ends a clock skew after the last token that could be issued now, which never ends after the last task', () => {
    const lastExpiry = plusSeconds(NOON, 600);
    const skew = CLOCK_SKEW_SECONDS;
    expect(worksUntil({ lastExpiry, longestTokenTtl: 300 }, NOON)).to.equal(plusSeconds(NOON, 300 + skew));
    expect(worksUntil({ lastExpiry, longestTokenTtl: 900 }, NOON)).to.equal(plusSeconds(lastExpiry, skew));
    expect(worksUntil({ lastExpiry, longestTokenTtl: undefined }, NOON)).to.equal(plusSeconds(lastExpiry, skew));
    expect(worksUntil({ lastExpiry: undefined, longestTokenTtl: undefined }, NOON)).to.equal(undefined);
  });
});
