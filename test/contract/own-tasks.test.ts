/** The tasks of a person in pages (`Tasks.ofSponsor`), on both databases. */

import { expect } from 'chai';
import { monotonicFactory } from 'ulid';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { expireDueTasks } from '../../application/decisions/sweep.ts';
import { myAgents, myAgentTasks } from '../../application/me/my-agents.ts';
import { myTasks } from '../../application/me/my-tasks.ts';
import type { OwnTaskPosition } from '../../application/ports/tasks.ts';
import { makeTaskId, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { capturedLog } from '../support/captured-log.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { agreeing } from '../support/moved-clock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  aChildOpening,
  anEntry,
  anOpening,
  aPurpose,
  aRenewal,
  newSponsorKey,
  openedTask,
  registeredAgent,
} from './storage-fixtures.ts';

/** Monotonic: a later task has a higher id. */
const ulid = monotonicFactory();
const HOUR = 3600;
const at = (seconds: number) => plusSeconds(NOON, seconds);
const ADA = { subject: 'ada', sessionId: undefined, authenticatedAt: undefined, by: 'token' } as const;
const idsOf = (listed: readonly { readonly taskId: string }[]) => listed.map(({ taskId }) => taskId);

onEveryDatabase('the tasks of a person', ({ storage }) => {
  async function opened(sponsorKey: SponsorKey, changes: Partial<Task> = {}): Promise<TaskOpening> {
    const agent = await registeredAgent(storage());
    const times = { createdAt: at(1), expiresAt: at(HOUR) };
    return openedTask(storage(), { taskId: makeTaskId(ulid()), sponsorKey, ...times, ...changes }, agent);
  }
  const readingAt = (now: Instant) => ({
    tasks: storage().tasks,
    sharedTime: agreeing({ now: () => now }),
    log: capturedLog(),
    archivedPart: async () => undefined,
  });
  const end = ({ task: { taskId, sponsorKey } }: TaskOpening, endedAt: Instant) =>
    storage().tasks.end({ kind: 'task', taskId, sponsorKey }, { at: endedAt, reason: 'sponsor_stopped' });
  const list = (sponsorKey: SponsorKey, now: Instant, limit = 1000) =>
    storage().tasks.ofSponsor(sponsorKey, { after: undefined, limit, now });

  it('are listed live first, newest first, then ended, the latest end first, and only their own', async () => {
    const [sponsorKey, other] = [newSponsorKey(), newSponsorKey()];
    const [one, two, three, four] = [
      await opened(sponsorKey),
      await opened(sponsorKey),
      await opened(sponsorKey),
      await opened(sponsorKey),
    ];
    await opened(other);
    await end(one, at(20));
    await end(three, at(10));
    expect(idsOf(await list(sponsorKey, at(30)))).to.deep.equal([four, two, one, three].map(({ task }) => task.taskId));
    expect(await list(newSponsorKey(), at(30))).to.deep.equal([]);
  });

  it('have every field, of a live and of an ended task', async () => {
    const sponsorKey = newSponsorKey();
    const wiki = { scope: ['wiki:read', 'wiki:write'], audience: 'https://wiki.example' };
    const opening = anOpening(await registeredAgent(storage()), {
      sponsorKey,
      createdAt: at(1),
      expiresAt: at(HOUR),
      ...wiki,
    });
    const purpose = aPurpose(opening.task);
    await storage().tasks.open({ ...opening, purpose });
    const { taskId, agentId, createdAt, expiresAt } = opening.task;
    const displayName = (await storage().agents.find(agentId))?.displayName;
    const fields = { taskId, agentId, displayName, startedAt: createdAt, expiresAt };
    const alone = { parentTaskId: undefined, liveBelow: 0 };
    const stated = { purpose: purpose.stated.words, purposeDiffers: undefined };
    const live = { ...fields, ...wiki, ...alone, ...stated, state: 'live' };
    const none = { endedAt: undefined, reason: undefined };
    expect(await list(sponsorKey, at(2))).to.deep.equal([{ ...live, ...none, renewals: 0, renewedAt: undefined }]);

    await storage().tasks.renew(aRenewal(opening, { entry: anEntry('token.refreshed', { at: at(40) }) }));
    const narrower = { scope: ['wiki:read'], entry: anEntry('token.refreshed', { at: at(50) }) };
    await storage().tasks.renew(aRenewal(opening, narrower));
    const renewed = { renewals: 2, renewedAt: at(50) };
    expect(await list(sponsorKey, at(60))).to.deep.equal([{ ...live, ...none, ...renewed }]);

    await end(opening, at(70));
    const ended = { state: 'revoked', endedAt: at(70), reason: 'sponsor_stopped' };
    expect(await list(sponsorKey, at(80))).to.deep.equal([{ ...live, ...ended, ...renewed }]);
  });

  it('name the task that they came from, and count the live ones directly below', async () => {
    const sponsorKey = newSponsorKey();
    const agent = await registeredAgent(storage());
    const times = { createdAt: at(1), expiresAt: at(HOUR), sponsorKey };
    const root = anOpening(agent, times);
    const [one, two, over] = [
      aChildOpening(agent, root, times),
      aChildOpening(agent, root, times),
      aChildOpening(agent, root, { ...times, expiresAt: at(50) }),
    ];
    const below = aChildOpening(agent, one, times);
    for (const opening of [root, one, two, over, below]) await storage().tasks.open(opening);
    await end(two, at(40));
    const found = new Map((await list(sponsorKey, at(60))).map((task) => [task.taskId, task]));
    const of = ({ task: { taskId } }: typeof root) => [found.get(taskId)?.parentTaskId, found.get(taskId)?.liveBelow];
    expect([root, one, two, below].map(of)).to.deep.equal([
      [undefined, 1],
      [root.task.taskId, 1],
      [root.task.taskId, 0],
      [one.task.taskId, 0],
    ]);
  });

  it('are expired once their time is up, before and after the sweeper records it, at the same place', async () => {
    const sponsorKey = newSponsorKey();
    const due = await opened(sponsorKey, { expiresAt: at(100) });
    const [early, late, live] = [await opened(sponsorKey), await opened(sponsorKey), await opened(sponsorKey)];
    await end(early, at(90));
    await end(late, at(110));
    const before = await list(sponsorKey, at(120));
    expect(idsOf(before)).to.deep.equal([live, late, due, early].map(({ task }) => task.taskId));
    expect(before[2]).to.include({ state: 'expired', endedAt: at(100), reason: 'task_ttl_elapsed' });
    await storage().decide(expireDueTasks, { overBy: at(120), at: at(120), limit: 1000 });
    expect(await list(sponsorKey, at(120))).to.deep.equal(before);
  });

  it('fill pages of any size without a gap or a repetition, a thousand of one person', async function () {
    this.timeout(120_000);
    const sponsorKey = newSponsorKey();
    const agent = await registeredAgent(storage());
    const openings: TaskOpening[] = [];
    for (let hundred = 0; hundred < 10; hundred++) {
      const some = Array.from({ length: 100 }, () =>
        openedTask(storage(), { taskId: makeTaskId(ulid()), sponsorKey, expiresAt: at(HOUR) }, agent),
      );
      openings.push(...(await Promise.all(some)));
    }
    // Many ends at the same time: their order is decided by the id.
    for (const [nth, opening] of openings.entries()) if (nth % 2 === 0) await end(opening, at(10 + (nth % 7)));
    const all = await list(sponsorKey, at(30), 1001);
    expect(all).to.have.length(1000);
    expect(new Set(idsOf(all)).size).to.equal(1000);
    expect(all.slice(0, 500).every(({ state }) => state === 'live')).to.equal(true);
    const person: MePerson = { ...ADA, sponsorKey };
    const service = readingAt(at(30));
    for (const limit of [100, 77]) {
      const paged: string[] = [];
      let after: Awaited<ReturnType<typeof myTasks>>['nextAfter'];
      do {
        const page = await myTasks(service, person, { after, limit });
        expect(page.tasks.length).to.be.within(1, limit);
        paged.push(...idsOf(page.tasks));
        after = page.nextAfter;
      } while (after !== undefined);
      expect(paged).to.deep.equal(idsOf(all));
    }
  });

  it('are on a later page if they end between two pages, never on none', async () => {
    const sponsorKey = newSponsorKey();
    const openings = [await opened(sponsorKey), await opened(sponsorKey), await opened(sponsorKey)];
    const [first, second, third] = openings.map(({ task }) => task.taskId);
    const [one] = await list(sponsorKey, at(2), 1);
    expect(one?.taskId).to.equal(third);
    for (const opening of openings) await end(opening, at(5));
    const rest = await storage().tasks.ofSponsor(sponsorKey, { after: one, limit: 10, now: at(6) });
    expect(idsOf(rest)).to.deep.equal([third, second, first]);
  });

  it('are counted for each agent with its last start or renewal, the agent of the newest task first, live ones only', async () => {
    const [sponsorKey, other] = [newSponsorKey(), newSponsorKey()];
    const [busy, idle] = [await registeredAgent(storage()), await registeredAgent(storage())];
    const open = (agent: typeof busy, changes: Partial<Task> = {}) =>
      openedTask(
        storage(),
        { taskId: makeTaskId(ulid()), sponsorKey, createdAt: at(1), expiresAt: at(HOUR), ...changes },
        agent,
      );
    const agents = (now = at(60)) => storage().tasks.agentsOfSponsor(sponsorKey, now);
    const first = await open(idle);
    await end(await open(idle), at(20));
    await open(busy, { expiresAt: at(50) });
    await open(busy, { sponsorKey: other });
    const [second, third] = [await open(busy, { createdAt: at(30) }), await open(busy, { createdAt: at(10) })];
    await storage().tasks.renew(aRenewal(first, { entry: anEntry('token.refreshed', { at: at(40) }) }));
    const named = ({ agentId, displayName }: typeof busy) => ({ agentId, displayName });
    expect(await agents()).to.deep.equal([
      { ...named(busy), tasks: 2, newestTask: third.task.taskId, activeAt: at(30) },
      { ...named(idle), tasks: 1, newestTask: first.task.taskId, activeAt: at(40) },
    ]);
    expect((await agents(at(40)))[0]).to.include({ tasks: 3 });
    const live = (agentId?: typeof busy.agentId, after?: typeof second.task.taskId, limit = 10) =>
      storage().tasks.liveOfSponsor(sponsorKey, { agentId, after, limit, now: at(60) });
    expect(idsOf(await live())).to.deep.equal([third, second, first].map(({ task }) => task.taskId));
    expect(idsOf(await live(busy.agentId, undefined, 1))).to.deep.equal([third.task.taskId]);
    expect(idsOf(await live(busy.agentId, third.task.taskId))).to.deep.equal([second.task.taskId]);
    expect(await live(idle.agentId)).to.deep.equal((await list(sponsorKey, at(60))).slice(2, 3));
  });

  it('are listed without the live ones, in the order of the whole list, and in pages', async () => {
    const sponsorKey = newSponsorKey();
    await opened(sponsorKey, { expiresAt: at(100) });
    for (const seconds of [90, 110, 90]) await end(await opened(sponsorKey), at(seconds));
    await opened(sponsorKey);
    const ended = (after?: OwnTaskPosition, limit = 10) =>
      storage().tasks.endedOfSponsor(sponsorKey, { after, limit, now: at(120) });
    const all = (await list(sponsorKey, at(120))).slice(1);
    expect(all).to.have.lengthOf(4);
    expect(await ended()).to.deep.equal(all);
    expect(await ended(undefined, 2)).to.deep.equal(all.slice(0, 2));
    expect(await ended(all[1])).to.deep.equal(all.slice(2));
  });

  it('are found by their ids, in any state, and only their own', async () => {
    const [sponsorKey, other] = [newSponsorKey(), newSponsorKey()];
    const [live, ended, due] = [
      await opened(sponsorKey),
      await opened(sponsorKey),
      await opened(sponsorKey, { expiresAt: at(100) }),
    ];
    const foreign = await opened(other);
    await end(ended, at(90));
    const taskIds = [live, ended, due, foreign].map(({ task }) => task.taskId);
    const byId = async (key: SponsorKey, ids: readonly TaskId[] = [...taskIds, makeTaskId(ulid())]) =>
      (await storage().tasks.ofSponsorById(key, { taskIds: ids, now: at(120) })).toSorted((one, two) =>
        one.taskId < two.taskId ? 1 : -1,
      );
    const all = await list(sponsorKey, at(120));
    expect(await byId(sponsorKey)).to.deep.equal(all.toSorted((one, two) => (one.taskId < two.taskId ? 1 : -1)));
    expect(all).to.have.lengthOf(3);
    expect(idsOf(await byId(other))).to.deep.equal([foreign.task.taskId]);
    expect(await byId(sponsorKey, [])).to.deep.equal([]);
  });

  it('are shown by agent in pages, and those of one agent in pages, to their person only', async () => {
    const [sponsorKey, other] = [newSponsorKey(), newSponsorKey()];
    const agents = [await registeredAgent(storage()), await registeredAgent(storage())];
    const [bot, rare] = agents;
    const times = { createdAt: at(1), expiresAt: at(HOUR) };
    const openings: TaskOpening[] = [];
    for (const agent of [rare, bot, bot, bot]) {
      openings.push(await openedTask(storage(), { taskId: makeTaskId(ulid()), sponsorKey, ...times }, agent));
    }
    const [rareTask, ...botTasks] = openings.map(({ task }) => task.taskId);
    const service = readingAt(at(30));
    const person = (key: SponsorKey): MePerson => ({ ...ADA, sponsorKey: key });
    const page = (after: TaskId | undefined, listsTasks: number) =>
      myAgents(service, person(sponsorKey), { after, limit: 1, listsTasks });
    const first = await page(undefined, 3);
    expect(first).to.include({ tasks: 4, agents: 2, nextAfter: botTasks[2], listed: undefined });
    expect(first.page.map(({ agentId, tasks }) => [agentId, tasks])).to.deep.equal([[bot?.agentId, 3]]);
    const second = await page(first.nextAfter, 4);
    expect(second).to.include({ tasks: 4, agents: 2, nextAfter: undefined });
    expect(second.page.map(({ agentId, newestTask }) => [agentId, newestTask])).to.deep.equal([
      [rare?.agentId, rareTask],
    ]);
    expect(idsOf(second.listed ?? [])).to.deep.equal([...botTasks].reverse().concat(rareTask ?? []));

    const [oldest = makeTaskId(ulid()), , newest] = botTasks;
    const ofBot = (key: SponsorKey, after?: TaskId) =>
      myAgentTasks(service, person(key), { of: oldest, after, limit: 2 });
    const { tasks, ...shown } = (await ofBot(sponsorKey)) ?? { tasks: [] };
    expect(idsOf(tasks)).to.deep.equal([newest, botTasks[1]]);
    const agent = { agentId: bot?.agentId, displayName: bot?.displayName };
    expect(shown).to.deep.equal({ agent, live: 3, nextAfter: botTasks[1] });
    expect(await ofBot(sponsorKey, botTasks[1])).to.deep.include({ live: 3, nextAfter: undefined });
    expect(await ofBot(other)).to.equal(undefined);
    for (const opening of openings) await end(opening, at(20));
    expect(await ofBot(sponsorKey)).to.deep.equal({ agent, live: 0, tasks: [], nextAfter: undefined });
    expect(await page(undefined, 4)).to.deep.equal({ tasks: 0, agents: 0, page: [], nextAfter: undefined, listed: [] });
  });
});
