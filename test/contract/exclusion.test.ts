/**
 * Pairs of decisions that exclude each other, derived from their locks and from the rows that their facts lock: the
 * second waits for the first and sees all its writes, so the two end as they would one after the other. On Postgres each
 * runs in another process. test/application/decisions has the locks of each decision.
 */

import { expect } from 'chai';
import type { Questions } from '../../application/decisions/fact.ts';
import { exclusive, LOCK_ORDER, type Lock } from '../../application/decisions/lock.ts';
import { connectOutside, type OutsideConnection } from '../support/databases.ts';
import { byLength } from '../support/length.ts';
import type { Storage } from '../support/storage.ts';
import { lockAppends } from './append-lock.ts';
import type { Row } from './decision-row.ts';
import { everyDecision } from './every-decision.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { recordsAfter } from './storage-fixtures.ts';
import { aWorld, store, type World } from './world.ts';

/** How many callers decide the same at once. */
const CALLERS = byLength({ short: 4, full: 20 });
const ROUNDS = repetitions(1, 20);

type Options = Parameters<typeof aWorld>[0];

/** The locks of the decision with a new input, and the rows that its facts lock (application/decisions/lock.ts). */
function locksOf({ decision, input }: Row, world: World): readonly Lock[] {
  const given = input(world);
  const asked = Object.values(decision.asks(given) satisfies Questions).flat();
  const { live, child, session, sessionId } = world;
  const rows = asked.flatMap((question) => {
    if (question?.fact === 'sessions') {
      const { which } = question.about;
      // Of another session of the provider no row of the world is locked.
      if (which.kind === 'session' && which.sessionId !== sessionId) return [];
      return [exclusive('session', `row ${session.sessionHash}`)];
    }
    if (question?.fact !== 'live_tasks' && question?.fact !== 'some_live_tasks') return [];
    const selection = 'selection' in question.about ? question.about.selection : undefined;
    if (selection?.kind === 'session_or_none' && selection.sessionId !== sessionId) return [];
    const isOfChild = selection?.kind === 'task' && selection.taskId === child.task.taskId;
    return (isOfChild ? [child] : [live, child]).flatMap(({ task, grantHash }) => [
      exclusive('task', task.taskId),
      exclusive('grant', grantHash),
    ]);
  });
  return [...decision.locks(given), ...rows];
}

function excludes(one: readonly Lock[], other: readonly Lock[]): readonly Lock[] {
  return one.filter(({ on, key, mode }) =>
    other.some((lock) => lock.on === on && lock.key === key && [lock.mode, mode].includes('exclusive')),
  );
}

interface Pair {
  readonly title: string;
  readonly options: Options;
  readonly first: Row;
  readonly second: Row;
  /** The classes of the locks that exclude one of the two. */
  readonly classes: ReadonlySet<Lock['on']>;
}

function pairsIn(options: Options, world = ''): readonly Pair[] {
  const values = aWorld(options);
  // Two exchanges of one row carry two assertions, so each place in the pair has its own input and its own locks.
  const inPlace = () =>
    Object.entries(everyDecision).map(([title, row]) => ({ title, row, locks: locksOf(row, values) }));
  const seconds = inPlace();
  return inPlace().flatMap((one) =>
    seconds.flatMap((other): readonly Pair[] => {
      const classes = new Set(excludes(one.locks, other.locks).map(({ on }) => on));
      const title = `${one.title}, then ${other.title}${world}`;
      return classes.size === 0 ? [] : [{ title, options, first: one.row, second: other.row, classes }];
    }),
  );
}

const plain = pairsIn({});

/** The pairs that this class of locks excludes, and excludes in no plain world. */
function onlyBy(on: Lock['on'], pairs: readonly Pair[]): readonly Pair[] {
  const byIt = plain.filter(({ classes }) => classes.has(on));
  return pairs.filter(
    ({ first, second, classes }) =>
      classes.has(on) && !byIt.some((pair) => pair.first === first && pair.second === second),
  );
}

