/**
 * Counts the rows that Postgres reads to end a few tasks, or to delete expired rows: they must not grow with the table,
 * even if its statistics are old and prepared statements have cached plans. The tables were analysed with one task.
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { ulid } from 'ulid';
import { postgres } from '../../../../adapters/storage/dialect.ts';
import { postgresAsk, postgresChange } from '../../../../adapters/storage/postgres/ask.ts';
import { columnTypes } from '../../../../adapters/storage/postgres/column-types.ts';
import { postgresDecisions } from '../../../../adapters/storage/postgres/decide.ts';
import { BEGIN, type Connections, type Run } from '../../../../adapters/storage/postgres/pool/transactions.ts';
import { postgresFreeing } from '../../../../adapters/storage/postgres/sweeping.ts';
import { approvals as approvalsOf, waitingApprovals } from '../../../../adapters/storage/queries/approvals.ts';
import { authorizations as authorizationsOf } from '../../../../adapters/storage/queries/authorizations.ts';
import { sweeping as sweepingOf } from '../../../../adapters/storage/queries/sweeping.ts';
import { tasks as tasksOf } from '../../../../adapters/storage/queries/tasks.ts';
import { answerApproval } from '../../../../application/decisions/answer-approval.ts';
import { answerRequest } from '../../../../application/decisions/answer-request.ts';
import { applySecurityEvent } from '../../../../application/decisions/apply-security-event.ts';
import { askApproval } from '../../../../application/decisions/ask-approval.ts';
import { endSomeTasks, endTasks } from '../../../../application/decisions/end-tasks.ts';
import { keepRequest } from '../../../../application/decisions/keep-request.ts';
import { logOut } from '../../../../application/decisions/log-out.ts';
import { offerDelegation } from '../../../../application/decisions/offer-delegation.ts';
import { openTask } from '../../../../application/decisions/open-task.ts';
import { placeBlock } from '../../../../application/decisions/place-block.ts';
import { renewGrant } from '../../../../application/decisions/renew-grant.ts';
import { revokeGrant } from '../../../../application/decisions/revoke-grant.ts';
import { deleteEndedTasks, expireDueApprovals, expireDueTasks } from '../../../../application/decisions/sweep.ts';
import { addUser } from '../../../../application/decisions/write-user.ts';
import type { Approvals } from '../../../../application/ports/approvals.ts';
import type { Authorizations } from '../../../../application/ports/authorizations.ts';
import type { Decisions } from '../../../../application/ports/decisions.ts';
import type { Sweeping } from '../../../../application/ports/storage.ts';
import type { Tasks } from '../../../../application/ports/tasks.ts';
import { makeUserId, type SponsorKey, type TaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { aCode, anAuthorization } from '../../../contract/authorization-fixtures.ts';
import { aChildOpening, anAssertion, anOpening, aRenewal, openedTask } from '../../../contract/storage-fixtures.ts';
import { answering, approvalIdOf, asking } from '../../../contract/world.ts';
import { type FreshDatabase, freshDatabase, type OutsideConnection } from '../../../support/databases.ts';
import { anAgent, NOON } from '../../../support/domain-fixtures.ts';
import { byLength } from '../../../support/length.ts';
import type { Storage } from '../../../support/storage.ts';

const LIVE = 3000;
/** The maximum number of rows read for a task and its delegated task. */
const FEW = 30;
/** Fewer than all live tasks. */
const SOME = 5;
/** Postgres may cache a statement's plan from its sixth execution. */
const OFTEN = 12;
const AT = plusSeconds(NOON, 3);
/** At this time only the tested task has expired; all others expire a day later. */
const LATER = plusSeconds(AT, 86_400);
const at = `'${toMicrosecondText(AT)}'::timestamptz`;

type Deciding = Pick<Decisions, 'decide'>;
type TheOne = Awaited<ReturnType<typeof openedTask>>;
const signal = () => ({ issuer: 'issuer', jti: randomUUID(), forgetAt: AT, at: AT });
const KILL = { at: AT, reason: 'operator_kill_switch' } as const;
const remember = { statedAt: AT, forgetAt: AT };

const theSession = { kind: 'session', sessionId: 'the-one' } as const;

