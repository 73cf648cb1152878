/**
 * The query plans of SQLite: decisions find their rows by key and never scan a table, and a ledger page uses the most
 * selective index. SQLite keeps no statistics here, so its plans for empty tables are those for full ones.
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { ulid } from 'ulid';
import { queryPorts } from '../../../../adapters/storage/queries/ports.ts';
import { sweeping } from '../../../../adapters/storage/queries/sweeping.ts';
import { sqliteAsk, sqliteChange } from '../../../../adapters/storage/sqlite/ask.ts';
import { type Connection, openConnection } from '../../../../adapters/storage/sqlite/connection.ts';
import { sqliteDecisions } from '../../../../adapters/storage/sqlite/decide.ts';
import type { Run } from '../../../../adapters/storage/sqlite/handle.ts';
import { sqliteLedger } from '../../../../adapters/storage/sqlite/ledger.ts';
import { migrateSqlite } from '../../../../adapters/storage/sqlite/migrate.ts';
import { sqliteFreeing } from '../../../../adapters/storage/sqlite/sweeping.ts';
import { answerApproval } from '../../../../application/decisions/answer-approval.ts';
import { askApproval } from '../../../../application/decisions/ask-approval.ts';
import { allowDelegation, refuseDelegation } from '../../../../application/decisions/delegation-refusal.ts';
import { endSomeTasks } from '../../../../application/decisions/end-tasks.ts';
import { offerDelegation } from '../../../../application/decisions/offer-delegation.ts';
import type { TaskOpening } from '../../../../application/decisions/open-task.ts';
import { revokeSingleToken } from '../../../../application/decisions/revoke-single-token.ts';
import { expireDueApprovals } from '../../../../application/decisions/sweep.ts';
import type { LedgerQuery } from '../../../../application/ports/ledger.ts';
import type { LiveTasksQuestion, TasksQuestion } from '../../../../application/ports/tasks.ts';
import { type ApprovalId, makeUserId } from '../../../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../../../domain/instant.ts';
import { statementsOf } from '../../../../domain/signals/provisioning-statement.ts';
import {
  aChildOpening,
  anAssertion,
  anOpening,
  aRefusal,
  aRenewal,
  aTokenRevocation,
  openedTask,
  registeredAgent,
} from '../../../contract/storage-fixtures.ts';
import { answering, asking } from '../../../contract/world.ts';
import { anAgent, NOON } from '../../../support/domain-fixtures.ts';
import { type Storage, withMethods } from '../../../support/storage.ts';

const LATER = plusSeconds(NOON, 3);
const KILL = { at: LATER, reason: 'operator_kill_switch' } as const;

const { agentId, sponsor, sponsorKey, taskId } = anOpening(anAgent()).task;

/** Sources that a plan may scan: values of the request, tables of one row, and subqueries with a limit. */
const SMALL =
  'found|live|tree|chain|json_each|given|ended|missed|settled|record|said|CONSTANT|2 CONSTANT|outbox_queueing|sqlite_sequence';
const FOUND = [
  // SQLite builds an automatic index by reading the whole table.
  /^SEARCH (?!.*AUTOMATIC).*=\?/,
  new RegExp(`^SCAN (${SMALL})\\b`),
  // Two reads of a range: the newest record, and the records that the previous statement wrote.
  /^SEARCH ledger USING COVERING INDEX ledger_by_time \(ts>\? AND ts<\?\)$/,
  // It has a row a month.
  /^SEARCH ledger_archives$/,
  /^SEARCH checkpoints USING COVERING INDEX checkpoints_by_range$/,
  /^SEARCH ledger USING INTEGER PRIMARY KEY \(rowid>\?\)$/,
];

