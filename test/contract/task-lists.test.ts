import { expect } from 'chai';
import { expireDueTasks } from '../../application/decisions/sweep.ts';
import type { ListedTask, TasksQuestion } from '../../application/ports/tasks.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { type AgentId, parseSponsorKey, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { taskStates } from '../../domain/tasks/task.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anOpening,
  aPurpose,
  aRenewal,
  aRevocation,
  openedTask,
  registeredAgent,
  renewTimes,
} from './storage-fixtures.ts';

const OVERDUE_AT = plusSeconds(NOON, 1000);
const NOW = plusSeconds(NOON, 1200);
const KILLED = { at: plusSeconds(NOON, 700), reason: 'operator_kill_switch' } as const;

onEveryDatabase('the list of tasks', ({ storage }) => {
  const page = (question: Partial<TasksQuestion>) =>
    storage().tasks.list({ state: 'live', after: undefined, limit: 1000, mostRead: 1000, now: NOW, ...question });
  const list = async (question: Partial<TasksQuestion>) => (await page(question)).tasks;

  const expire = (at: Instant) => storage().decide(expireDueTasks, { overBy: at, at, limit: 1000 });

  let agents: readonly Agent[] = [];
  const sponsors = ['ada', 'Ada', 'bob'].map((key) => parseSponsorKey(key) as SponsorKey);
  const long = `https://api.example/${'a'.repeat(2000)}`;
  const audiences = [`${long}1`, `${long}2`, 'https://jira.example'];
  interface Expected {
    readonly taskId: TaskId;
    readonly agentId: AgentId;
    readonly sponsorKey: SponsorKey;
    readonly audience: string;
    readonly state: ListedTask['state']['kind'];
  }
  const all: Expected[] = [];

  before(async () => {
    agents = await Promise.all([1, 2, 3].map(() => registeredAgent(storage())));
    // Every combination of agent, person and audience, in turn live, revoked, expired, and overdue.
    for (let nth = 0; nth < 108; nth++) {
      const agent = agents[nth % 3];
      const sponsorKey = sponsors[Math.floor(nth / 3) % 3];
      const audience = audiences[Math.floor(nth / 9) % 3];
      if (agent === undefined || sponsorKey === undefined || audience === undefined) throw new Error('no such choice');
      const how = Math.floor(nth / 27) % 4;
      const expiresAt = how === 3 ? OVERDUE_AT : how === 2 ? plusSeconds(NOON, 500) : plusSeconds(NOON, 5000);
      const { task } = await openedTask(storage(), { sponsorKey, audience, expiresAt }, agent);
      if (how === 1) await storage().tasks.end({ kind: 'task', taskId: task.taskId, sponsorKey }, KILLED);
      const state = (['live', 'revoked', 'expired', 'expired'] as const)[how] ?? 'live';
      all.push({ taskId: task.taskId, agentId: agent.agentId, sponsorKey, audience, state });
    }
    await expire(plusSeconds(NOON, 600));
  });

  it('names the people with live tasks, looking at so many people', async () => {
    const live = new Set(all.filter(({ state }) => state === 'live').map(({ sponsorKey }) => String(sponsorKey)));
    const overdue = new Set(all.map(({ sponsorKey }) => String(sponsorKey)));
    const people = await storage().tasks.livePeople(1000);
    expect(people)
      .to.have.members([...overdue])
      .and.to.include.members([...live]);
    expect(people).to.deep.equal(people.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))));
    expect(await storage().tasks.livePeople(2)).to.deep.equal(people.slice(0, 2));
  });

  it('counts live tasks, all and by agent or person, up to a limit, and returns when the last one expires', async () => {
    const count = (of?: Parameters<ReturnType<typeof storage>['tasks']['countLive']>[0]['of'], most = 1000) =>
      storage().tasks.countLive({ of, now: NOW, most });
    const live = all.filter(({ state }) => state === 'live');
    const [agent] = agents;
    const [sponsorKey] = sponsors;
    if (agent === undefined || sponsorKey === undefined) throw new Error('there is no agent or person');
    const lastExpiry = plusSeconds(NOON, 5000);
    const longestTokenTtl = Math.max(...agents.map(({ maxTokenTtl }) => maxTokenTtl));
    expect(await count()).to.deep.equal({ tasks: live.length, lastExpiry, longestTokenTtl });
    expect(await count(undefined, 5)).to.deep.equal({ tasks: 5, lastExpiry, longestTokenTtl });
    expect(await count({ agentId: agent.agentId })).to.deep.equal({
      tasks: live.filter(({ agentId }) => agentId === agent.agentId).length,
      lastExpiry,
      longestTokenTtl: agent.maxTokenTtl,
    });
    expect(await count({ sponsorKey })).to.deep.include({
      tasks: live.filter((task) => task.sponsorKey === sponsorKey).length,
    });
    expect(await count({ endOf: { agentId: agent.agentId } }), 'none is delegated').to.deep.equal(
      await count({ agentId: agent.agentId }),
    );
    const nobody = parseSponsorKey('nobody') as SponsorKey;
    expect(await count({ sponsorKey: nobody })).to.deep.equal({
      tasks: 0,
      lastExpiry: undefined,
      longestTokenTtl: undefined,
    });
  });

  const idsOf = (tasks: readonly { readonly taskId: TaskId }[]) => tasks.map(({ taskId }) => taskId);

  /** Pages of four that each read at most five tasks, so that some have fewer matching tasks, or none. */
  const inShortReads = async (filters: Partial<TasksQuestion>): Promise<readonly TaskId[]> => {
    const found: TaskId[] = [];
    let after: TaskId | undefined;
    do {
      const { tasks, readUpTo } = await page({ ...filters, limit: 4, mostRead: 5, after });
      found.push(...idsOf(tasks));
      after = tasks.length === 4 ? tasks.at(-1)?.taskId : readUpTo;
    } while (after !== undefined);
    return found;
  };

  it('selects by each filter alone and by all together, newest first, in one page or in many', async () => {
    const choices = [undefined, 0, 1] as const;
    for (const state of taskStates) {
      for (const agent of choices) {
        for (const sponsor of choices) {
          for (const audience of choices) {
            const filters = {
              state,
              agentId: agent === undefined ? undefined : agents[agent]?.agentId,
              sponsorKey: sponsor === undefined ? undefined : sponsors[sponsor],
              audience: audience === undefined ? undefined : audiences[audience],
            };
            const expected = all
              .filter((task) =>
                Object.entries(filters).every(
                  ([name, value]) => value === undefined || task[name as keyof Expected] === value,
                ),
              )
              .map(({ taskId }) => taskId)
              .toReversed();
            expect(expected).not.to.have.length(0);
            expect(idsOf(await list(filters))).to.deep.equal(expected);
            const paged: TaskId[] = [];
            for (let some = await list({ ...filters, limit: 4 }); some.length > 0; ) {
              paged.push(...idsOf(some));
              some = await list({ ...filters, limit: 4, after: paged.at(-1) });
            }
            expect(paged).to.deep.equal(expected);
            expect(await inShortReads(filters)).to.deep.equal(expected);
          }
        }
      }
    }
  });

  it('neither skips nor repeats a task if others start and end between two pages', async () => {
    const before = idsOf(await list({}));
    const first = idsOf(await list({ limit: 5 }));
    await openedTask(storage(), { expiresAt: plusSeconds(NOON, 5000) }, agents[0]);
    const last = first.at(-1) as TaskId;
    await storage().tasks.end({ kind: 'task', taskId: last }, KILLED);
    expect([...first, ...idsOf(await list({ after: last }))]).to.deep.equal(before);
  });

  it('has each field of a task, and the same task by its id', async () => {
    const agent = await registeredAgent(storage(), { displayName: 'Näme' });
    const opening = anOpening(agent);
    const { task } = opening;
    const purpose = aPurpose(task);
    await storage().tasks.open({ ...opening, purpose });
    await renewTimes(storage(), opening, 1);
    const renewal = aRenewal(opening);
    const narrowed = { scope: task.scope.slice(0, 1), entry: { ...renewal.entry, at: plusSeconds(NOON, 33) } };
    await storage().tasks.renew({ ...renewal, ...narrowed });
    const expected = { ...task, state: { kind: 'live' }, displayName: 'Näme', renewals: 2 };
    const [newest] = await list({ agentId: agent.agentId });
    expect(newest).to.deep.equal(expected);
    const grant = {
      grantScope: narrowed.scope,
      renewedAt: narrowed.entry.at,
      purpose: purpose.stated,
      differences: [],
    };
    expect(await storage().tasks.findListed(task.taskId, NOW)).to.deep.equal({ ...expected, ...grant });
    const { at, reason } = aRevocation(opening);
    await storage().tasks.end({ kind: 'task', taskId: task.taskId }, { at, reason });
    const ended = { ...expected, state: { kind: 'revoked', at, reason } };
    expect(await list({ agentId: agent.agentId, state: 'revoked' })).to.deep.equal([ended]);
    expect(await storage().tasks.findListed(task.taskId, NOW)).to.deep.equal({ ...ended, ...grant });
  });

  it('shows a task whose time is up as expired, before and after its expiry is recorded', async () => {
    const { task } = await openedTask(storage(), { expiresAt: OVERDUE_AT });
    const { agentId, taskId } = task;
    const early = plusSeconds(OVERDUE_AT, -1);
    expect(idsOf(await list({ agentId, now: early }))).to.deep.equal([taskId]);
    for (const recorded of [false, true]) {
      if (recorded) await expire(OVERDUE_AT);
      expect(await list({ agentId })).to.deep.equal([]);
      const [found, ...more] = await list({ agentId, state: 'expired' });
      expect([found?.taskId, found?.state, more]).to.deep.equal([taskId, { kind: 'expired', at: OVERDUE_AT }, []]);
    }
  });

  it('finds nothing by the id of a task that is not stored', async () => {
    expect(await storage().tasks.findListed('task_01M31S7W68TMK7WDX8YKPSYTEZ' as TaskId, NOW)).to.equal(undefined);
  });
});
