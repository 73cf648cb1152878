import { expect } from 'chai';
import { voidAuthorizations } from '../../../application/decisions/ending.ts';
import { ask } from '../../../application/decisions/fact.ts';
import { addAgent, changeAgent, deleteAgent } from '../../../application/decisions/write-agent.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, anAgent, NOON } from '../../support/domain-fixtures.ts';

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
/** The answers if nothing is looked up. */
const free = { nameTaken: undefined, documentTaken: undefined, registered: undefined };
const locks = [`exclusive agent ${agentId}`];

const gone = voidAuthorizations({ kind: 'agent', agentId }, { at: NOON, reason: 'agent_disabled' });

describe('addAgent', () => {
  const refusal = refusalOf('agent.registered', 'agent_already_exists');
  const input = { agent, entry, refusal };

  it('locks the agent exclusively, and reads its revision', () => {
    expect(lockNames(addAgent.locks(input))).to.deep.equal(locks);
    expect(addAgent.asks(input)).to.deep.equal({ revision, ...free });
  });

  it('inserts an agent with a new id, and records it', () => {
    expect(addAgent.judge(input, { ...free, revision: undefined })).to.deep.equal({
      verdict: 'registered',
      effects: [{ effect: 'insert_agent', ...agent }, recorded(entry)],
    });
  });

  it('keeps the agent that already has the id, and records the refusal', () => {
    const judgement = { verdict: 'already_exists', effects: [recorded(refusal)] };
    expect(addAgent.judge(input, { ...free, revision: 1 })).to.deep.equal(judgement);
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
    expect(changeAgent.asks(input)).to.deep.equal({ revision, ...free });
  });

  it('replaces an agent whose stored revision is the previous one, and records it', () => {
    expect(changeAgent.judge(input, { ...free, revision: 3 })).to.deep.equal({
      verdict: 'replaced',
      effects: [{ effect: 'replace_agent', ...agent }, recorded(entry)],
    });
  });

  it('ends the authorizations of an agent that it disables', () => {
    const disabled = { ...agent, enabled: false };
    expect(changeAgent.judge({ agent: disabled, entry }, { ...free, revision: 3 })).to.deep.equal({
      verdict: 'replaced',
      effects: [{ effect: 'replace_agent', ...disabled }, ...gone, recorded(entry)],
    });
  });

  for (const [title, stored, verdict] of [
    ['an older revision', 2, 'changed'],
    ['the revision of the change', 4, 'changed'],
    ['a later revision', 5, 'changed'],
    ['no agent', undefined, 'not_found'],
  ] as const) {
    it(`writes nothing if ${title} is stored`, () => {
      expect(
        changeAgent.judge(input, { revision: stored, nameTaken: true, documentTaken: true, registered: [] }),
      ).to.deep.equal({
        verdict,
        effects: [],
      });
    });
  }
});

