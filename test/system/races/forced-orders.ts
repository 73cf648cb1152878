/**
 * Forces both orders of an exchange and an end of its task. A lock on the ledger holds the first decision before its
 * commit, then the second decision starts. SQLite does not show waiting transactions, so test/contract has these cases
 * for SQLite.
 */

import { expect } from 'chai';
import { lockAppends } from '../../contract/append-lock.ts';
import type { Answer } from '../../support/mandate.ts';
import { type Ending, endings } from '../../support/replicas/endings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import { aTarget, exchange, introspect, newTask, type Target } from '../../support/replicas/targets.ts';
import type { RaceSetup } from './race-setup.ts';

export function forcedOrders(setup: RaceSetup): void {
  for (const ending of endings) {
    it(`${ending.name} waits for a concurrent exchange, and ends its task`, async () => {
      const { answers } = await inOrder(setup, async () => {
        const { replicas, target, send } = await prepare(setup, ending);
        return { first: () => exchange(replicas, replicas.at(0), target), second: () => send(replicas.at(1)) };
      });
      const [issued, told] = answers;
      expect(issued.status, issued.text).to.equal(200);
      expect(told.status, told.text).to.be.oneOf([200, 202, 204]);
      await expectEnded(setup, issued, ending);
    });

    it(`an exchange waits for a concurrent decision, and has the verdict of the later one: ${ending.name}`, async () => {
      const { answers, earlier } = await inOrder(setup, async () => {
        const { replicas, target, send } = await prepare(setup, ending);
        const earlier = await newTask(replicas, replicas.at(0), target);
        return { earlier, first: () => send(replicas.at(0)), second: () => exchange(replicas, replicas.at(1), target) };
      });
      const [told, issued] = answers;
      expect(told.status, told.text).to.be.oneOf([200, 202, 204]);
      await expectEnded(setup, earlier, ending);
      if (ending.refuses === undefined) {
        const said = await setup.replicas().each((replica) => introspect(replica, issued));
        expect(said.map(({ active }) => active)).to.deep.equal([true, true, true]);
      } else {
        expect(issued.body, issued.text).to.include({ error: 'access_denied', reason: ending.refuses });
      }
    });
  }
}

async function prepare(setup: RaceSetup, ending: Ending) {
  const replicas = setup.replicas();
  const agent = ending.ofAgent === true ? await replicas.agent() : setup.agent();
  const target: Target = aTarget(agent, 1);
  return { replicas, target, send: await ending.prepare(replicas, target) };
}

interface Round {
  readonly first: () => Promise<Answer>;
  readonly second: () => Promise<Answer>;
}

/** Repeats a round if a request in it was retried, because the retry may have come second. */
async function inOrder<Prepared extends Round>(
  { kind, replicas }: RaceSetup,
  prepare: () => Promise<Prepared>,
): Promise<Prepared & { readonly answers: readonly [Answer, Answer] }> {
  for (;;) {
    const round = await prepare();
    const before = await retries(replicas());
    const lock = await lockAppends(kind, replicas().outside);
    const one = round.first();
    await orAnswers(lock.untilWaiting(1), [one]);
    const other = round.second();
    await orAnswers(lock.untilWaiting(2), [one, other]);
    await lock.release();
    const answers = await Promise.all([one, other]);
    if ((await retries(replicas())) === before) return { ...round, answers };
  }
}

/** Adds the answers to the error of a lock for which no decision waited. The lock was released, so they come. */
async function orAnswers(waiting: Promise<void>, requests: readonly Promise<Answer>[]): Promise<void> {
  try {
    await waiting;
  } catch (cause) {
    const answers = (await Promise.all(requests)).map(({ status, text }) => `${status}: ${text}`);
    throw new Error(`${cause}\n${answers.join('\n')}`, { cause });
  }
}

async function retries({ each }: Replicas): Promise<number> {
  const times = await each(async (replica) => replica.retries());
  return times.reduce((sum, one) => sum + one, 0);
}

async function expectEnded({ replicas }: RaceSetup, issued: Answer, { reason }: Ending): Promise<void> {
  for (const said of await replicas().each((replica) => introspect(replica, issued))) {
    expect(said).to.include({ active: false, revocation_reason: reason });
  }
}