const ENDINGS: Readonly<Record<string, (decisions: Deciding, one: TheOne) => Promise<unknown>>> = {
  'the end of a task': ({ decide }, { task: { taskId, sponsorKey } }) =>
    decide(endTasks, { selection: { kind: 'task', taskId, sponsorKey }, ...KILL }),
  'the end of a person’s tasks': ({ decide }, { task: { sponsorKey } }) =>
    decide(endTasks, { selection: { kind: 'sponsor', sponsorKey }, ...KILL }),
  'the end of an agent’s tasks': ({ decide }, { task: { agentId } }) =>
    decide(endTasks, { selection: { kind: 'agent', agentId }, ...KILL }),
  'the end of an agent’s tasks for a person': ({ decide }, { task: { sponsorKey, agentId } }) =>
    decide(endTasks, { selection: { kind: 'sponsor_agent', sponsorKey, agentId }, ...KILL }),
  'a revocation by grant': ({ decide }, { task: { taskId, sponsorKey, agentId } }) =>
    decide(revokeGrant, { at: AT, reason: 'client_revoked', taskId, sponsorKey, assertion: anAssertion(agentId) }),
  'a block': ({ decide }, { task: { sponsorKey } }) =>
    decide(placeBlock, {
      block: { sponsorKey, source: 'admin', kind: 'disabled', blockedAt: AT },
      reason: 'sponsor_blocked',
    }),
  'a logout of a session': ({ decide }) =>
    decide(logOut, { ...signal(), loggedOut: { ...theSession, subject: undefined }, remember }),
  'a logout of a person': ({ decide }, { task }) =>
    decide(logOut, { ...signal(), loggedOut: { kind: 'person', subject: task.sponsor }, remember }),
  'a logout of a person and a session': ({ decide }, { task }) =>
    decide(logOut, { ...signal(), loggedOut: { ...theSession, subject: task.sponsor }, remember }),
  'a logout of a person and a session that ends tasks without one': ({ decide }, { task: { sponsor } }) =>
    decide(logOut, {
      ...signal(),
      loggedOut: { ...theSession, subject: sponsor },
      remember,
      endsTasksWithoutSession: true,
    }),
  'a write of a provisioned user': ({ decide }, { task: { sponsorKey } }) =>
    decide(addUser, {
      user: {
        userId: makeUserId(ulid()),
        userName: ulid(),
        externalId: undefined,
        sponsorKey,
        active: false,
        revision: 1,
        createdAt: AT,
        modifiedAt: AT,
      },
      statements: [{ sponsorKey, state: 'disabled', isNew: true }],
      at: AT,
      maxUsers: 10 * LIVE,
    }),
  'a security event': ({ decide }, { task: { sponsorKey } }) =>
    decide(applySecurityEvent, {
      ...signal(),
      action: {
        sponsorKey,
        statedAt: AT,
        reasons: ['ssf_account_disabled'],
        lift: false,
        block: 'disabled',
        end: 'ssf_account_disabled',
      },
    }),
  'a security event that places no block': ({ decide }, { task: { sponsorKey } }) =>
    decide(applySecurityEvent, { ...signal(), action: revocation(sponsorKey) }),
};
const revocation = (sponsorKey: SponsorKey) =>
  ({
    sponsorKey,
    statedAt: AT,
    reasons: ['ssf_sessions_revoked'],
    lift: false,
    block: undefined,
    end: 'ssf_sessions_revoked',
  }) as const;
const SWEEPING: Readonly<
  Record<string, readonly [sweep: (decisions: Deciding) => Promise<unknown>, leaves: unknown[]]>
> = {
  'an expiry': [
    ({ decide }) => decide(expireDueTasks, { overBy: LATER, at: LATER, limit: 100 }),
    [{ state: 'expired' }],
  ],
};

/** Each read or decision of approvals, while many others wait. */
const APPROVALS: Readonly<
  Record<string, (decisions: Deciding, approvals: Approvals, one: TheOne) => Promise<unknown>>
