/**
 * Runs decisions on Postgres (docs/decisions/0017-lock-read-judge-write.md): locks, reads, judges and writes, each step in
 * statements that begin after the step before. READ COMMITTED then shows every commit that a lock waited for.
 */

import type { TransactionUse } from '../../../application/decisions/decision.ts';
import type { Effect } from '../../../application/decisions/effect.ts';
import type { AssertionName, Question, Questions } from '../../../application/decisions/fact.ts';
import type { Lock } from '../../../application/decisions/lock.ts';
import { type Decisions, StorageUnavailable } from '../../../application/ports/decisions.ts';
import { collector, type Use } from '../collector.ts';
import type { Connections, Run, Statement } from './connections.ts';
import { statementsOf } from './effects.ts';
import { databaseClosed, losesDecision } from './errors.ts';
import { readFacts } from './facts.ts';
import { keyedLimiter } from './keyed-limiter.ts';
import { lateness, type Waiting as WaitingCall } from './late.ts';
import {
  BATCH_SIZE,
  BATCHES_UNDER_WAY,
  CONNECTIONS_PER_AGENT,
  CONNECTIONS_PER_PERSON,
  ENDING_LIMIT_MS,
  POOL_SIZE,
  RESERVED_CONNECTIONS,
  SERVING_LIMITS,
} from './limits.ts';
import { takeLocks, tryLocks } from './locks.ts';

export interface PostgresDecisions extends Decisions {
  /**
   * Refuses the decisions that wait for a permit, and all later decisions. Resolves when no batch waits and no decision is
   * under way.
   */
  close(): Promise<void>;
}

export type Transactions = Pick<Connections, 'knex' | 'transact'>;

export type BatchTransactions = Pick<Connections, 'knex' | 'transact' | 'readThenWrite'>;

/** The connections of each use. */
export interface DecidingConnections extends Readonly<Record<Exclude<TransactionUse, 'shared'>, Transactions>> {
  readonly own: BatchTransactions;
}

/** A decision with its input, and its caller. */
interface Waiting extends WaitingCall {
  readonly use: TransactionUse;
  readonly locks: readonly Lock[];
  readonly asks: Questions;
  judge(facts: Readonly<Record<string, unknown>>): { readonly verdict: unknown; readonly effects: readonly Effect[] };
  resolve(verdict: unknown): void;
}

/**
 * @param waitMs the time that a decision may wait for a permit, and for its batch while the server does not answer
 * @param runAlone decisions of `own` that run at once, outside of batches
 */
export function postgresDecisions(
  connections: DecidingConnections,
  waitMs: number = SERVING_LIMITS.acquire,
  runAlone: number = POOL_SIZE - RESERVED_CONNECTIONS,
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
    const { transact, knex } = connections[waiting.use === 'shared' ? 'own' : waiting.use];
    const run = () => transact((statement) => decideOne(statement, knex, waiting));
    const isLimited = waiting.use === 'shared' || waiting.use === 'own';
    try {
      waiting.resolve(isLimited ? await limited(waiting.locks, run) : await run());
    } catch (error) {
      waiting.reject(error);
    }
  }

  /** Decisions that wait for one agent or person hold only some of the connections, and all of them leave some free. */
  function limited<Answer>(locks: readonly Lock[], work: () => Promise<Answer>): Promise<Answer> {
    const agent = locks.find(({ on }) => on === 'agent')?.key;
    const person = locks.find(({ on }) => on === 'sponsor')?.key;
    const ofPerson = () =>
      person === undefined ? inAll.run('', work) : perPerson.run(person, () => inAll.run('', work));
    return agent === undefined ? ofPerson() : perAgent.run(agent, ofPerson);
  }

  const late = lateness(waitMs);

  async function together(collected: readonly Waiting[]): Promise<void> {
    const batch = late.refuseLate(collected);
    if (batch.length === 0) return;
    try {
      const { readThenWrite, knex } = connections.own;
      const { verdicts, refused } = await readThenWrite(
        (run) => lockAndRead(run, batch),
        (send, read) => judgeAndWrite(send, knex, batch, read),
      );
      late.isAnswering = true;
      for (const [nth, waiting] of batch.entries()) {
        if (refused.has(nth)) startAlone(waiting);
        else waiting.resolve(verdicts[nth]);
      }
    } catch (error) {
      // A decision that may have been committed must not run again, and one that was alone would fail again.
      late.isAnswering = !losesDecision(error);
      if (batch.length === 1 || !late.isAnswering) for (const { reject } of batch) reject(error);
      else for (const waiting of batch) startAlone(waiting);
    }
  }

  const batches = collector<Waiting>({
    size: BATCH_SIZE,
    underWay: BATCHES_UNDER_WAY,
    uses: lockedKeys,
    perform: together,
  });

  return {
    decide: (decision, input) =>
      new Promise((resolve, reject) => {
        if (isClosed) throw databaseClosed();
        const waiting: Waiting = {
          since: performance.now(),
          use: decision.transaction,
          locks: decision.locks(input),
          asks: decision.asks(input),
          judge: (facts) => decision.judge(input, facts),
          resolve: resolve as Waiting['resolve'],
          reject,
        };
        if (waiting.use === 'shared') batches.submit(waiting);
        else startAlone(waiting);
      }),
    async close() {
      isClosed = true;
      for (const limiter of [perAgent, perPerson, inAll]) limiter.close();
      // A batch may start decisions that then run alone.
      await batches.drained();
      await Promise.all(underWay);
    },
  };
}