const all = [
  ...plain,
  ...onlyBy('sponsor', pairsIn({ subIsKey: true }, ', of a person whose sub is the sponsor key')),
  ...onlyBy('assertion', pairsIn({ oneAssertion: true }, ', with the same assertion')),
];

/** Other decisions end the tasks that these open or renew. */
const OPENING: readonly string[] = ['open_task', 'renew_grant', 'open_session'];
const opens = ({ decision }: Row) => OPENING.includes(decision.name);
const ROWS = Object.values(everyDecision);
const REQUESTS: readonly (Row | undefined)[] = [
  everyDecision['an exchange'],
  everyDecision['a refresh'],
  everyDecision['a sign-in'],
];
const isOfRequest = ({ first, second }: Pair) => REQUESTS.includes(first) && !opens(second);

/** One pair of each two decisions. If one of them opens something: in each order, one for each combination of locks. */
function byLocks({ first, second, classes }: Pair): string {
  const names = [first, second].map(({ decision }) => decision.name);
  const isOrdered = opens(first) || opens(second);
  return (isOrdered ? [...names, ...[...classes].sort()] : names.sort()).join();
}

/** Each decision first once for each combination of locks, and second once. Of each pair with an exchange, one order. */
function shortOf(pairs: readonly Pair[]): readonly Pair[] {
  const withLocks = (row: Row, { classes }: Pair) => [row.decision.name, ...[...classes].sort()].join();
  const exchange = everyDecision['an exchange']?.decision;
  const other = ({ first, second }: Pair) => (first.decision === exchange ? second : first).decision.name;
  const ofExchange = pairs.filter(({ first, second }) => [first.decision, second.decision].includes(exchange as never));
  return [
    ...new Set([
      ...oneOfEach(pairs, (pair) => withLocks(pair.first, pair)),
      ...oneOfEach(pairs, ({ second }) => second.decision.name),
      ...oneOfEach(ofExchange, other),
    ]),
  ];
}

function oneOfEach(pairs: readonly Pair[], what: (pair: Pair) => string): readonly Pair[] {
  const several = pairs.filter(({ first, second }) => first !== second);
  return [...new Map(several.toReversed().map((pair) => [what(pair), pair])).values()];
}

interface Outcome {
  readonly verdicts: readonly string[];
  /** Event, reason, count and person of each record, in order. */
  readonly records: readonly string[];
}