describe('a registration or change with a new name in may_act', () => {
  const input = { agent, entry, refusal: refusalOf('agent.registered', 'agent_already_exists') };
  const nameRefusal = refusalOf('agent.updated', 'may_act_name_taken');
  const naming = { ...input, nameRefusal };
  const added = (nameTaken: boolean) => addAgent.judge(naming, { ...free, revision: undefined, nameTaken });
  const changed = (nameTaken: boolean, stored = 3) =>
    changeAgent.judge(naming, { ...free, revision: stored, nameTaken });

  it('locks all names after the agent, and looks for the names of the agent', () => {
    const nameTaken = ask('agent_name_taken', { agentId, names: agent.mayActNames ?? [] });
    const ofNoName = { ...naming, agent: { ...agent, mayActNames: undefined } };
    for (const decided of [addAgent, changeAgent]) {
      expect(lockNames(decided.locks(naming))).to.deep.equal([...locks, 'exclusive agent_names ']);
      expect(decided.asks(naming)).to.deep.equal({ ...free, revision, nameTaken });
      const own = ask('agent_name_taken', { agentId, names: [] });
      expect(decided.asks(ofNoName)).to.deep.equal({ ...free, revision, nameTaken: own });
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

describe('a registration or change with a new document of a client', () => {
  const documentRefusal = refusalOf('agent.updated', 'client_id_document_taken');
  const naming = { agent, entry, refusal: refusalOf('agent.registered', 'agent_already_exists'), documentRefusal };
  const added = (documentTaken: boolean) => addAgent.judge(naming, { ...free, revision: undefined, documentTaken });
  const changed = (documentTaken: boolean, stored = 3) =>
    changeAgent.judge(naming, { ...free, revision: stored, documentTaken });

  it('locks all names after the agent, and looks for the document', () => {
    const uri = agent.clientIdDocument ?? '';
    for (const decided of [addAgent, changeAgent]) {
      expect(lockNames(decided.locks(naming))).to.deep.equal([...locks, 'exclusive agent_names ']);
      expect(decided.asks(naming)).to.deep.equal({
        ...free,
        revision,
        documentTaken: ask('agent_document_taken', { agentId, uri }),
      });
    }
  });

  it('is refused and recorded if another agent has the document, and writes nothing else', () => {
    const refused = { verdict: 'document_taken', effects: [recorded(documentRefusal)] };
    expect([added(true), changed(true)]).to.deep.equal([refused, refused]);
    const counted = { event: 'agent.updated', reason: 'client_id_document_taken' };
    expect(addAgent.denial?.(naming, 'document_taken')).to.deep.equal(counted);
    expect(changeAgent.denial?.(naming, 'document_taken')).to.deep.equal(counted);
  });

  it('is written if no other agent has the document, and decided again if another change came first', () => {
    expect([added(false).verdict, changed(false).verdict]).to.deep.equal(['registered', 'replaced']);
    expect(changed(true, 5)).to.deep.equal({ verdict: 'changed', effects: [] });
  });
});

describe('a registration or change with new agents that it hands work to', () => {
  const [reader, writer] = [agentIdOf('reader'), agentIdOf('writer')];
  const naming = {
    agent: { ...agent, delegatesTo: [agentId, reader, writer] },
    entry,
    refusal: refusalOf('agent.registered', 'agent_already_exists'),
    nameRefusal: refusalOf('agent.updated', 'may_act_name_taken'),
    newDelegates: true,
  };
  const added = (registered: readonly AgentId[]) =>
    addAgent.judge(naming, { ...free, revision: undefined, nameTaken: true, registered });
  const changed = (registered: readonly AgentId[], revision = 3) =>
    changeAgent.judge(naming, { ...free, revision, nameTaken: true, registered });

  it('shares the locks of the others, which a deletion takes exclusively, and looks for them', () => {
    for (const decided of [addAgent, changeAgent]) {
      const shared = [`shared agent ${reader}`, `shared agent ${writer}`];
      expect(lockNames(decided.locks(naming))).to.deep.equal([...locks, ...shared, 'exclusive agent_names ']);
      expect(decided.asks(naming).registered).to.deep.equal(ask('registered_agents', [reader, writer]));
    }
  });

  it('neither locks nor looks for any if it names only itself, or none', () => {
    for (const delegatesTo of [[agentId], undefined]) {
      const input = { ...naming, agent: { ...agent, delegatesTo }, nameRefusal: undefined };
      for (const decided of [addAgent, changeAgent]) {
        expect(lockNames(decided.locks(input))).to.deep.equal(locks);
        expect(decided.asks(input)).to.deep.equal({ revision, ...free });
      }
    }
  });

  it('is invalid if one of them is not registered: it names the item, and writes and records nothing', () => {
    const sentence = 'Item 3 must be the agent_id of a registered agent.';
    const verdict = { kind: 'invalid', errors: [{ field: 'delegates_to', sentence }] };
    expect([added([reader]), changed([reader])]).to.deep.equal([
      { verdict, effects: [] },
      { verdict, effects: [] },
    ]);
    expect(addAgent.denial?.(naming, { kind: 'invalid', errors: [] })).to.equal(undefined);
    expect(changeAgent.denial?.(naming, { kind: 'invalid', errors: [] })).to.equal(undefined);
  });

  it('is judged further if all are registered, and decided again if another change came first', () => {
    const all = [writer, reader];
    expect([added(all).verdict, changed(all).verdict]).to.deep.equal(['name_taken', 'name_taken']);
    expect(changed([], 5)).to.deep.equal({ verdict: 'changed', effects: [] });
  });
});

describe('deleteAgent', () => {
  const refusal = refusalOf('agent.deleted', 'agent_has_tasks');
  const namedRefusal = refusalOf('agent.deleted', 'agent_named_by_others');
  const input = { agentId, entry, refusal, namedRefusal };

  it('locks the agent exclusively, and reads its revision, its tasks and whether others name it', () => {
    expect(lockNames(deleteAgent.locks(input))).to.deep.equal(locks);
    expect(deleteAgent.asks(input)).to.deep.equal({
      revision,
      hasTasks: ask('agent_has_tasks', agentId),
      isNamed: ask('agent_named_by_others', agentId),
    });
  });

  for (const [title, facts, verdict, effects] of [
    [
      'removes an agent without tasks, with what people refused it, and records it',
      { revision: 4, hasTasks: false, isNamed: false },
      'removed',
      [
        { effect: 'remove_agent', agentId },
        { effect: 'forget_delegation_refusals', agentId },
        ...gone,
        recorded(entry),
      ],
    ],
    [
      'keeps an agent with tasks, and records the refusal',
      { revision: 4, hasTasks: true, isNamed: true },
      'has_tasks',
      [recorded(refusal)],
    ],
    [
      'keeps an agent that another names as one that it hands work to, and records the refusal',
      { revision: 4, hasTasks: false, isNamed: true },
      'named_by_others',
      [recorded(namedRefusal)],
    ],
    [
      'finds no agent to remove, and records nothing',
      { revision: undefined, hasTasks: false, isNamed: false },
      'not_found',
      [],
    ],
  ] as const) {
    it(title, () => {
      expect(deleteAgent.judge(input, facts)).to.deep.equal({ verdict, effects });
    });
  }

  it('counts only the refusals as denials', () => {
    const denials = (['has_tasks', 'named_by_others', 'removed', 'not_found'] as const).map((verdict) =>
      deleteAgent.denial?.(input, verdict),
    );
    expect(denials).to.deep.equal([
      { event: 'agent.deleted', reason: 'agent_has_tasks' },
      { event: 'agent.deleted', reason: 'agent_named_by_others' },
      undefined,
      undefined,
    ]);
  });
});
