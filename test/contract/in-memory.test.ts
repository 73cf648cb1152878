/** SQLite in memory runs the same code as on a file, so one test of all storage ports is enough. */

import { expect } from 'chai';
import { sqliteInMemory } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { faultsOf, sealed } from './minimal-sealer.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anOpening, aRefusal, aRenewal, ledgerOf, registeredAgent } from './storage-fixtures.ts';

onEveryDatabase(
  'every storage port',
  ({ storage }) => {
    it('opens, renews and ends a task, blocks its person, and seals the records', async () => {
      const { agents, tasks, sponsors, ledger, checkpoints } = storage();
      const agent = await registeredAgent(storage());
      expect(await agents.find(agent.agentId)).to.deep.equal(agent);
      const opening = anOpening(agent);
      const { sponsorKey } = opening.task;
      expect(await tasks.open(opening)).to.deep.equal({ kind: 'opened' });
      expect(await tasks.renew(aRenewal(opening, { recordEach: true }))).to.have.property('kind', 'renewed');
      const kill = { at: NOON, reason: 'operator_kill_switch' } as const;
      expect(await tasks.end({ kind: 'sponsor', sponsorKey }, kill)).to.deep.equal({ kind: 'ended', tasks: 1 });
      await sponsors.block({ sponsorKey, source: 'scim', kind: 'disabled', blockedAt: NOON }, 'scim_deactivated');
      expect(await tasks.open(anOpening(agent, { sponsorKey }))).to.have.property('kind', 'sponsor_blocked');
      await ledger.append(aRefusal('sponsor_disabled'));

      const recorded = (await ledgerOf(storage())).map(({ event }) => event);
      expect(recorded).to.include.members(['token.issued', 'token.refreshed', 'task.revoked', 'token.denied']);
      expect((await sealed(checkpoints)).treeSize).to.equal(recorded.length);
      expect(await faultsOf(checkpoints)).to.deep.equal([]);
    });
  },
  [sqliteInMemory],
);