describe('SQLite', () => {
  let connection: Connection;
  let storage: Storage;
  let run: Set<string>;
  before(async () => {
    connection = await openConnection(':memory:');
    await migrateSqlite(connection);
    const recorded =
      (real: Run): Run =>
      (query, values) => {
        run.add(query);
        return real(query, values);
      };
    const watched: Connection = {
      ...connection,
      read: (work) => connection.read((real) => work(recorded(real))),
      write: (work) => connection.write((real) => work(recorded(real))),
    };
    storage = withMethods({
      ...sqliteDecisions(watched),
      ...queryPorts(sqliteAsk(watched), sqliteChange(watched)),
      ledger: sqliteLedger(watched),
      sweeping: sweeping(sqliteChange(watched), sqliteFreeing),
    } as never);
  });
  beforeEach(() => {
    run = new Set();
  });
  after(() => connection.close());

  /** The steps of the recorded statements that may read other rows than those of the decision. */
  const readMore = (): Promise<readonly string[]> => {
    expect(run, 'statements that were run').not.to.have.property('size', 0);
    return connection.read((real) =>
      [...run].flatMap((text) =>
        real<{ detail: string }>(
          `explain query plan ${text}`,
          [...text.matchAll(/\?/g)].map(() => '[]'),
        )
          .rows.map(({ detail }) => detail)
          .filter((step) => /^(SCAN|SEARCH) /.test(step) && !FOUND.some((found) => found.test(step)))
          .map((step) => `${step}: ${text}`),
      ),
    );
  };

  const signal = () => ({
    issuer: 'https://idp.example',
    jti: randomUUID(),
    forgetAt: plusSeconds(LATER, 600),
    at: LATER,
  });

  const decisions: Record<string, (opening: TaskOpening) => Promise<unknown>> = {
    'a delegated exchange': async (opening) => {
      const { sponsorKey } = opening.task;
      const agent = await registeredAgent(storage);
      const child = aChildOpening(agent, opening, { sponsorKey, createdAt: NOON });
      expect(await storage.tasks.open(child)).to.deep.equal({ kind: 'opened' });
    },
    'an offer, and a renewal of a delegated task': async (opening) => {
      const { sponsorKey, sponsor, taskId, scope } = opening.task;
      const child = aChildOpening(await registeredAgent(storage), opening, { sponsorKey, sponsor, createdAt: NOON });
      const { ancestors = [] } = child.delegation ?? {};
      const of = { taskId, sponsorKey, scope, assertion: undefined, maxChildren: 9, entry: opening.entry };
      expect(await storage.decide(offerDelegation, { ...of, ancestors: ancestors as never })).to.deep.equal({
        kind: 'offered',
      });
      await storage.tasks.open(child);
      const above = await storage.tasks.chain(child.task.taskId);
      expect(above.map(({ task }) => task.taskId)).to.deep.equal([child.task.taskId, taskId]);
      expect(await storage.tasks.renew(aRenewal(child, { ancestors }))).to.deep.equal({ kind: 'renewed' });
      const [count = ''] = [...run].filter((text) => text.includes('count(*) as children'));
      expect((await planOf(count)).join()).to.include('tasks_by_parent (parent_task_id=? AND state=?)');
    },
    'a renewal': async (opening) => {
      expect(await storage.tasks.findGrant(opening.task.agentId, opening.grantHash)).not.to.equal(undefined);
      expect(await storage.tasks.renew(aRenewal(opening))).to.deep.equal({ kind: 'renewed' });
    },
    'a refusal': ({ task, assertion }) =>
      storage.ledger.refuse({ entry: aRefusal('actor_expired'), assertion, sponsorKey: task.sponsorKey }),
    'an introspection': async ({ task, entry }) => {
      if (entry.jti === undefined) throw new Error('the token has no jti');
      expect(await storage.tasks.tokenFacts(entry.jti, task.taskId)).not.to.equal(undefined);
    },
    'a page of own tasks': async ({ task: { sponsorKey, taskId } }) => {
      const [task] = await storage.tasks.ofSponsor(sponsorKey, { after: undefined, limit: 101, now: NOON });
      expect(task?.taskId).to.equal(taskId);
    },
    'the agents of a person and their tasks': async ({ task: { sponsorKey, taskId, agentId } }) => {
      const [agent] = await storage.tasks.agentsOfSponsor(sponsorKey, NOON);
      expect(agent).to.include({ agentId, newestTask: taskId });
      const question = { after: undefined, limit: 101, now: NOON };
      for (const of of [undefined, agentId]) {
        const [task] = await storage.tasks.liveOfSponsor(sponsorKey, { ...question, agentId: of });
        expect(task?.taskId).to.equal(taskId);
      }
      expect(await storage.tasks.endedOfSponsor(sponsorKey, question)).to.deep.equal([]);
      expect(await storage.tasks.ofSponsorById(sponsorKey, { taskIds: [taskId], now: NOON })).to.have.lengthOf(1);
      const plans = await Promise.all([...run].filter((text) => text.includes('from tasks')).map(planOf));
      for (const plan of plans.flat()) expect(plan).not.to.match(/tasks_by_agent|tasks_by_state/);
    },
    'approvals and their notices': async (live) => {
      const { task } = live;
      const name = randomUUID();
      const ask = (at: Instant) =>
        storage.decide(askApproval, asking({ live, name, jti: randomUUID() }, 'waiting', {}, at));
      expect(await ask(NOON)).to.include({ kind: 'pending' });
      const [waiting] = await storage.approvals.waitingFor(task.sponsorKey, NOON);
      expect(await storage.decide(answerApproval, answering({ live, name }, 'approve'))).to.equal('granted');
      expect(await ask(LATER)).to.include({ kind: 'granted' });
      const approvalId = waiting?.row.approvalId as ApprovalId;
      const found = await storage.approvals.find(approvalId);
      expect(found?.kind).to.equal('same');
      expect(found?.row).to.include({ state: 'used', agentId: task.agentId });
      expect(await storage.approvals.ofTask(task.taskId, 9)).to.have.lengthOf(1);
      expect(await storage.approvals.settledFor(task.sponsorKey, { now: LATER, limit: 9 })).to.have.lengthOf(1);
    },
    'a revocation of a token': async (opening) => {
      const { jti: tokenId = 'jti' as never } = opening.entry;
      const verdict = await storage.decide(revokeSingleToken, aTokenRevocation(opening, { tokenId }));
      expect(verdict).to.equal('revoked');
    },
  };
  const endings: Record<string, (opening: TaskOpening) => Promise<unknown>> = {
    'a revocation by grant': ({ task, grantHash }) =>
      storage.tasks.revokeByGrant(KILL, task.agentId, grantHash, anAssertion(task.agentId)),
    'the end of a task': ({ task }) => storage.tasks.end({ kind: 'task', taskId: task.taskId }, KILL),
    'the end of an agent’s tasks': ({ task }) => storage.tasks.end({ kind: 'agent', agentId: task.agentId }, KILL),
    'the end of an agent’s tasks for a person': ({ task: { sponsorKey, agentId } }) =>
      storage.tasks.end({ kind: 'sponsor_agent', sponsorKey, agentId }, KILL),
    'the end of a person’s tasks': ({ task }) =>
      storage.tasks.end({ kind: 'sponsor', sponsorKey: task.sponsorKey }, KILL),
    'a block': ({ task: { sponsorKey } }) =>
      storage.sponsors.block({ sponsorKey, source: 'admin', kind: 'disabled', blockedAt: LATER }, 'sponsor_blocked'),
    'a logout of a session': ({ task: { sessionId = '' } }) =>
      storage.signals.logOut({ ...signal(), loggedOut: { kind: 'session', sessionId, subject: undefined } }),
    'a logout of a person and a session': ({ task: { sponsor, sessionId = '' } }) =>
      storage.signals.logOut({ ...signal(), loggedOut: { kind: 'session', sessionId, subject: sponsor } }),
    'a logout of a person and a session that ends tasks without one': ({ task: { sponsor, sessionId = '' } }) =>
      storage.signals.logOut({
        ...signal(),
        loggedOut: { kind: 'session', sessionId, subject: sponsor },
        endsTasksWithoutSession: true,
      }),
    'a logout of a person': ({ task: { sponsor } }) =>
      storage.signals.logOut({ ...signal(), loggedOut: { kind: 'person', subject: sponsor } }),
    'a security event': ({ task: { sponsorKey } }) =>
      storage.signals.applySecurityEvent({
        ...signal(),
        action: {
          sponsorKey,
          statedAt: LATER,
          reasons: ['ssf_account_disabled'],
          lift: false,
          block: 'disabled',
          end: 'ssf_account_disabled',
        },
      }),
    'a security event that places no block': ({ task: { sponsorKey } }) => {
      const end = 'ssf_sessions_revoked';
      const action = { sponsorKey, statedAt: LATER, reasons: [end], lift: false, block: undefined, end } as const;
      return storage.signals.applySecurityEvent({ ...signal(), action });
    },
    'a deactivation by SCIM': async ({ task: { sponsorKey } }) => {
      const names = { userId: makeUserId(ulid()), userName: randomUUID(), externalId: randomUUID() };
      const user = { ...names, active: true, sponsorKey, revision: 1, createdAt: NOON, modifiedAt: NOON };
      const users = storage.provisionedUsers;
      await users.create(user, { statements: statementsOf(undefined, user), at: LATER }, 100);
      // Drops the statements that created the user, because they count all users.
      run = new Set();
      const inactive = { ...user, active: false, revision: 2 };
      expect(await users.replace(user, inactive, { statements: statementsOf(user, inactive), at: LATER })).to.equal(
        'replaced',
      );
    },
  };

  for (const [name, decide] of Object.entries(decisions)) {
    it(`finds the rows of ${name} by key`, async () => {
      const opening = await openedTask(storage);
      await decide(opening);
      expect(await readMore()).to.deep.equal([]);
    });
  }

  for (const [name, end] of Object.entries(endings)) {
    it(`finds the rows of ${name} by key`, async () => {
      const opening = await openedTask(storage);
      await end(opening);
      expect(await readMore()).to.deep.equal([]);
      const grant = await storage.tasks.findGrant(opening.task.agentId, opening.grantHash);
      expect(grant?.taskState.kind).to.equal('revoked');
    });
  }

  const LISTS: Readonly<Record<string, readonly [() => Promise<unknown>, string]>> = {
    'all tasks': [() => list({}), 'tasks USING COVERING INDEX tasks_by_state (<expr>=? AND task_id<?)'],
    'the tasks of an agent': [
      () => list({ agentId }),
      'tasks USING COVERING INDEX tasks_by_agent (agent_id=? AND state=? AND task_id<?)',
    ],
    'the tasks of a person, an agent and an audience': [
      () => list({ agentId, sponsorKey, audience: 'x' }),
      'tasks USING INDEX tasks_by_sponsor (sponsor_key=? AND state=? AND task_id<?)',
    ],
    'the tasks of an audience': [
      () => list({ audience: 'x' }),
      'tasks USING INDEX tasks_by_state (<expr>=? AND task_id<?)',
    ],
    'the tasks whose time is up': [
      () => list({ state: 'expired' }),
      'tasks USING INDEX tasks_live_by_expiry (expires_at<?)',
    ],
    'the ended tasks whose status index is free': [
      async () => {
        await storage.sweeping.forget(LATER, 10);
        run = new Set([...run].filter((text) => /^update tasks set status_list/.test(text)));
      },
      'tasks USING INDEX tasks_status_by_expiry (expires_at<?)',
    ],
    'all blocks': [
      () => storage.sponsors.list({ after: undefined, limit: 10 }),
      'sponsor_blocks USING INDEX sponsor_blocks_newest (blocked_at<?)',
    ],
    'the blocks of a source': [
      () => storage.sponsors.list({ source: 'scim', after: undefined, limit: 10 }),
      'sponsor_blocks USING INDEX sponsor_blocks_by_source (source=? AND (blocked_at,sponsor_key)<(?,?))',
    ],
  };
  const list = (filters: Partial<TasksQuestion>) =>
    storage.tasks.list({ state: 'revoked', after: undefined, limit: 10, mostRead: 100, now: NOON, ...filters });
  for (const [what, [read, step]] of Object.entries(LISTS)) {
    it(`lists ${what} in the order of an index`, async () => {
      await read();
      const whole = await planOf([...run].join());
      // Then the page itself may be sorted.
      const plan = whole.includes('SCAN found') ? whole.slice(0, whole.indexOf('SCAN found')) : whole;
      expect(plan, plan.join('\n')).to.include(`SEARCH ${step}`);
      const isSorted = plan.some((one) => one.includes('TEMP B-TREE'));
      // Few tasks are past their time, and a search reads a limited number: both may be sorted.
      expect(isSorted, plan.join('\n')).to.equal(what === 'the tasks whose time is up' || what.includes('audience'));
    });
  }

  it("finds a person's refusals of handing-over, and their agents, by key", async () => {
    const opening = await openedTask(storage);
    const about = { sponsorKey: opening.task.sponsorKey, agentId: opening.task.agentId };
    await storage.decide(refuseDelegation, { ...about, entry: aRefusal('sponsor_disabled') });
    await storage.decide(allowDelegation, { ...about, entry: aRefusal('sponsor_disabled') });
    for (const among of [undefined, [about.agentId]]) {
      await storage.sponsors.delegationRefusals({ sponsorKey: about.sponsorKey, among, limit: 9 });
    }
    expect(await readMore()).to.deep.equal([]);
  });

  it('finds some of all live tasks in the order of an index, and those delegated from them by key', async () => {
    const { task } = await openedTask(storage);
    run = new Set();
    const { tasks } = await storage.decide(endSomeTasks, { limit: 1000, ...KILL });
    expect(tasks).to.be.at.least(1);
    expect((await storage.tasks.findListed(task.taskId, LATER))?.state.kind).to.equal('revoked');
    // Of the read tasks, whose number is limited.
    const more = (await readMore()).filter((step) => !/^SCAN \(subquery-\d+\)/.test(step));
    expect(more).to.deep.equal([]);
    const plan = await planOf([...run].find((text) => text.includes('limit ?')) ?? '');
    expect(plan, plan.join('\n')).to.include('SEARCH tasks USING INDEX tasks_by_state (<expr>=?)');
  });

  const countOf = (of: LiveTasksQuestion['of']) => storage.tasks.countLive({ of, now: NOON, most: 10 });
  const COUNTS: Readonly<Record<string, readonly [() => Promise<unknown>, string]>> = {
    'all live tasks': [() => countOf(undefined), 'SEARCH t USING INDEX tasks_live_by_expiry (expires_at>?)'],
    'the live tasks of an agent': [
      () => countOf({ agentId }),
      'SEARCH t USING INDEX tasks_by_agent (agent_id=? AND state=?)',
    ],
    'the live tasks of a person': [
      () => countOf({ sponsorKey }),
      'SEARCH t USING INDEX tasks_by_sponsor (sponsor_key=? AND state=?)',
    ],
    'approvals that wait': [
      () => storage.approvals.countWaiting({ now: NOON, most: 10 }),
      'SEARCH approvals USING INDEX approvals_open (expires_at>?)',
    ],
    // Its limit ends the scan.
    blocks: [
      () => storage.sponsors.countBlocks(10),
      'SCAN sponsor_blocks USING COVERING INDEX sponsor_blocks_by_source',
    ],
  };
  for (const [what, [count, step]] of Object.entries(COUNTS)) {
    it(`counts ${what} along an index up to the limit, and scans nothing else`, async () => {
      await count();
      const [text = '', ...more] = [...run];
      expect(more).to.deep.equal([]);
      expect(text).to.match(/\blimit\b/);
      const plan = (await planOf(text)).filter((one) => /^(SCAN (?!counted\b)|SEARCH (?!a\b))/.test(one));
      expect(plan, plan.join('\n')).to.deep.equal([step]);
    });
  }

  it('finds approvals whose time is up along an index, and the approval of a notice by key', async () => {
    await storage.decide(expireDueApprovals, { overBy: NOON, at: NOON, limit: 9 });
    const plan = (await planOf([...run].join())).filter((one) => /^(SCAN|SEARCH) (?!v$)/.test(one));
    expect(plan).to.deep.equal([
      'SEARCH approvals USING INDEX approvals_open (expires_at<?)',
      'SEARCH t USING PRIMARY KEY (task_id=?)',
    ]);
    run = new Set();
    await storage.approvalNotices.due({ now: NOON, limit: 9 });
    expect(await planOf([...run].join())).to.include('SEARCH v USING PRIMARY KEY (approval_id=?)');
  });

  it('names people with live tasks by one step along an index for each, whatever the number of their tasks', async () => {
    await storage.tasks.livePeople(10);
    const plan = (await planOf([...run].join())).filter((one) => /^(SCAN|SEARCH) (tasks|t)\b/.test(one));
    expect(plan).to.deep.equal([
      'SEARCH tasks USING COVERING INDEX tasks_by_sponsor (sponsor_key>?)',
      'SEARCH t USING COVERING INDEX tasks_by_sponsor (sponsor_key>?)',
      'SEARCH t EXISTS USING COVERING INDEX tasks_by_sponsor (sponsor_key=? AND state=?)',
    ]);
  });

  const planOf = (text: string): Promise<readonly string[]> => {
    const values = [...text.matchAll(/\?/g)].map(() => '0');
    return connection.read((real) =>
      real<{ detail: string }>(`explain query plan ${text}`, values).rows.map(({ detail }) => detail),
    );
  };

  const AUDIT = {
    'all denials': [{ decision: 'deny' }, 'SCAN ledger USING INDEX ledger_of_denials'],
    'all records, newest first': [{ newestFirst: true }, 'SCAN ledger USING INDEX ledger_by_time'],
    'the denials for a reason, newest first': [
      { decision: 'deny', reason: 'task_revoked', newestFirst: true, mostRead: 100 },
      'CO-ROUTINE ledger',
    ],
    'the records of an event': [{ event: 'task.revoked' }, 'SEARCH ledger USING INDEX ledger_by_event (event=?)'],
    'the records of an audience and an event': [
      { event: 'task.revoked', audience: 'x' },
      'SEARCH ledger USING INDEX ledger_by_event (event=?)',
    ],
    'the records of an agent': [{ agentId }, 'SEARCH ledger USING INDEX ledger_by_agent (agent_id=?)'],
    'the records of an agent and a person': [
      { agentId, sponsor },
      'SEARCH ledger USING INDEX ledger_by_sponsor (sponsor=?)',
    ],
    'the records of an agent, a person and a task': [
      { agentId, sponsor, taskId },
      'SEARCH ledger USING INDEX ledger_by_task (task_id=?)',
    ],
  } as const satisfies Readonly<Record<string, readonly [Partial<LedgerQuery>, string]>>;
  for (const [what, [query, step]] of Object.entries(AUDIT)) {
    it(`finds ${what} by the most selective index`, async () => {
      await storage.ledger.page({ ...query, limit: 10, now: NOON });
      const [text = ''] = [...run].filter((one) => one.includes('from ledger'));
      expect((await planOf(text))[0]).to.equal(step);
    });
  }
});