> = {
  'a request for an approval': ({ decide }, _, live) => decide(askApproval, aRequest(live, 'new')),
  'a request that is the poll': ({ decide }, _, live) => decide(askApproval, aRequest(live, 'waiting')),
  'an answer': ({ decide }, _, live) => decide(answerApproval, answering({ live, name: THE_NAME }, 'approve')),
  'the page of a person': (_, { waitingFor }, { task: { sponsorKey } }) => waitingFor(sponsorKey, NOON),
  'what a person answered': (_, { settledFor }, { task: { sponsorKey } }) =>
    settledFor(sponsorKey, { now: LATER, limit: 10 }),
  'an approval of a person': (_, { find }) => find(approvalIdOf(`waiting at ${NOON}`, THE_NAME)),
  'the approvals of a task': (_, { ofTask }, { task: { taskId } }) => ofTask(taskId, 9),
  'a limited count': (_, { countWaiting }) => countWaiting({ now: NOON, most: SOME }),
  'an expiry of approvals': ({ decide }) => decide(expireDueApprovals, { overBy: NOON, at: NOON, limit: 9 }),
};
const THE_NAME = 'the-one';
const aRequest = (live: TheOne, what: string) => asking({ live, name: THE_NAME, jti: randomUUID() }, what);

/** What the tested person is asked, and what they allowed. */
const THE_REQUESTS = { open: anAuthorization(), allowed: anAuthorization(), code: aCode() };
/** @param of whose agent asks the person */
function aboutRequests({ task, agentRevision }: TheOne) {
  const { agentId, sponsorKey, sponsor: subject, sessionId } = task;
  const asked = (of = anAuthorization()) => ({
    ...of,
    agentId,
    person: { ...of.person, sponsorKey, subject, sessionId },
  });
  const answer = (request: ReturnType<typeof asked>, code: ReturnType<typeof aCode>) =>
    ({
      request,
      browserHash: request.browserHash,
      client: request.client,
      answer: { kind: 'allow', code },
      agentRevision,
      at: NOON,
      latest: NOON,
    }) as const;
  return { asked, answer, agentRevision, open: asked(THE_REQUESTS.open), allowed: asked(THE_REQUESTS.allowed) };
}

/** Each read or decision of requests at `/oauth2/authorize`, while many others wait. */
const REQUESTS: Readonly<
  Record<string, (decisions: Deciding, authorizations: Authorizations, one: TheOne) => Promise<unknown>>
> = {
  'a request that comes back': async ({ decide }, { countEnds }, one) => {
    const { asked, agentRevision } = aboutRequests(one);
    const ends = await countEnds(one.task.agentId);
    return decide(keepRequest, { authorization: asked(), ends, agentRevision, refuseLoggedOut: { earliest: NOON } });
  },
  'the answer to a request': ({ decide }, _, one) => {
    const { open, answer } = aboutRequests(one);
    return decide(answerRequest, answer(open, aCode()));
  },
  'a code that is redeemed': ({ decide }, _, one) => {
    const { requestId, audience } = THE_REQUESTS.allowed;
    const { hash, scope, taskEndsAt: expiresAt, taskId } = THE_REQUESTS.code;
    const task = { ...one.task, taskId, audience, scope, expiresAt };
    const opening = { ...one, task, grantHash: randomUUID(), assertion: undefined };
    return decide(openTask, { ...opening, code: { requestId, hash, rotation: 'first' } });
  },
  'a request by its id': (_, { find }) => find(THE_REQUESTS.open.requestId),
  'a request by its code': (_, { findByCode }) => findByCode(THE_REQUESTS.code.hash),
};

const CHILD = `task_${'Z'.repeat(26)}` as TaskId;

/** A task delegated from the tested one, and what is decided about the two. @param changes for a task that is stored */
function aTaskBelow(one: TheOne, changes: Partial<TheOne['task']> = {}) {
  const { agentId, sponsorKey, sponsor } = one.task;
  const agent = { ...anAgent(), agentId, revision: one.agentRevision };
  return aChildOpening(agent, one, { sponsorKey, sponsor, createdAt: NOON, ...changes });
}
const linksOf = (one: TheOne) => aTaskBelow(one).delegation?.ancestors ?? [];

