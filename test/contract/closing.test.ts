/** When a database is closed, each decision either completes or is refused, and none runs afterwards. */

import { expect } from 'chai';
import { POOL_SIZE, RESERVED_CONNECTIONS, REVOKING_SHARES } from '../../adapters/storage/postgres/limits.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { anAgent, NOON } from '../support/domain-fixtures.ts';
import { lockAppends } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, aRefusal, ledgerOf, newAgentId, newSponsorKey } from './storage-fixtures.ts';

/** One connection is reserved, so this is more than the permits. */
const ASKED = POOL_SIZE;
const PERMITS = POOL_SIZE - RESERVED_CONNECTIONS;
const CLOSED = /^StorageUnavailable: The \w+ database is closed$/;

onEveryDatabase('closing the storage', ({ database, storage, outside, kind }) => {
  it('waits for running decisions, and refuses queued and later ones', async () => {
    const closing = await database().open();
    const lock = await lockAppends(kind, await outside());
    const agents = Array.from({ length: ASKED }, () => anAgent({ agentId: newAgentId(), revision: 1 }));
    const register = (agent: (typeof agents)[number]) =>
      closing.agents.register(
        agent,
        anEntry('agent.registered', { agentId: agent.agentId }),
        aRefusal('agent_already_exists'),
      );
    const blocks = Array.from({ length: REVOKING_SHARES.operators + 1 }, newSponsorKey);
    const block = (sponsorKey: (typeof blocks)[number]) =>
      closing.sponsors.block({ sponsorKey, source: 'admin', kind: 'disabled', blockedAt: NOON }, 'sponsor_blocked');
    let settled = 0;
    const outcomeOf = (asked: Promise<unknown>) =>
      asked
        .then(() => 'done', String)
        .finally(() => {
          settled += 1;
        });
    const asked = [...agents.map(register), ...blocks.map(block)].map(outcomeOf);
    await lock.untilWaiting(PERMITS + REVOKING_SHARES.operators);

    let settledWhenClosed: number | undefined;
    const closed = closing.close().then(() => {
      settledWhenClosed = settled;
    });
    const late = await outcomeOf(closing.ledger.append(anEntry('admin.denied', { reason: 'late' })));
    expect(late).to.match(CLOSED);
    expect(settledWhenClosed).to.equal(undefined);
    await lock.release();
    const outcomes = await Promise.all(asked);
    await closed;
    expect(settledWhenClosed).to.equal(asked.length + 1);

    const refused = outcomes.filter((outcome) => outcome !== 'done');
    for (const outcome of refused) expect(outcome).to.match(CLOSED);
    // SQLite has no permits, so it queues no decision.
    expect(refused).to.have.length(kind.engine === 'postgres' ? ASKED - PERMITS + 1 : 0);
    const done = [...agents, ...blocks].filter((_, nth) => outcomes[nth] === 'done');
    const recorded = (await ledgerOf(storage())).map(({ agentId, sponsor }) => agentId ?? sponsor);
    expect(recorded).to.have.members(done.map((each) => (typeof each === 'string' ? each : each.agentId)));

    for (const call of [() => register(anAgent()), () => closing.agents.list({ limit: 1 }), () => closing.backlog()]) {
      const thrown = await call().catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(StorageUnavailable);
      expect(String(thrown)).to.match(CLOSED);
    }
  });
});
