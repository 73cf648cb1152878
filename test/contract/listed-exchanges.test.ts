/** The exchanges of an audience whose tasks have indices of status lists (application/token/open-listed-task.ts). */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { systemRandomness } from '../../adapters/platform/system-crypto.ts';
import { openTask, type TaskOpening } from '../../application/decisions/open-task.ts';
import { listOpener, openListedTask } from '../../application/token/open-listed-task.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { StatusReference } from '../../domain/tasks/status-list.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { anOpening, registeredAgent } from './storage-fixtures.ts';

const newAudience = () => `https://tool-${randomUUID()}.example`;
const clock = { now: () => plusSeconds(NOON, 1) };

onEveryDatabase('the indices of exchanges', ({ storage, database }) => {
  let agent: Agent;
  before(async () => {
    agent = await registeredAgent(storage());
  });

  const randomness = systemRandomness();

  const exchangesOf = (decisions: Storage, audience: string, entries: number) => {
    const openList = listOpener({ decisions, randomness, clock, entries });
    const service = { decisions, randomness, openList, knownLists: new Map(), monotonic: () => performance.now() };
    return () => openListedTask(service, anOpening(agent, { audience }));
  };

  async function heldIndices(audience: string): Promise<readonly StatusReference[]> {
    const connection = await database().outside?.();
    const rows = await connection?.sql(
      `select status_list, status_index from tasks where audience = '${audience}' and status_list is not null`,
    );
    await connection?.close();
    return (rows ?? []).map((row) => ({ listId: String(row.status_list), index: Number(row.status_index) }));
  }

  it('are drawn for a minute from a large list without a search, and after two that are taken with 16 searches', async () => {
    const audience = newAudience();
    const searched: boolean[] = [];
    let drawnIndex = 0;
    let now = 0;
    const decisions: Pick<Storage, 'decide'> = {
      decide(decision, input) {
        if ((decision as unknown) === openTask) searched.push((input as TaskOpening).statusDraws !== undefined);
        return storage().decide(decision, input);
      },
    };
    const service = {
      decisions,
      knownLists: new Map(),
      monotonic: () => now,
      openList: listOpener({ decisions, randomness, clock, entries: 2 ** 14 }),
      // The list is empty at first, so the first of each draws is taken only if it was drawn before.
      randomness: { draws: (count: number) => Array.from({ length: count }, (_, nth) => drawnIndex + nth) },
    };
    const exchange = async (index: number) => {
      drawnIndex = index;
      searched.length = 0;
      const { kind } = await openListedTask(service, anOpening(agent, { audience }));
      expect(kind).to.equal('opened');
      return [...searched];
    };
    expect(await exchange(0)).to.deep.equal([true, true]);
    expect(await exchange(1)).to.deep.equal([false]);
    expect(await exchange(0)).to.deep.equal([false, true]);
    for (let nth = 0; nth < 16; nth += 1) expect(await exchange(100 + nth)).to.deep.equal([true]);
    expect(await exchange(200)).to.deep.equal([false]);
    now = 60_000;
    expect(await exchange(300)).to.deep.equal([true]);
    expect(await exchange(400)).to.deep.equal([false]);
    expect((await heldIndices(audience)).map(({ index }) => index)).to.include.members([0, 1, 2, 200, 300, 400]);
  });

  it('are never shared by two tasks, and none is left over, however many replicas take the last ones at once', async function () {
    this.timeout(120_000);
    const other = await database().open();
    const audience = newAudience();
    const [entries, tasks] = [16, 128];
    const [first, second] = [exchangesOf(storage(), audience, entries), exchangesOf(other, audience, entries)];
    for (let round = 0; round < repetitions(2); round++) {
      const verdicts = await Promise.all(
        Array.from({ length: tasks }, (_, nth) => (nth % 2 === 0 ? first() : second())),
      );
      expect(new Set(verdicts.map(({ kind }) => kind))).to.deep.equal(new Set(['opened']));
    }
    await other.close();
    const held = await heldIndices(audience);
    expect(new Set(held.map(({ listId, index }) => `${listId} ${index}`)).size).to.equal(tasks * repetitions(2));
    // No list was opened while another one had room.
    expect(new Set(held.map(({ listId }) => listId)).size).to.equal((tasks * repetitions(2)) / entries);
  });

  it('are spread evenly over the list', async function () {
    this.timeout(120_000);
    const audience = newAudience();
    const [entries, tasks, buckets] = [1024, 512, 16];
    await Promise.all(Array.from({ length: tasks }, exchangesOf(storage(), audience, entries)));
    const counts = Array.from({ length: buckets }, () => 0);
    for (const { index } of await heldIndices(audience)) {
      const bucket = Math.floor((index * buckets) / entries);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    const expected = tasks / buckets;
    const chiSquared = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // With 15 degrees of freedom, chance exceeds this once in ten million runs.
    expect(chiSquared).to.be.lessThan(62);
  });
});