/** Each read or decision of delegated tasks, while many others are live. */
const DELEGATION: Readonly<Record<string, (decisions: Deciding, tasks: Tasks, one: TheOne) => Promise<unknown>>> = {
  'an offer': ({ decide }, _, one) => {
    const [parent, ...above] = linksOf(one);
    if (parent === undefined) throw new Error('no task above');
    const { taskId, sponsorKey, scope, agentId } = one.task;
    const assertion = anAssertion(agentId);
    const entry = { ...one.entry, at: NOON, event: 'delegation.offered' } as const;
    const of = { taskId, sponsorKey, scope, assertion, entry, maxChildren: 1000 };
    return decide(offerDelegation, { ...of, ancestors: [parent, ...above] });
  },
  'a take-up': ({ decide }, _, one) => decide(openTask, aTaskBelow(one)),
  'a renewal of a delegated task': ({ decide }, _, one) => {
    const below = { ...aTaskBelow(one, { taskId: CHILD }), grantHash: `grant-${CHILD}` };
    return decide(renewGrant, aRenewal(below, { ancestors: linksOf(one) }));
  },
  'the tasks above one': (_, { chain }) => chain(CHILD),
};

const PAGE = { after: undefined, limit: 101, now: AT };
/** Each list, and how many entries it has: the tested task has a delegated one. */
const LISTS: Readonly<
  Record<string, readonly [list: (tasks: Tasks, one: TheOne) => Promise<readonly unknown[]>, length: number]>
> = {
  'the list of a person': [(tasks, { task: { sponsorKey } }) => tasks.ofSponsor(sponsorKey, PAGE), 2],
  'the agents of a person': [(tasks, { task: { sponsorKey } }) => tasks.agentsOfSponsor(sponsorKey, AT), 1],
  'the live tasks of a person': [(tasks, { task: { sponsorKey } }) => tasks.liveOfSponsor(sponsorKey, PAGE), 2],
  'the live tasks of an agent for a person': [
    (tasks, { task: { sponsorKey, agentId } }) => tasks.liveOfSponsor(sponsorKey, { ...PAGE, agentId }),
    2,
  ],
  'tasks of a person by their ids': [
    (tasks, { task: { sponsorKey, taskId } }) => tasks.ofSponsorById(sponsorKey, { taskIds: [taskId], now: AT }),
    1,
  ],
  'the ended tasks of a person': [(tasks, { task: { sponsorKey } }) => tasks.endedOfSponsor(sponsorKey, PAGE), 0],
};

const TASKS = ['tasks', 'task_grants', 'authorizations'];
const OF_REQUESTS = [...TASKS, 'authorization_ends', 'agents'];
const USERS = ['provisioned_users'];
const OF_APPROVALS = [...TASKS, 'approvals', 'agents'];
/** The only decision that reads a whole table: it counts the users. */
const COUNTS_USERS = 'a write of a provisioned user';
/** The beginning of an insert into each table. The nth row may be deleted n seconds after `at`. */
const REMEMBERED = {
  authorizations: `select 'request-' || n, 'browser', 'agent_' || n, 'public', 'https://client.example/', null, 'challenge',
    'https://jira.example', 'read', 'read', 'read', null, 'person-' || n, 'person-' || n, 'other-' || n, null, null, ${at}, ${at},
    ${at}, 'open', null, null, null, null, null, null, null, `,
  authorization_ends: "select 'agent', 'agent_' || n, 1, 'agent_disabled', ",
  spent_assertions: "select 'agent', 'jti-' || n, ",
  revoked_tokens: `select 'tok_' || n, 'task', ${at}, 'client_revoked', `,
  accepted_signals: "select 'ssf', 'issuer', 'jti-' || n, ",
  logouts: `select 'person', 'person-' || n, ${at}, `,
  sessions: `select 'hash-' || n, 'me', 'i', 'person-' || n, 'ada', '', 'sid-' || n, ${at}, ${at}, ${at}, `,
};

/** Every statement runs often enough to have a cached plan. */
const PREPARATION_LIMIT_MS = 120_000;

