/** An agent is named in `delegates_to` of others while it is deleted: it stays registered, or no agent names it. */

import { expect } from 'chai';
import { addAgent, changeAgent, deleteAgent } from '../../application/decisions/write-agent.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { anAgent } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { anEntry, aRefusal, ledgerOf, newAgentId, registeredAgent } from './storage-fixtures.ts';

const ROUNDS = repetitions(12, 200);

function naming(agent: Agent) {
  const refusal = aRefusal('agent_already_exists');
  return { agent, entry: anEntry('agent.updated', { agentId: agent.agentId }), refusal, newDelegates: true };
}

const deleted = ({ agentId }: Agent) => ({
  agentId,
  entry: anEntry('agent.deleted', { agentId }),
  refusal: aRefusal('agent_has_tasks', { agentId }),
  namedRefusal: aRefusal('agent_named_by_others', { agentId }),
});

/**
 * Deletes an agent, and names it in a change and in a registration, all at once. The three begin in this order. If the
 * deletion is the first, the others read the database once before.
 */
async function race(storages: readonly [Storage, Storage], order: readonly number[]) {
  const [here, there] = storages;
  const named = await registeredAgent(here, { delegatesTo: undefined });
  const changed = await registeredAgent(here, { delegatesTo: undefined });
  const delegatesTo = [named.agentId];
  const added = anAgent({ agentId: newAgentId(), revision: 1, delegatesTo });
  const acts = [
    () => here.decide(deleteAgent, deleted(named)),
    () => there.decide(changeAgent, naming({ ...changed, delegatesTo, revision: 2 })),
    () => here.decide(addAgent, naming(added)),
  ];
  const verdicts: unknown[] = [];
  const judged = async (nth: number) => {
    if (order[0] === 0 && nth !== 0) await there.agents.find(named.agentId);
    verdicts[nth] = await acts[nth]?.();
  };
  await Promise.all(order.map(judged));
  const found = await Promise.all([named, changed, added].map(({ agentId }) => here.agents.find(agentId)));
  return { named, changed, added, verdicts, found };
}

onEveryDatabase('naming an agent while it is deleted', ({ database, storage }) => {
  it(`leaves it registered, or named by no agent, and records what was refused: ${ROUNDS} rounds`, async () => {
    const other = await database().open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const order = [0, 1, 2].map((nth) => (nth + round) % 3);
      const { named, changed, added, verdicts, found } = await race([storage(), other], order);
      const [ofDeletion, ...ofNaming] = verdicts.map((verdict) => (typeof verdict === 'string' ? verdict : 'invalid'));
      const [stored, ...naming] = found;
      const records = (await ledgerOf(storage())).filter((record) =>
        [named, changed, added].some(({ agentId }) => agentId === record.agentId),
      );
      const last = records.filter(({ agentId }) => agentId === named.agentId).at(-1);
      if (stored === undefined) {
        expect([ofDeletion, ...ofNaming]).to.deep.equal(['removed', 'invalid', 'invalid']);
        expect(naming.map((agent) => agent?.delegatesTo)).to.deep.equal([undefined, undefined]);
        expect(last).to.include({ event: 'agent.deleted', decision: 'allow' });
      } else {
        // The deletion was refused because of one of the two; the other came before it, or after it.
        expect([ofDeletion, ...ofNaming]).to.deep.equal(['named_by_others', 'replaced', 'registered']);
        expect(naming.map((agent) => agent?.delegatesTo)).to.deep.equal([[named.agentId], [named.agentId]]);
        expect(last).to.include({ decision: 'deny', reason: 'agent_named_by_others' });
      }
    }
    await other.close();
  });
});
