import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { addAgent, changeAgent, deleteAgent } from '../../../application/decisions/write-agent.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const agent = anAgent({ revision: 4 });
const { agentId } = agent;
const entry: LedgerEntry = { at: NOON, event: 'agent.updated', agentId, decision: 'allow', reason: 'changed:enabled' };
const refusalOf = (event: LedgerEntry['event'], reason: string): LedgerEntry => ({
  ...entry,
  event,
  decision: 'deny',
  reason,
});
const recorded = (one: LedgerEntry) => ({ effect: 'append', entries: [one] });
const revision = ask('agent_revision', agentId);
const locks = [`exclusive agent ${agentId}`];

describe('addAgent', () => {
  const refusal = refusalOf('agent.registered', 'agent_already_exists');
  const input = { agent, entry, refusal };

  it('locks the agent exclusively, and reads its revision', () => {
    expect(lockNames(addAgent.locks(input))).to.deep.equal(locks);
    expect(addAgent.asks(input)).to.deep.equal({ revision, nameTaken: undefined });
  });

  it('inserts an agent with a new id, and records it', () => {
    expect(addAgent.judge(input, { revision: undefined, nameTaken: undefined })).to.deep.equal({
      verdict: 'registered',
      effects: [{ effect: 'insert_agent', ...agent }, recorded(entry)],
    });
  });

  it('keeps the agent that already has the id, and records the refusal', () => {
    const judgement = { verdict: 'already_exists', effects: [recorded(refusal)] };
    expect(addAgent.judge(input, { revision: 1, nameTaken: undefined })).to.deep.equal(judgement);
  });

  it('counts only the refusal as a denial', () => {
    const denial = { event: 'agent.registered', reason: 'agent_already_exists' };
    expect(addAgent.denial?.(input, 'already_exists')).to.deep.equal(denial);
    expect(addAgent.denial?.(input, 'registered')).to.equal(undefined);
  });
});

describe('changeAgent', () => {
  const input = { agent, entry };

  it('locks the agent exclusively, so that no later exchange uses the old revision, and reads its revision', () => {
    expect(lockNames(changeAgent.locks(input))).to.deep.equal(locks);
    expect(changeAgent.asks(input)).to.deep.equal({ revision, nameTaken: undefined });
  });

  it('replaces an agent whose stored revision is the previous one, and records it', () => {
    expect(changeAgent.judge(input, { revision: 3, nameTaken: undefined })).to.deep.equal({
      verdict: 'replaced',
      effects: [{ effect: 'replace_agent', ...agent }, recorded(entry)],
    });
  });

  for (const [title, stored, verdict] of [
    ['an older revision', 2, 'changed'],
    ['the revision of the change', 4, 'changed'],
    ['a later revision', 5, 'changed'],
    ['no agent', undefined, 'not_found'],
  ] as const) {
    it(`writes nothing if ${title} is stored`, () => {
      expect(changeAgent.judge(input, { revision: stored, nameTaken: true })).to.deep.equal({ verdict, effects: [] });
    });
  }
});

describe('a registration or change with a new name in may_act', () => {
  const input = { agent, entry, refusal: refusalOf('agent.registered', 'agent_already_exists') };
  const nameRefusal = refusalOf('agent.updated', 'may_act_name_taken');
  const naming = { ...input, nameRefusal };
  const added = (nameTaken: boolean) => addAgent.judge(naming, { revision: undefined, nameTaken });
  const changed = (nameTaken: boolean, stored = 3) => changeAgent.judge(naming, { revision: stored, nameTaken });

  it('locks all names after the agent, and looks for the names of the agent', () => {
    const nameTaken = ask('agent_name_taken', { agentId, names: agent.mayActNames ?? [] });
    const ofNoName = { ...naming, agent: { ...agent, mayActNames: undefined } };
    for (const decided of [addAgent, changeAgent]) {
      expect(lockNames(decided.locks(naming))).to.deep.equal([...locks, 'exclusive agent_names ']);
      expect(decided.asks(naming)).to.deep.equal({ revision, nameTaken });
      const own = ask('agent_name_taken', { agentId, names: [] });
      expect(decided.asks(ofNoName)).to.deep.equal({ revision, nameTaken: own });
    }
  });

  it('is refused and recorded if another agent has the name, and writes nothing else', () => {
    const refused = { verdict: 'name_taken', effects: [recorded(nameRefusal)] };
    expect([added(true), changed(true)]).to.deep.equal([refused, refused]);
    const counted = { event: 'agent.updated', reason: 'may_act_name_taken' };
    expect(addAgent.denial?.(naming, 'name_taken')).to.deep.equal(counted);
    expect(changeAgent.denial?.(naming, 'name_taken')).to.deep.equal(counted);
    expect(changeAgent.denial?.(naming, 'replaced')).to.equal(undefined);
  });

  it('is written if no other agent has the name', () => {
    expect([added(false).verdict, changed(false).verdict]).to.deep.equal(['registered', 'replaced']);
    expect([added(false).effects.length, changed(false).effects.length]).to.deep.equal([2, 2]);
  });

  it('is decided again if another change came first, with or without the name', () => {
    expect(changed(true, 5)).to.deep.equal({ verdict: 'changed', effects: [] });
  });
});

describe('deleteAgent', () => {
  const refusal = refusalOf('agent.deleted', 'agent_has_tasks');
  const input = { agentId, entry, refusal };

  it('locks the agent exclusively, and reads its revision and its tasks', () => {
    expect(lockNames(deleteAgent.locks(input))).to.deep.equal(locks);
    expect(deleteAgent.asks(input)).to.deep.equal({ revision, hasTasks: ask('agent_has_tasks', agentId) });
  });

  for (const [title, facts, verdict, effects] of [
    [
      'removes an agent without tasks, and records it',
      { revision: 4, hasTasks: false },
      'removed',
      [{ effect: 'remove_agent', agentId }, recorded(entry)],
    ],
    [
      'keeps an agent with tasks, and records the refusal',
      { revision: 4, hasTasks: true },
      'has_tasks',
      [recorded(refusal)],
    ],
    ['finds no agent to remove, and records nothing', { revision: undefined, hasTasks: false }, 'not_found', []],
  ] as const) {
    it(title, () => {
      expect(deleteAgent.judge(input, facts)).to.deep.equal({ verdict, effects });
    });
  }

  it('counts only the refusal as a denial', () => {
    const denials = (['has_tasks', 'removed', 'not_found'] as const).map((verdict) =>
      deleteAgent.denial?.(input, verdict),
    );
    expect(denials).to.deep.equal([{ event: 'agent.deleted', reason: 'agent_has_tasks' }, undefined, undefined]);
  });
});