onEveryDatabase('decisions that exclude each other', ({ storage, database, kind }) => {
  /** SQLite runs one writing transaction at a time: one pair for each first decision is enough. */
  const hasLocks = kind.engine === 'postgres';
  const some = hasLocks ? shortOf(oneOfEach(all, byLocks)) : oneOfEach(all, ({ first }) => first.decision.name);
  let other: Storage;
  let connection: OutsideConnection;
  before(async () => {
    // SQLite does not order the decisions of two processes.
    other = hasLocks ? await database().open() : storage();
    connection = await connectOutside(database());
  });
  after(async () => {
    await connection.close();
    if (other !== storage()) await other.close();
  });

  async function prepared({ options, first, second }: Pair) {
    const world = aWorld(options);
    await store(storage(), world, connection, [...first.parts, ...second.parts]);
    const deciding = (process: Storage, { decision, input }: Row) => {
      const given = input(world);
      return () => process.decide(decision, given);
    };
    const before = await storage().ledger.settledThrough();
    const outcome = async (verdicts: readonly unknown[]): Promise<Outcome> => {
      const records = await recordsAfter(storage(), before);
      const named = records.map(({ event, reason, count, sponsor }) =>
        world.anonymous([event, reason, count, sponsor]),
      );
      return { verdicts: verdicts.map(world.anonymous), records: named };
    };
    return { one: deciding(storage(), first), two: deciding(other, second), outcome, deciding };
  }

  const known = new Map<string, ReturnType<typeof decideSerially>>();

  /** Runs the second after the first, once for each pair. Also returns the number of records of the first. */
  function serially(pair: Pair): ReturnType<typeof decideSerially> {
    const name = [pair.first, pair.second].map((row) => ROWS.indexOf(row)).join() + JSON.stringify(pair.options);
    const run = known.get(name) ?? decideSerially(pair);
    known.set(name, run);
    return run;
  }

  async function decideSerially(pair: Pair): Promise<readonly [Outcome, number]> {
    const { one, two, outcome } = await prepared(pair);
    const first = await one();
    const { records } = await outcome([]);
    return [await outcome([first, await two()]), records.length];
  }

  /** Starts the second once the first holds its locks and waits for the ledger's fence. */
  async function secondWaits(pair: Pair): Promise<Outcome> {
    const { one, two, outcome } = await prepared(pair);
    const lock = await lockAppends(kind, connection);
    const first = one();
    await lock.untilWaiting(1);
    const second = two();
    await lock.untilBlocked(2);
    await lock.release();
    return outcome(await Promise.all([first, second]));
  }

  /** Starts both at once. They must end as in one of the two orders. */
  async function race(pair: Pair, inOrder: Outcome, rounds = 1): Promise<void> {
    const [reversed] = await serially({ ...pair, first: pair.second, second: pair.first });
    for (let round = 0; round < rounds; round++) {
      const { one, two, outcome } = await prepared(pair);
      const { verdicts, records } = await outcome(await Promise.all([one(), two()]));
      expect([verdicts, records.toSorted()]).to.deep.be.oneOf([
        [inOrder.verdicts, inOrder.records.toSorted()],
        [reversed.verdicts.toReversed(), reversed.records.toSorted()],
      ]);
    }
  }

  for (const pair of byLength({ short: some, full: all })) {
    it(`wait for each other: ${pair.title}`, async () => {
      const [inOrder, recorded] = await serially(pair);
      if (recorded > 0) expect(await secondWaits(pair)).to.deep.equal(inOrder);
      // A decision without a record does not wait for the fence, so it cannot be held while it has its locks.
      else await race(pair, inOrder);
    });
  }

  // The pairs above show which decisions wait. At once, one of each decision with a request is enough.
  const requests = hasLocks ? oneOfEach(plain.filter(isOfRequest), ({ second }) => second.decision.name) : [];
  for (const pair of byLength({ short: requests, full: all })) {
    it(`race: ${pair.title}`, async function () {
      this.timeout(30_000 + ROUNDS * 1_000);
      const [inOrder] = await serially(pair);
      await race(pair, inOrder, ROUNDS);
    });
  }

  const twice = all.filter(({ first, second }) => first === second);
  const ofEach = ({ first, classes }: Pair) => [first.decision.name, ...(hasLocks ? [...classes].sort() : [])].join();
  const someTwice = [...new Map(twice.toReversed().map((pair) => [ofEach(pair), pair])).values()];
  for (const pair of byLength({ short: someTwice, full: twice })) {
    it(`serve ${CALLERS} concurrent callers as if one came first: ${pair.title}`, async () => {
      const [{ verdicts, records }, recorded] = await serially(pair);
      const repeated = <Each>([of, ...more]: readonly Each[]) => [
        of,
        ...Array.from({ length: CALLERS - 1 }, () => more).flat(),
      ];
      const { deciding, outcome } = await prepared(pair);
      const callers = Array.from({ length: CALLERS }, (_, nth) => deciding(nth % 2 ? other : storage(), pair.first));
      const actual = await outcome(await Promise.all(callers.map((decide) => decide())));
      expect(actual.verdicts.toSorted()).to.deep.equal(repeated(verdicts).toSorted());
      const ofFirst = records.slice(0, recorded);
      const ofOthers = Array.from({ length: CALLERS - 1 }, () => records.slice(recorded)).flat();
      expect(actual.records.toSorted()).to.deep.equal([...ofFirst, ...ofOthers].toSorted());
    });
  }
});

describe('The pairs of decisions that exclude each other', () => {
  it('include one for each class of locks', () => {
    expect(new Set(all.flatMap(({ classes }) => [...classes]))).to.deep.equal(new Set(LOCK_ORDER));
  });
});
