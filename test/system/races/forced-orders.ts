/**
 * Both orders of an exchange and the end of its task, forced: a lock on the ledger stops the first decision before
 * its commit, then the second one starts. SQLite shows no waiting transactions, so test/contract does this there.
 */

import { expect } from 'chai';
import { holdAppends } from '../../contract/hold.ts';
import type { Answer } from '../../support/mandate.ts';
import { type Ending, endings } from '../../support/replicas/endings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import { aTarget, exchange, introspect, newTask, type Target } from '../../support/replicas/targets.ts';
import type { Stage } from './stage.ts';

export function ordersThatAreForced(stage: Stage): void {
  for (const ending of endings) {
    it(`${ending.name} waits for a concurrent exchange, and ends its task`, async () => {
      const { answers } = await inOrder(stage, async () => {
        const { replicas, target, say } = await prepare(stage, ending);
        return { first: () => exchange(replicas, replicas.at(0), target), second: () => say(replicas.at(1)) };
      });
      const [issued, told] = answers;
      expect(issued.status, issued.text).to.equal(200);
      expect(told.status, told.text).to.be.oneOf([200, 202, 204]);
      await expectEnded(stage, issued, ending);
    });

    it(`an exchange waits for a concurrent decision, and comes after it: ${ending.name}`, async () => {
      const { answers, earlier } = await inOrder(stage, async () => {
        const { replicas, target, say } = await prepare(stage, ending);
        const earlier = await newTask(replicas, replicas.at(0), target);
        return { earlier, first: () => say(replicas.at(0)), second: () => exchange(replicas, replicas.at(1), target) };
      });
      const [told, issued] = answers;
      expect(told.status, told.text).to.be.oneOf([200, 202, 204]);
      await expectEnded(stage, earlier, ending);
      if (ending.refuses === undefined) {
        const said = await stage.replicas().each((replica) => introspect(replica, issued));
        expect(said.map(({ active }) => active)).to.deep.equal([true, true, true]);
      } else {
        expect(issued.body, issued.text).to.include({ error: 'access_denied', reason: ending.refuses });
      }
    });
  }
}

async function prepare(stage: Stage, ending: Ending) {
  const replicas = stage.replicas();
  const agent = ending.ofAgent === true ? await replicas.agent() : stage.agent();
  const target: Target = aTarget(agent, 1);
  return { replicas, target, say: await ending.about(replicas, target) };
}

interface Round {
  readonly first: () => Promise<Answer>;
  readonly second: () => Promise<Answer>;
}

/** Repeats a round in which a request had to be retried: it may have come second. */
async function inOrder<Prepared extends Round>(
  { kind, replicas }: Stage,
  prepare: () => Promise<Prepared>,
): Promise<Prepared & { readonly answers: readonly [Answer, Answer] }> {
  for (;;) {
    const round = await prepare();
    const before = await putOff(replicas());
    const hold = await holdAppends(kind, replicas().outside);
    const one = round.first();
    await hold.waiting(1);
    const other = round.second();
    await hold.waiting(2);
    await hold.release();
    const answers = await Promise.all([one, other]);
    if ((await putOff(replicas())) === before) return { ...round, answers };
  }
}

async function putOff({ each }: Replicas): Promise<number> {
  const times = await each(async (replica) => replica.putOff());
  return times.reduce((sum, one) => sum + one, 0);
}

async function expectEnded({ replicas }: Stage, issued: Answer, { reason }: Ending): Promise<void> {
  for (const said of await replicas().each((replica) => introspect(replica, issued))) {
    expect(said).to.include({ active: false, revocation_reason: reason });
  }
}