const EARLIEST = { 'cached from the first execution': 'force_generic_plan' };
/** The short run has the plans that know least: they were made for one task. */
const KEPT = byLength<Readonly<Record<string, string>>>({
  short: EARLIEST,
  full: { 'cached if Postgres estimates them as good enough': 'auto', ...EARLIEST },
});
for (const [where, mode] of Object.entries(KEPT)) {
  describe(`a few rows of a large table on Postgres, with plans ${where}`, () => {
    let database: FreshDatabase;
    let storage: Storage;
    let outside: OutsideConnection;
    let client: pg.Client;
    let theOne: TheOne;
    let measured: { rows: number; scans: number; answer: unknown };
    /** Each transaction counts the rows read from `tables`, runs `query` at its end, and is rolled back. */
    let asked: { tables: readonly string[]; query: string };
    let decisions: Deciding;
    let sweeping: Sweeping;
    let tasks: Tasks;
    let approvals: Approvals;
    let authorizations: Authorizations;

    before(async function () {
      this.timeout(PREPARATION_LIMIT_MS);
      database = await freshDatabase('postgres');
      storage = await database.open();
      const connection = await database.outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      outside = connection;
      theOne = await openedTask(storage, { sessionId: 'the-one' });
      await storage.decide(askApproval, aRequest(theOne, 'waiting'));
      const { open, allowed, answer, agentRevision } = aboutRequests(theOne);
      const ends = await storage.authorizations.countEnds(theOne.task.agentId);
      for (const authorization of [open, allowed]) {
        await storage.decide(keepRequest, { authorization, ends, agentRevision });
      }
      await storage.decide(answerRequest, answer(allowed, THE_REQUESTS.code));
      const owner = await database.outside?.('owner');
      for (const table of [...OF_APPROVALS, ...USERS, ...Object.keys(REMEMBERED)]) {
        await owner?.sql(`alter table ${table} set (autovacuum_enabled = off)`);
      }
      await owner?.sql('analyze');
      await owner?.close();
      client = new pg.Client({
        connectionString: String(database.settings['Service:Database:ConnectionString']),
        types: columnTypes,
      });
      await client.connect();
      await client.query(`set plan_cache_mode = ${mode}; set time zone 'UTC'; set datestyle to 'ISO'`);
      const run: Run = async <Row>(query: Parameters<Run>[0], values: Parameters<Run>[1] = []) => {
        const result = await client.query({ name: query.name ?? '', text: query.text, values: [...values] });
        return { rows: result.rows as Row[], count: result.rowCount ?? 0 };
      };
      const transact = async <Answer>(work: (run: Run) => Promise<Answer>) => {
        await client.query(BEGIN);
        const before = await counted();
        const answer = await work(run);
        const after = await counted();
        const { rows } = await client.query(asked.query);
        await client.query('rollback');
        measured = { rows: after.rows - before.rows, scans: after.scans - before.scans, answer: rows };
        return answer;
      };
      const readThenWrite: Connections['readThenWrite'] = (read, write) =>
        transact(async (inTransaction) => {
          const facts = await read(inTransaction);
          const sent: Promise<unknown>[] = [];
          const answer = write(({ query, values }) => sent.push(inTransaction(query, values)), facts);
          await Promise.all(sent);
          return answer;
        });
      const connections = {
        run,
        transact,
        readTogether: transact,
        readThenWrite,
        line: () => ({}) as never,
        close: async () => undefined,
      };
      decisions = postgresDecisions({
        own: connections,
        operator: connections,
        person: connections,
        provider: connections,
        writeMessage: async () => undefined,
      });
      sweeping = sweepingOf(postgresChange(connections), postgresFreeing);
      tasks = tasksOf(postgresAsk(connections, 1000));
      approvals = approvalsOf(postgresAsk(connections, 1000));
      authorizations = authorizationsOf(postgresAsk(connections, 1000));
      asked = { tables: TASKS, query: 'select 1' };
      const acts = [
        ...Object.values(ENDINGS).map((end) => () => end(decisions, theOne)),
        ...Object.values(SWEEPING).map(
          ([sweep]) =>
            () =>
              sweep(decisions),
        ),
        ...Object.values(LISTS).map(
          ([list]) =>
            () =>
              list(tasks, theOne),
        ),
        ...Object.values(DELEGATION).map((act) => () => act(decisions, tasks, theOne)),
        ...Object.values(APPROVALS).map((act) => () => act(decisions, approvals, theOne)),
        ...Object.values(REQUESTS).map((act) => () => act(decisions, authorizations, theOne)),
        () => decisions.decide(deleteEndedTasks, { endedBy: LATER, limit: 100 }),
        () => sweeping.forget(plusSeconds(AT, 5), 100),
        () => decisions.decide(endSomeTasks, { limit: SOME, ...KILL }),
      ];
      for (const act of acts) for (let time = 0; time < OFTEN; time++) await act();
      await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
        jsonb_populate_record(t, jsonb_build_object('task_id', 'task_' || lpad(n::text, 26, '0'), 'agent_id', 'agent_' || n,
          'session_id', 'other-' || n, 'sponsor', 'person-' || n, 'sponsor_key', 'person-' || n,
          'parent_task_id', 'task_' || lpad((n - 1)::text, 26, '0'), 'expires_at', t.expires_at + interval '2 days')) copy`);
      await outside.sql(`insert into tasks select copy.* from tasks t,
        jsonb_populate_record(t, jsonb_build_object('task_id', '${CHILD}', 'parent_task_id', t.task_id)) copy
        where t.task_id = '${theOne.task.taskId}'`);
      await outside.sql(`insert into task_grants (grant_hash, task_id, scope)
        select 'grant-' || task_id, task_id, scope from tasks where task_id <> '${theOne.task.taskId}'`);
      await outside.sql(`insert into approvals select copy.* from approvals v, tasks t,
        jsonb_populate_record(v, jsonb_build_object('approval_id', 'approval of ' || t.task_id, 'task_id', t.task_id,
          'sponsor_key', t.sponsor_key)) copy where t.sponsor_key like 'person-%'`);
      await outside.sql(`insert into provisioned_users
        select 'user-' || n, 'User ' || n, 'user ' || n, null, true, 'person-' || n, 1, ${at}, ${at} from generate_series(1, ${LIVE}) n`);
      for (const [table, row] of Object.entries(REMEMBERED)) {
        await outside.sql(
          `insert into ${table} ${row} ${at} + n * interval '1 second' from generate_series(1, ${LIVE}) n`,
        );
      }
    });
    // A read outside of a transaction is not measured, and must not pass with the rows of another test.
    beforeEach(() => {
      measured = { rows: Number.NaN, scans: Number.NaN, answer: undefined };
    });
    after(async () => {
      await client.end();
      await outside.close();
      await storage.close();
      await database.drop();
    });

    async function counted() {
      const named = asked.tables.map((table) => `'${table}'::regclass`).join();
      // The counts include earlier transactions that Postgres has not reported yet. The list of archived months has a row a month.
      const { rows } = await client.query(`select
          sum(seq_tup_read + idx_tup_fetch) filter (where relid in (${named}))::integer as rows,
          sum(seq_scan) filter (where relname <> 'ledger_archives')::integer as scans
        from pg_stat_xact_user_tables`);
      return { rows: Number(rows[0]?.rows), scans: Number(rows[0]?.scans) };
    }
    const stateOf = () => `select state from tasks where task_id = '${theOne.task.taskId}'`;

    for (const [what, end] of Object.entries(ENDINGS)) {
      it(`are read by ${what}, not all live tasks`, async () => {
        asked = { tables: TASKS, query: stateOf() };
        await end(decisions, theOne);
        expect(measured.answer).to.deep.equal([{ state: 'revoked' }]);
        expect(measured.rows).to.be.at.most(FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    it('are read by a revocation by grant in a batch, not all live tasks', async () => {
      asked = { tables: TASKS, query: `select state from tasks where task_id = '${CHILD}'` };
      const { sponsorKey, agentId } = theOne.task;
      const revocation = { at: AT, reason: 'client_revoked', sponsorKey, assertion: anAssertion(agentId) } as const;
      // No task was delegated from this one, so the decision does not leave its batch.
      await decisions.decide(revokeGrant, { ...revocation, taskId: CHILD });
      expect(measured.answer).to.deep.equal([{ state: 'revoked' }]);
      expect(measured.rows).to.be.at.most(FEW);
      expect(measured.scans).to.equal(0);
    });

    for (const [what, end] of Object.entries(ENDINGS)) {
      const counts = what === COUNTS_USERS;
      it(`are read from the provisioned users by ${what}${counts ? ', which also counts all users' : ''}`, async () => {
        asked = { tables: USERS, query: stateOf() };
        await end(decisions, theOne);
        expect(measured.rows).to.be.within(counts ? LIVE : 0, (counts ? LIVE : 0) + FEW);
      });
    }

    for (const [what, [sweep, leaves]] of Object.entries(SWEEPING)) {
      it(`are read by ${what}, not all live tasks`, async () => {
        asked = { tables: TASKS, query: stateOf() };
        await sweep(decisions);
        expect(measured.answer).to.deep.equal(leaves);
        expect(measured.rows).to.be.at.most(FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    for (const [what, act] of Object.entries(APPROVALS)) {
      it(`are read for ${what}, not all that wait`, async () => {
        asked = { tables: OF_APPROVALS, query: 'select 1' };
        await act(decisions, approvals, theOne);
        expect(measured.rows).to.be.within(what === 'an expiry of approvals' ? 0 : 1, FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    for (const [what, act] of Object.entries(REQUESTS)) {
      it(`are read for ${what}, not all that wait`, async () => {
        asked = { tables: OF_REQUESTS, query: 'select 1' };
        await act(decisions, authorizations, theOne);
        expect(measured.rows).to.be.within(1, FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    for (const [what, act] of Object.entries(DELEGATION)) {
      it(`are read for ${what}, not all live tasks, and none of those below that have ended`, async () => {
        await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
          jsonb_populate_record(t, jsonb_build_object('task_id', 'task_E' || lpad(n::text, 25, '0'), 'sponsor_key', 'ended',
            'parent_task_id', t.task_id, 'state', 'expired', 'ended_at', t.expires_at)) copy
          where t.task_id = '${theOne.task.taskId}'`);
        asked = { tables: OF_REQUESTS, query: 'select 1' };
        const verdict = await act(decisions, tasks, theOne);
        await outside.sql("delete from tasks where sponsor_key = 'ended'");
        const done = Array.isArray(verdict)
          ? verdict.map(({ task }) => task.taskId)
          : (verdict as { kind: string }).kind;
        expect(done).to.be.deep.oneOf(['offered', 'opened', 'renewed', [CHILD, theOne.task.taskId]]);
        expect(measured.rows).to.be.within(1, FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    it('are read for the page of a person whatever the statistics: no index of all people’s open approvals has them', async () => {
      const text = waitingApprovals.text;
      const query = typeof text === 'string' ? text : text(postgres, { sponsorKey: theOne.task.sponsorKey, now: NOON });
      const owner = await database.outside?.('owner');
      await owner?.sql('begin; set local enable_seqscan = off; drop index approvals_waiting');
      const plan = await owner?.sql(`explain ${query.replace(':sponsor_key', "'p'").replace(':now', 'now()')}`);
      await owner?.sql('rollback');
      await owner?.close();
      expect(JSON.stringify(plan)).to.include(' on approvals').and.not.include('approvals_open');
    });

    for (const [what, [list, length]] of Object.entries(LISTS)) {
      it(`are read for ${what}, not all live tasks`, async () => {
        asked = { tables: TASKS, query: 'select 1' };
        const listed = await list(tasks, theOne);
        expect(listed).to.have.lengthOf(length);
        expect(measured.rows).to.be.at.most(FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    it('are read for a page of a person with many ended tasks, not all of these', async () => {
      const sponsorKey = 'person-of-many' as SponsorKey;
      await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
        jsonb_populate_record(t, jsonb_build_object('task_id', 'task_M' || lpad(n::text, 25, '0'), 'sponsor_key', '${sponsorKey}',
          'parent_task_id', null, 'state', 'expired', 'ended_at', t.created_at + n * interval '1 second')) copy
        where t.task_id = '${theOne.task.taskId}'`);
      asked = { tables: TASKS, query: 'select 1' };
      const first = await tasks.ofSponsor(sponsorKey, { after: undefined, limit: 5, now: AT });
      const after = first.at(-1);
      const next = await tasks.ofSponsor(sponsorKey, { after, limit: 5, now: AT });
      const whole = { ...measured };
      const ended = await tasks.endedOfSponsor(sponsorKey, { after, limit: 5, now: AT });
      await outside.sql(`delete from tasks where sponsor_key = '${sponsorKey}'`);
      const numbers = [...first, ...next].map(({ taskId }) => LIVE - Number(taskId.slice(-5)));
      expect(numbers).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(ended).to.deep.equal(next);
      for (const { rows, scans } of [whole, measured]) {
        expect(rows).to.be.at.most(FEW);
        expect(scans).to.equal(0);
      }
    });

    it('are read to find no task without a session beside many of the person’s sessions', async () => {
      const subject = 'a-person-of-many';
      await outside.sql(`insert into tasks select copy.* from tasks t, generate_series(1, ${LIVE}) n,
        jsonb_populate_record(t, jsonb_build_object('task_id', 'task_S' || lpad(n::text, 25, '0'), 'sponsor', '${subject}',
          'session_id', 'session-' || n, 'parent_task_id', null)) copy
        where t.task_id = '${theOne.task.taskId}'`);
      asked = { tables: TASKS, query: 'select 1' };
      const loggedOut = { kind: 'session', sessionId: 'unknown', subject } as const;
      const verdict = await decisions.decide(logOut, { ...signal(), loggedOut });
      await outside.sql(`delete from tasks where sponsor = '${subject}'`);
      expect(verdict).to.deep.equal({ kind: 'accepted', revokedTasks: 0 });
      expect(measured.rows).to.be.at.most(FEW);
      expect(measured.scans).to.equal(0);
    });

    it('are read to delete ended tasks, not all live tasks', async () => {
      asked = { tables: TASKS, query: 'select 1' };
      await decisions.decide(deleteEndedTasks, { endedBy: LATER, limit: 100 });
      expect(measured.rows).to.be.at.most(FEW);
      expect(measured.scans).to.equal(0);
    });

    it('are read from the logouts to check a subject token', async () => {
      asked = { tables: ['logouts'], query: 'select 1' };
      const agent = await storage.agents.find(theOne.task.agentId);
      if (agent === undefined) throw new Error('the agent is gone');
      const opening = anOpening(agent, { sponsor: 'person-7', sessionId: 'no-session', createdAt: AT });
      const verdict = await decisions.decide(openTask, { ...opening, refuseLoggedOut: { issuedAt: AT, earliest: AT } });
      expect(verdict).to.deep.equal({ kind: 'logged_out' });
      expect(measured.rows).to.be.at.most(FEW);
      expect(measured.scans).to.equal(0);
    });

    it('are read from the sessions when a logout closes some', async () => {
      asked = { tables: ['sessions'], query: 'select 1' };
      const closes = { me: { statedAt: AT, forgetAt: LATER } };
      for (const loggedOut of [
        { kind: 'session', sessionId: 'sid-7', subject: 'person-7' } as const,
        { kind: 'person', subject: 'person-7' } as const,
      ]) {
        await decisions.decide(logOut, { ...signal(), keepsTasks: true, closes, loggedOut });
        expect(measured.rows).to.be.at.most(FEW);
        expect(measured.scans).to.equal(0);
      }
    });

    for (const table of Object.keys(REMEMBERED)) {
      it(`are read from ${table} to delete expired rows, not the whole table`, async () => {
        const until = table === 'sessions' ? 'expires_at' : 'forget_at';
        const query = `select count(*)::integer as left from ${table} where ${until} > ${at} and ${until} <= ${at} + interval '10 seconds'`;
        asked = { tables: [table], query };
        await sweeping.forget(plusSeconds(AT, 5), 100);
        expect(measured.answer).to.deep.equal([{ left: 5 }]);
        expect(measured.rows).to.be.at.most(FEW);
        expect(measured.scans).to.equal(0);
      });
    }

    it('are read by the end of some tasks, not all live tasks', async () => {
      // Tasks that have ended come first in the order of ids.
      const ended = `task_${String(LIVE - 100).padStart(26, '0')}`;
      await outside.sql(`update tasks set parent_task_id = null, state = case when task_id < '${ended}' then 'expired' else state end,
        ended_at = case when task_id < '${ended}' then expires_at end where agent_id like 'agent\\_%'`);
      asked = { tables: TASKS, query: `select count(*)::integer as ended from tasks where state = 'revoked'` };
      await decisions.decide(endSomeTasks, { limit: SOME, ...KILL });
      expect(measured.answer).to.deep.equal([{ ended: SOME }]);
      expect(measured.rows).to.be.at.most(SOME * FEW);
      expect(measured.scans).to.equal(0);
    });
  });
}
