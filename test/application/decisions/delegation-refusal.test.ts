import { expect } from 'chai';
import { allowDelegation, refuseDelegation } from '../../../application/decisions/delegation-refusal.ts';
import { ask } from '../../../application/decisions/fact.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { ADA, lockNames } from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 90_000_007);
const agentId = 'planner' as AgentId;
const about = { sponsorKey: ADA, agentId };
const refused: LedgerEntry = { at, event: 'delegation.refused', agentId, sponsor: 'ada', decision: 'allow' };
const allowed: LedgerEntry = { ...refused, event: 'delegation.allowed' };
const tooOld: LedgerEntry = {
  at,
  event: 'me.denied',
  sponsor: 'ada',
  decision: 'deny',
  reason: 'sign_in_too_old',
};
const nothing = (verdict: string) => ({ verdict, effects: [] });

describe('refuseDelegation and allowDelegation', () => {
  const refusal = { ...about, entry: refused };
  const permission = { ...about, entry: allowed };

  it('lock the person exclusively, so that no hand-over is judged meanwhile, and share the agent', () => {
    const expected = [`exclusive sponsor ${ADA}`, `shared agent ${agentId}`];
    expect(lockNames(refuseDelegation.locks(refusal))).to.deep.equal(expected);
    expect(lockNames(allowDelegation.locks(permission))).to.deep.equal(expected);
  });

  it('read whether the person has refused, and whether the agent is registered', () => {
    const expected = { isRefused: ask('delegation_refused', about), revision: ask('agent_revision', agentId) };
    expect(refuseDelegation.asks(refusal)).to.deep.equal(expected);
    expect(allowDelegation.asks(permission)).to.deep.equal(expected);
  });

  it('store the first refusal and record it; a repetition writes nothing', () => {
    expect(refuseDelegation.judge(refusal, { isRefused: false, revision: 3 })).to.deep.equal({
      verdict: 'done',
      effects: [
        { effect: 'put_delegation_refusal', ...about, refusedAt: at },
        { effect: 'append', entries: [refused] },
      ],
    });
    expect(refuseDelegation.judge(refusal, { isRefused: true, revision: 3 })).to.deep.equal(nothing('done'));
  });

  it('remove the refusal and record it; a repetition writes nothing, however old the sign-in', () => {
    expect(allowDelegation.judge(permission, { isRefused: true, revision: 3 })).to.deep.equal({
      verdict: 'done',
      effects: [
        { effect: 'remove_delegation_refusal', ...about },
        { effect: 'append', entries: [allowed] },
      ],
    });
    for (const again of [permission, { ...permission, tooOld }]) {
      expect(allowDelegation.judge(again, { isRefused: false, revision: 3 })).to.deep.equal(nothing('done'));
    }
  });

  it('keep the refusal after a sign-in that is too old, record that, and count it as a denial', () => {
    const late = { ...permission, tooOld };
    expect(allowDelegation.judge(late, { isRefused: true, revision: 3 })).to.deep.equal({
      verdict: 'sign_in_too_old',
      effects: [{ effect: 'append', entries: [tooOld] }],
    });
    const denials = (['sign_in_too_old', 'done', 'unknown_agent'] as const).map((verdict) =>
      allowDelegation.denial?.(late, verdict),
    );
    expect(denials).to.deep.equal([{ event: 'me.denied', reason: 'sign_in_too_old' }, undefined, undefined]);
  });

  it('write nothing about an agent that is not registered', () => {
    const unknown = { isRefused: false, revision: undefined };
    expect(refuseDelegation.judge(refusal, unknown)).to.deep.equal(nothing('unknown_agent'));
    expect(allowDelegation.judge({ ...permission, tooOld }, unknown)).to.deep.equal(nothing('unknown_agent'));
  });
});
