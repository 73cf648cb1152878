/** Races on one database: in every order of two decisions, no task outlives its end and no signal is lost. */

import { repetitions } from '../contract/repetitions.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { byLength } from '../support/length.ts';
import type { RegisteredAgent } from '../support/mandate.ts';
import { type Replicas, startReplicas } from '../support/replicas/replicas.ts';
import { ORDERS } from '../support/replicas/request-pairs.ts';
import { nothingIsActiveAfterwards } from './races/afterwards.ts';
import { exchangesThatRaceWithEndings } from './races/exchanges.ts';
import { forcedOrders } from './races/forced-orders.ts';
import { PREPARATION_LIMIT_MS, type RaceSetup } from './races/race-setup.ts';
import { renewalsThatRace } from './races/renewals.ts';
import { writesThatRace } from './races/writes.ts';

/** With fewer rounds, a pair of requests would not be sent in every order. */
const ROUNDS = Math.max(ORDERS, repetitions(ORDERS, 200));
/** Two processes block each other's writes to one SQLite file, so each round takes longer. */
const ROUNDS_ON_ONE_FILE = Math.max(ORDERS, Math.ceil(ROUNDS / 4));
/** Each of the 18 ways to end a task has its turn in the short run: a task takes ten trials. */
const TRIALS = byLength({ short: 180, full: 10_000 });
/** Whether processes that share a file also race in pairs of requests. */
const isWhole = byLength({ short: false, full: true });
/** Few of them, since the processes share only the file. */
const TRIALS_ON_ONE_FILE = byLength({ short: 50, full: 1000 });
const ROUND_LIMIT_MS = 1_000;

for (const database of databases) {
  if (database.engine === 'postgres') {
    describe('Races between three processes on Postgres:', () => {
      const setup = onReplicas(database, 3, ROUNDS);
      everyRace(setup);
      nothingIsActiveAfterwards(setup, TRIALS);
      forcedOrders(setup);
    });
    continue;
  }
  describe(`Races on ${database.name}:`, () => {
    const setup = onReplicas(database, 2, ROUNDS_ON_ONE_FILE);
    // Within one process, test/contract/exclusion.test.ts runs the same pairs at every push.
    describe('between two processes', () => {
      if (isWhole) everyRace(setup);
      nothingIsActiveAfterwards(setup, TRIALS_ON_ONE_FILE);
    });
  });
}

function everyRace(setup: RaceSetup): void {
  exchangesThatRaceWithEndings(setup);
  renewalsThatRace(setup);
  writesThatRace(setup);
}

function onReplicas(kind: TestDatabase, processes: number, times: number): RaceSetup {
  let replicas: Replicas | undefined;
  let agent: RegisteredAgent | undefined;
  before(async function () {
    this.timeout(PREPARATION_LIMIT_MS);
    replicas = await startReplicas(kind, processes);
    agent = await replicas.agent();
  });
  beforeEach(function () {
    this.currentTest?.timeout(PREPARATION_LIMIT_MS + times * ROUND_LIMIT_MS);
  });
  after(async function () {
    this.timeout(PREPARATION_LIMIT_MS);
    await replicas?.stop();
  });
  return { kind, rounds: times, replicas: () => given(replicas), agent: () => given(agent) };
}

function given<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('asked for before the replicas were started');
  return thing;
}
