import { expect } from 'chai';
import {
  type TimedApproval,
  type TimedTask,
  type TokenTtl,
  timelineOf,
} from '../../../../adapters/http/console/timeline.ts';
import type { ApprovalId } from '../../../../domain/identifiers.ts';
import { instantFromSeconds, plusSeconds } from '../../../../domain/instant.ts';
import type { LedgerRecord } from '../../../../domain/ledger/record.ts';

const START = instantFromSeconds(1_800_000_000);
const at = (seconds: number) => plusSeconds(START, seconds);
const TTL: TokenTtl = { registered: 300, since: at(-1000), longest: 3600 };

const live: TimedTask = {
  createdAt: at(0),
  expiresAt: at(1800),
  state: { kind: 'live' },
  renewals: 0,
  renewedAt: undefined,
};

let seq = 0;
function record(event: string, seconds: number, more: Partial<LedgerRecord> = {}): LedgerRecord {
  seq += 1;
  return { seq, checkpoint: undefined, at: at(seconds), event, decision: 'allow', ...more };
}

const detail = (id: string) => `approval=${id}&digest=${'d'.repeat(43)}&commitment=${'c'.repeat(64)}`;

describe('the timeline of a task', () => {
  it('has a bar for the token of the exchange, and one for the last renewal that was only counted', () => {
    const line = timelineOf({ ...live, renewals: 3, renewedAt: at(600.5) }, TTL, undefined, at(610));
    expect(line.tokens.map(({ kind, from, until }) => [kind, from, until])).to.deep.equal([
      ['first', at(0), at(300)],
      ['renewed', at(600.5), at(900)],
    ]);
    expect(line.unshown).to.equal(2);
    expect(line.events).to.deep.equal([
      { kind: 'issued', at: at(0) },
      { kind: 'renewals', at: at(600.5), count: 3 },
      { kind: 'expires', at: at(1800) },
    ]);
    expect([line.from, line.until]).to.deep.equal([at(0), at(1800)]);
  });

  it('cuts a token to the end of its task, as its claims are', () => {
    const line = timelineOf({ ...live, renewals: 1, renewedAt: at(1700) }, TTL, undefined, at(1701));
    expect(line.tokens[1]?.until).to.equal(at(1800));
  });

  it('shows to whom a part was offered, and which task a delegated one is below', () => {
    seq = 0;
    const offer = 'offer_01M31S7W68TMK7WDX8YKPSYTEB';
    const parent = 'task_01M31S7W68TMK7WDX8YKPSYTEA';
    const records = [
      record('token.issued', 0, { jti: 'tok_1' }),
      record('delegation.taken', 0, { detail: `offer=${offer}&parent=${parent}` }),
      record('delegation.offered', 5, { scope: 'jira:read', detail: `offer=${offer}&child=jira-reader` }),
    ];
    const { events } = timelineOf(live, TTL, records, at(10));
    expect(events.slice(1, 3)).to.deep.equal([
      { at: at(0), seq: 2, kind: 'taken', other: parent },
      { at: at(5), seq: 3, scope: 'jira:read', kind: 'offered', other: 'jira-reader' },
    ]);
  });

  it('shows that the answer of the person was redeemed', () => {
    seq = 0;
    const records = [record('token.issued', 0, { jti: 'tok_1' }), record('task.authorized', 0)];
    const { events } = timelineOf(live, TTL, records, at(10));
    expect(events.map(({ kind, seq: number }) => [number, kind])).to.deep.equal([
      [1, 'issued'],
      [2, 'authorized'],
      [undefined, 'expires'],
    ]);
  });

  it('says until when the last token works after a kill', () => {
    const killed = { kind: 'revoked', at: at(120), reason: 'operator_kill_switch' } as const;
    const line = timelineOf({ ...live, state: killed }, TTL, undefined, at(5000));
    expect(line.task).to.deep.equal({ from: at(0), until: at(120) });
    expect(line.worksUntil).to.deep.equal({ at: at(300 + 60), isExact: true });
    expect(line.until).to.equal(at(300));
    expect(line.events.at(-1)).to.deep.equal({ kind: 'ended', at: at(120), reason: 'operator_kill_switch' });
  });

  it('says no end of the last token if it had ended before the kill or was revoked', () => {
    const killed = { kind: 'revoked', at: at(400), reason: 'operator_kill_switch' } as const;
    expect(timelineOf({ ...live, state: killed }, TTL, undefined, at(5000)).worksUntil).to.equal(undefined);
    // At a tool server the token that ended at 300 was accepted until 360.
    const within = timelineOf({ ...live, state: { ...killed, at: at(359) } }, TTL, undefined, at(5000));
    expect(within.worksUntil).to.deep.equal({ at: at(360), isExact: true });
    const records = [
      record('token.issued', 0, { jti: 'tok_1' }),
      record('token.revoked', 50, { jti: 'tok_1', reason: 'client_revoked' }),
    ];
    const line = timelineOf({ ...live, state: { ...killed, at: at(100) } }, TTL, records, at(5000));
    expect(line.tokens[0]?.revokedAt).to.equal(at(50));
    expect(line.worksUntil).to.equal(undefined);
  });

  it('is not exact about tokens from before the last change of the registration, or without one', () => {
    const changed = timelineOf(live, { ...TTL, since: at(10) }, undefined, at(20));
    expect(changed.worksUntil).to.deep.equal({ at: at(300 + 60), isExact: false });
    const removed = timelineOf(live, { registered: undefined, since: undefined, longest: 3600 }, undefined, at(20));
    expect(removed.worksUntil).to.deep.equal({ at: at(1800 + 60), isExact: false });
  });

  it('shows each recorded renewal, narrowing, refusal and end, in order, with the number of its record', () => {
    seq = 0;
    const records = [
      record('token.issued', 0, { jti: 'tok_1', scope: 'mail:read mail:send' }),
      record('token.refreshed', 200, { jti: 'tok_2', scope: 'mail:read mail:send' }),
      record('token.refreshed', 400, { jti: 'tok_3', scope: 'mail:read' }),
      record('token.denied', 410, { decision: 'deny', reason: 'scope_widened', scope: 'mail:send' }),
      record('token.refreshed', 900, { count: 4 }),
      record('task.revoked', 901, { reason: 'sponsor_blocked' }),
    ];
    const state = { kind: 'revoked', at: at(901), reason: 'sponsor_blocked' } as const;
    const line = timelineOf({ ...live, state, renewals: 6, renewedAt: at(880) }, TTL, records, at(905));
    expect(line.events.map(({ kind, seq: number }) => [number, kind])).to.deep.equal([
      [1, 'issued'],
      [2, 'renewed'],
      [3, 'narrowed'],
      [4, 'denied'],
      [5, 'renewals'],
      [6, 'ended'],
    ]);
    expect(line.tokens.map(({ jti, from }) => [jti, from])).to.deep.equal([
      ['tok_1', at(0)],
      ['tok_2', at(200)],
      ['tok_3', at(400)],
      [undefined, at(880)],
    ]);
    expect(line.unshown).to.equal(3);
    expect(line.worksUntil?.at).to.equal(at(1180 + 60));
  });

  it('counts no renewal twice: the last one that was recorded gets one bar', () => {
    const records = [record('token.issued', 0), record('token.refreshed', 200, { jti: 'tok_2' })];
    const line = timelineOf({ ...live, renewals: 1, renewedAt: at(200) }, TTL, records, at(201));
    expect(line.tokens).to.have.lengthOf(2);
    expect(line.unshown).to.equal(0);
  });

  it('has the steps of each approval, from its records, or without these from the stored approvals', () => {
    const [one, other] = ['A', 'B'].map((letter) => `approval_${letter.repeat(26)}` as ApprovalId) as [
      ApprovalId,
      ApprovalId,
    ];
    const steps = [
      { at: at(10), approval: { approvalId: one, state: 'pending' } },
      { at: at(20), approval: { approvalId: one, state: 'granted' } },
      { at: at(30), approval: { approvalId: other, state: 'pending' } },
      { at: at(40), approval: { approvalId: one, state: 'used' } },
      { at: at(50), approval: { approvalId: other, state: 'refused' } },
    ];
    const records = [
      record('token.issued', 0),
      record('approval.requested', 10, { detail: detail(one) }),
      record('approval.granted', 20, { detail: detail(one) }),
      record('approval.requested', 30, { detail: detail(other) }),
      record('approval.used', 40, { detail: detail(one) }),
      record('approval.refused', 50, { detail: detail(other), decision: 'deny', reason: 'approval_refused' }),
    ];
    const same = { wordsChanged: false };
    const approvals: readonly TimedApproval[] = [
      { ...same, approvalId: other, state: 'refused', requestedAt: at(30), decidedAt: at(50), closedAt: at(50) },
      { ...same, approvalId: one, state: 'used', requestedAt: at(10), decidedAt: at(20), closedAt: at(40) },
    ];
    const shown = (given: readonly LedgerRecord[] | undefined, rows: readonly TimedApproval[]) =>
      timelineOf(live, TTL, given, at(60), rows).events.flatMap(({ kind, at, approval }) =>
        kind === 'approval' ? [{ at, approval }] : [],
      );
    expect(shown(records, approvals)).to.deep.equal(steps);
    expect(shown(undefined, approvals)).to.deep.equal(steps);
    const expired = {
      approvalId: one,
      state: 'expired',
      requestedAt: at(10),
      decidedAt: undefined,
      closedAt: at(70),
      wordsChanged: false,
    } as const;
    expect(shown(undefined, [expired]).map(({ approval }) => approval?.state)).to.deep.equal(['pending', 'expired']);
  });

  it('says why a question was withdrawn only if its words changed: otherwise the end of the task says it', () => {
    const reasons = (given: readonly LedgerRecord[] | undefined, rows: readonly TimedApproval[]) =>
      timelineOf(live, TTL, given, at(60), rows).events.flatMap(({ kind, approval, reason }) =>
        kind === 'approval' && approval?.state === 'withdrawn' ? [reason] : [],
      );
    const approvalId = `approval_${'A'.repeat(26)}` as ApprovalId;
    for (const [reason, wordsChanged] of [
      ['words_changed', true],
      ['sponsor_stopped', false],
    ] as const) {
      const withdrawn = record('approval.withdrawn', 20, { detail: detail(approvalId), reason });
      const times = { requestedAt: at(10), decidedAt: undefined, closedAt: at(20) };
      const said = [wordsChanged ? reason : undefined];
      expect(reasons([record('token.issued', 0), withdrawn], [])).to.deep.equal(said);
      expect(reasons(undefined, [{ approvalId, state: 'withdrawn', ...times, wordsChanged }])).to.deep.equal(said);
    }
  });
});