/**
 * Decisions with a common key must not run at once: the later one would not see the effects of the earlier. But within a
 * batch it sees spent assertions (`seeing`), because many copies of one assertion may arrive at once.
 */
function lockedKeys({ locks }: Waiting): readonly Use[] {
  return locks.map(({ on, key, mode }) => ({
    key: `${on} ${key}`,
    exclusive: mode === 'exclusive',
    inTurn: on === 'assertion',
  }));
}

/** Waits for the locks. */
async function decideOne(unlimited: Run, knex: Connections['knex'], decision: Waiting): Promise<unknown> {
  const deadline = performance.now() + ENDING_LIMIT_MS;
  // Only the end of very many tasks takes so long.
  const run: Run = async (query, values) => {
    if (performance.now() > deadline) throw new StorageUnavailable('There are too many tasks to end');
    return unlimited(query, values);
  };
  await takeLocks(run, decision.locks);
  const [facts = {}] = await readFacts(run, [decision.asks]);
  const { verdict, effects } = decision.judge(facts);
  for (const { query, values } of statementsOf(effects, knex)) await run(query, values);
  return verdict;
}

interface Read {
  /** The decisions that did not get their locks, by their number. */
  readonly refused: ReadonlySet<number>;
  /** By the number of the decision. */
  readonly facts: readonly Readonly<Record<string, unknown>>[];
}

/** A decision that would have to wait for a lock is left out. */
async function lockAndRead(run: Run, batch: readonly Waiting[]): Promise<Read> {
  const wanted = batch.flatMap(({ locks }, nth) => locks.map((lock) => ({ ...lock, nth })));
  const locking = tryLocks(run, wanted);
  // Sent at once, but the server reads the facts after it took the locks. Those of a decision that is left out are not used.
  const reading = readFacts(
    run,
    batch.map(({ asks }) => asks),
  );
  const [refused, facts] = await Promise.all([locking, reading]);
  return { refused, facts };
}

function judgeAndWrite(
  send: (statement: Statement) => void,
  knex: Connections['knex'],
  batch: readonly Waiting[],
  { refused, facts }: Read,
): { readonly verdicts: readonly unknown[]; readonly refused: ReadonlySet<number> } {
  const spent = new Set<string>();
  const judgements = batch.map(({ judge, asks }, nth) => {
    if (refused.has(nth)) return undefined;
    const judgement = judge(seeing(spent, asks, facts[nth] ?? {}));
    for (const effect of judgement.effects) if (effect.effect === 'spend_assertion') spent.add(nameOf(effect));
    return judgement;
  });
  const effects = judgements.flatMap((judgement) => judgement?.effects ?? []);
  for (const statement of statementsOf(effects, knex)) send(statement);
  return { verdicts: judgements.map((judgement) => judgement?.verdict), refused };
}

/** The facts of a decision, with the assertions that earlier decisions of its batch spend. */
function seeing(
  spent: ReadonlySet<string>,
  asks: Questions,
  facts: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (spent.size === 0) return facts;
  const isSpent = (question: Question | undefined) =>
    question?.fact === 'assertion_spent' && spent.has(nameOf(question.about));
  return Object.fromEntries(
    Object.entries(facts).map(([name, fact]) => {
      const question = asks[name];
      if (!Array.isArray(fact) || !isList(question)) return [name, fact];
      return [name, fact.map((one, nth) => isSpent(question[nth]) || one)];
    }),
  );
}

function isList(asked: Questions[string]): asked is readonly (Question | undefined)[] {
  return Array.isArray(asked);
}

function nameOf({ agentId, jti }: AssertionName): string {
  return `${agentId} ${jti}`;
}
