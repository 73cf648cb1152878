/**
 * Runs decisions on Postgres (docs/decisions/0017-lock-read-judge-write.md): locks, reads, judges and writes. The
 * statements of each step begin after the step before. Under READ COMMITTED they see every commit that a lock waited for.
 */

import type { Decision, TransactionUse } from '../../../application/decisions/decision.ts';
import { change, type Effect } from '../../../application/decisions/effect.ts';
import type { Answer, AssertionName, Question, Questions } from '../../../application/decisions/fact.ts';
import type { Lock } from '../../../application/decisions/lock.ts';
import { type Decisions, StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { StatusReference } from '../../../domain/tasks/status-list.ts';
import { type Collector, type CollectorOptions, collector, type Use } from '../collector.ts';
import type { DecisionOutcomes } from '../decision-outcomes.ts';
import { statementsOf } from './effects.ts';
import { databaseClosed, losesDecision } from './errors.ts';
import { readFacts, readFactsOfBatch } from './facts.ts';
import { keyedLimiter } from './keyed-limiter.ts';
import { type Lateness, lateness, type Waiting as WaitingCall } from './late.ts';
import {
  BATCH_SIZE,
  BATCHED_AT_ONCE,
  BATCHES_UNDER_WAY,
  CONNECTIONS_PER_AGENT,
  CONNECTIONS_PER_PERSON,
  ENDING_LIMIT_MS,
  POOL_SIZE,
  RESERVED_CONNECTIONS,
  REVOKING_SHARES,
  SERVING_LIMITS,
} from './limits.ts';
import { lockStatements, tryLocks } from './locks.ts';
import type { Connections, Run, Statement, Transactions } from './pool/pool.ts';

interface PostgresDecisions extends Decisions {
  /** Refuses waiting and later decisions. Resolves when no batch waits and no decision is under way. */
  close(): Promise<void>;
}

type BatchTransactions = Pick<Connections, 'transact' | 'readThenWrite'>;

/** One set of connections for each use (`TransactionUse`). */
export interface DecidingConnections extends Readonly<Record<Exclude<TransactionUse, 'shared'>, Transactions>> {
  readonly own: BatchTransactions;
  /**
   * Writes to the WAL and to no table. Only the commit of a transaction that wrote waits for the synchronous standby, so an
   * old primary cannot answer a switch with "nothing found" (docs/decisions/0027-a-switch-that-finds-nothing.md).
   */
  writeMessage(run: Run): Promise<void>;
}

/** A decision that waits to run, with its input and the promise of its caller. */
interface Waiting extends WaitingCall {
  readonly use: TransactionUse;
  readonly mayShare: boolean;
  readonly locks: readonly Lock[];
  readonly asks: Questions;
  judge(facts: Readonly<Record<string, unknown>>): { readonly verdict: unknown; readonly effects: readonly Effect[] };
  resolve(verdict: unknown): void;
}

/**
 * @param waitMs the time that a decision may wait for a permit, or for its batch while Postgres does not answer
 * @param runAlone how many decisions of the uses `own` and `shared` may run at once outside of batches
 * @param databaseClock in tests: replaces the clock of the server
 * @param outcomes gets the outcome of each decision
 */
export function postgresDecisions(
  connections: DecidingConnections,
  waitMs: number = SERVING_LIMITS.acquire,
  runAlone: number = POOL_SIZE - RESERVED_CONNECTIONS,
  databaseClock?: Clock,
  outcomes?: Pick<DecisionOutcomes, 'committed' | 'failed'>,
): PostgresDecisions {
  const perAgent = keyedLimiter(CONNECTIONS_PER_AGENT, waitMs);
  const perPerson = keyedLimiter(CONNECTIONS_PER_PERSON, waitMs);
  const inAll = keyedLimiter(Math.max(runAlone, 1), waitMs);
  const underWay = new Set<Promise<void>>();
  let isClosed = false;

  function startAlone(waiting: Waiting): void {
    const run = alone(waiting).finally(() => underWay.delete(run));
    underWay.add(run);
  }

  async function alone(waiting: Waiting): Promise<void> {
    const { use, locks } = waiting;
    try {
      if (use === 'shared' || use === 'own') {
        waiting.resolve(await limited(locks, () => decideInTwoRoundTrips(connections.own, waiting, databaseClock)));
      } else {
        waiting.resolve(
          await connections[use].transact((run) =>
            decideStepByStep(beforeDeadline(run), waiting, databaseClock, connections.writeMessage),
          ),
        );
      }
    } catch (error) {
      waiting.reject(error);
    }
  }

  /** Limits the connections that decisions for one agent or person hold, and leaves some for all others. */
  function limited<Answer>(locks: readonly Lock[], work: () => Promise<Answer>): Promise<Answer> {
    const agent = locks.find(({ on }) => on === 'agent')?.key;
    const person = locks.find(({ on }) => on === 'sponsor')?.key;
    const ofPerson = () =>
      person === undefined ? inAll.run('', work) : perPerson.run(person, () => inAll.run('', work));
    return agent === undefined ? ofPerson() : perAgent.run(agent, ofPerson);
  }

  async function together(collected: readonly Waiting[], late: Lateness, decide: DecideBatch): Promise<void> {
    const batch = late.refuseLate(collected);
    if (batch.length === 0) return;
    try {
      const { verdicts, refused } = await decide(batch);
      late.isAnswering = true;
      for (const [nth, waiting] of batch.entries()) {
        if (refused.has(nth)) startAlone(waiting);
        else waiting.resolve(verdicts[nth]);
      }
    } catch (error) {
      // A decision that may be committed must not run again. One that was alone in its batch would fail again.
      late.isAnswering = !losesDecision(error);
      if (batch.length === 1 || !late.isAnswering) for (const { reject } of batch) reject(error);
      else for (const waiting of batch) startAlone(waiting);
    }
  }

  function batchesOf(
    limits: Pick<CollectorOptions<Waiting>, 'underWay' | 'atOnce'>,
    decide: DecideBatch,
  ): Collector<Waiting> {
    const late = lateness(waitMs);
    const perform = (batch: readonly Waiting[]) => together(batch, late, decide);
    return collector({ ...limits, size: BATCH_SIZE, uses: lockedKeys, perform });
  }

  const batches = batchesOf({ underWay: BATCHES_UNDER_WAY, atOnce: BATCHED_AT_ONCE }, (batch) =>
    connections.own.readThenWrite(
      (run) => lockAndRead(run, batch, databaseClock),
      (send, read) => judgeAndWrite(send, batch, read),
    ),
  );
  const stopsOf = (use: 'operator' | 'person', underWay: number) =>
    batchesOf({ underWay }, (batch) =>
      connections[use].transact((run) =>
        decideBatchStepByStep(beforeDeadline(run), batch, databaseClock, connections.writeMessage),
      ),
    );
  /** Stops of one task. They use the connections of switches, so they never wait for those of requests. */
  const stops = {
    operator: stopsOf('operator', REVOKING_SHARES.operators),
    person: stopsOf('person', REVOKING_SHARES.people),
  };

  return {
    decide: (decision, input) =>
      new Promise((resolve, reject) => {
        if (isClosed) throw databaseClosed();
        const waiting = waitingFor(decision, input, { resolve, reject }, outcomes);
        const { use, mayShare } = waiting;
        if (use === 'shared') batches.submit(waiting);
        else if (mayShare && (use === 'operator' || use === 'person')) stops[use].submit(waiting);
        else startAlone(waiting);
      }),
    async close() {
      isClosed = true;
      for (const limiter of [perAgent, perPerson, inAll]) limiter.close();
      // A batch that is under way may still start decisions alone.
      await Promise.all([batches, stops.operator, stops.person].map(({ drained }) => drained()));
      await Promise.all(underWay);
    },
  };
}

/** @param caller the promise of the caller @param outcomes gets the outcome of the decision */
function waitingFor<Input, Verdict>(
  decision: Decision<Input, Verdict>,
  input: Input,
  caller: { resolve(verdict: Verdict): void; reject(error: unknown): void },
  outcomes: Pick<DecisionOutcomes, 'committed' | 'failed'> | undefined,
): Waiting {
  let hasEffects = false;
  return {
    since: performance.now(),
    use: decision.transaction,
    mayShare: decision.mayShare?.(input) === true,
    locks: decision.locks(input),
    asks: decision.asks(input),
    judge(facts) {
      const judgement = decision.judge(input, facts);
      hasEffects = change(judgement.effects);
      return judgement;
    },
    resolve(verdict) {
      if (hasEffects) outcomes?.committed();
      caller.resolve(verdict as Verdict);
    },
    reject(error) {
      outcomes?.failed(error);
      caller.reject(error);
    },
  };
}

/**
 * Decisions that lock a common key must not run at once, because the later would not see the effects of the earlier.
 * Assertions are an exception: `seeing` shows a decision those that earlier decisions of its batch spent. Therefore copies
 * of one assertion may share a batch.
 */
function lockedKeys({ locks }: Waiting): readonly Use[] {
  return locks.map(({ on, key, mode }) => ({
    key: `${on} ${key}`,
    exclusive: mode === 'exclusive',
    inTurn: on === 'assertion',
  }));
}

/** Runs one decision in its own transaction, and waits for its locks. */
function decideInTwoRoundTrips(
  { readThenWrite }: BatchTransactions,
  decision: Waiting,
  databaseClock: Clock | undefined,
): Promise<unknown> {
  return readThenWrite(
    async (run) => {
      // Sent without waiting, but the questions are read after the locks are taken.
      for (const { query, values } of locksToWaitFor(decision)) void run(query, values);
      const [facts = {}] = await readFacts(run, [decision.asks], databaseClock);
      return facts;
    },
    (send, facts) => {
      const { verdict, effects } = decision.judge(facts);
      for (const statement of statementsOf(effects)) send(statement);
      return verdict;
    },
  );
}

function locksToWaitFor({ locks, asks }: Waiting): readonly Statement[] {
  const questions = Object.values(asks).flat();
  return lockStatements(
    locks,
    questions.some((question) => question?.fact === 'live_tasks'),
  );
}

/** Only a decision that ends very many tasks reaches the deadline. */
function beforeDeadline(run: Run): Run {
  const deadline = performance.now() + ENDING_LIMIT_MS;
  return async (query, values) => {
    if (performance.now() > deadline) throw new StorageUnavailable('There are too many tasks to end');
    return run(query, values);
  };
}

/** Runs one decision on connections without pipeline mode. Waits for each statement. */
async function decideStepByStep(
  run: Run,
  decision: Waiting,
  databaseClock: Clock | undefined,
  writeNothing: DecidingConnections['writeMessage'],
): Promise<unknown> {
  for (const { query, values } of locksToWaitFor(decision)) await run(query, values);
  const [facts = {}] = await readFacts(run, [decision.asks], databaseClock);
  const { verdict, effects } = decision.judge(facts);
  for (const { query, values } of statementsOf(effects)) await run(query, values);
  if (!change(effects)) await writeNothing(run);
  return verdict;
}

/** Runs a batch on connections without pipeline mode. A decision without others to share with waits for its locks. */
async function decideBatchStepByStep(
  run: Run,
  batch: readonly Waiting[],
  databaseClock: Clock | undefined,
  writeNothing: DecidingConnections['writeMessage'],
): Promise<DecidedBatch> {
  const [first, ...others] = batch;
  if (first !== undefined && others.length === 0) {
    return { verdicts: [await decideStepByStep(run, first, databaseClock, writeNothing)], refused: new Set() };
  }
  const read = await lockAndRead(oneByOne(run), batch, databaseClock);
  const statements: Statement[] = [];
  const decided = judgeAndWrite((statement) => statements.push(statement), batch, read);
  for (const { query, values } of statements) await run(query, values);
  if (statements.length === 0) await writeNothing(run);
  return decided;
}

/** Sends each statement after the answer to the one before, and none after one that failed. */
function oneByOne(run: Run): Run {
  let before: Promise<unknown> = Promise.resolve();
  return (query, values) => {
    const answered = before.then(() => run<never>(query, values));
    before = answered;
    return answered;
  };
}

interface DecidedBatch {
  readonly verdicts: readonly unknown[];
  /** The indexes in the batch of the decisions that must run alone. */
  readonly refused: ReadonlySet<number>;
}

type DecideBatch = (batch: readonly Waiting[]) => Promise<DecidedBatch>;

interface Read {
  /** The indexes in the batch of the decisions that did not get their locks. */
  readonly refused: ReadonlySet<number>;
  /** The facts of each decision, at its index in the batch; `undefined` for a decision that must run alone. */
  readonly facts: readonly (Readonly<Record<string, unknown>> | undefined)[];
}

/** Locks and reads for a batch. A decision whose lock another transaction holds is refused, instead of waiting. */
async function lockAndRead(run: Run, batch: readonly Waiting[], databaseClock: Clock | undefined): Promise<Read> {
  const wanted = batch.flatMap(({ locks }, nth) => locks.map((lock) => ({ ...lock, nth })));
  const locking = tryLocks(run, wanted);
  // Sent without waiting, but read after the locks are taken. The facts of refused decisions are not used.
  const reading = readFactsOfBatch(
    run,
    batch.map(({ asks }) => asks),
    databaseClock,
  );
  const [refused, facts] = await Promise.all([locking, reading]);
  return { refused, facts };
}

function judgeAndWrite(
  send: (statement: Statement) => void,
  batch: readonly Waiting[],
  { refused, facts }: Read,
): DecidedBatch {
  const used: Used = { assertions: new Set(), statusIndices: new Set() };
  const alone = new Set(refused);
  const judgements = batch.map(({ judge, asks }, nth) => {
    const read = facts[nth];
    if (read === undefined) alone.add(nth);
    if (read === undefined || refused.has(nth)) return undefined;
    const judgement = judge(seeing(used, asks, read));
    for (const effect of judgement.effects) {
      if (effect.effect === 'spend_assertion') used.assertions.add(nameOf(effect));
      if (effect.effect === 'insert_task' && effect.task.status !== undefined) {
        used.statusIndices.add(indexName(effect.task.status));
      }
    }
    return judgement;
  });
  const written = judgements.map((judgement) => judgement?.effects ?? []);
  // Ends come last: records that Postgres builds and records that the judge wrote are different statements, and alternating
  // would take one for each decision. The order of concurrent decisions is free, that within a decision is kept.
  const [others, ends] = [written.filter((effects) => !endsTasks(effects)), written.filter(endsTasks)];
  for (const statement of statementsOf([...others, ...ends].flat())) send(statement);
  return { verdicts: judgements.map((judgement) => judgement?.verdict), refused: alone };
}

function endsTasks(effects: readonly Effect[]): boolean {
  return effects.some(({ effect }) => effect === 'end_tasks');
}

/** The assertions that decisions of a batch spend, and the indices of status lists that they take. */
interface Used {
  readonly assertions: Set<string>;
  readonly statusIndices: Set<string>;
}

/** The facts of a decision, with what earlier decisions of its batch use. */
function seeing(
  { assertions, statusIndices }: Used,
  asks: Questions,
  facts: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (assertions.size === 0 && statusIndices.size === 0) return facts;
  const isSpent = (question: Question | undefined) =>
    question?.fact === 'assertion_spent' && assertions.has(nameOf(question.about));
  const isUsed = (listId: string) => (index: number) => statusIndices.has(indexName({ listId, index }));
  return Object.fromEntries(
    Object.entries(facts).map(([name, fact]) => {
      const question = asks[name];
      if (isList(question)) {
        return [name, Array.isArray(fact) ? fact.map((one, nth) => isSpent(question[nth]) || one) : fact];
      }
      if (question?.fact === 'taken_status_indices') {
        const { listId, indices } = question.about;
        return [name, [...(fact as Answer<'taken_status_indices'>), ...indices.filter(isUsed(listId))]];
      }
      if (question?.fact === 'status_slot') {
        const slot = fact as Answer<'status_slot'>;
        return [name, slot && { ...slot, free: slot.free.filter((index) => !isUsed(slot.listId)(index)) }];
      }
      return [name, fact];
    }),
  );
}

function isList(asked: Questions[string]): asked is readonly (Question | undefined)[] {
  return Array.isArray(asked);
}

function indexName({ listId, index }: StatusReference): string {
  return `${listId} ${index}`;
}

function nameOf({ agentId, jti }: AssertionName): string {
  return `${agentId} ${jti}`;
}
