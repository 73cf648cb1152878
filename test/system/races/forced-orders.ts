/**
 * The two orders of an exchange and what ends its task, forced: the first has decided and waits to write to the ledger,
 * which is held from outside, when the second comes. On SQLite, where nobody can see who waits, the suites of the
 * storage do the same (test/contract).
 */

import { expect } from 'chai';
import { holdAppends } from '../../contract/hold.ts';
import type { Answer } from '../../support/mandate.ts';
import { type Ending, endings } from '../../support/replicas/endings.ts';
import { aTarget, exchange, introspect, newTask, type Target } from '../../support/replicas/targets.ts';
import type { Stage } from './stage.ts';

export function ordersThatAreForced(stage: Stage): void {
  for (const ending of endings) {
    it(`${ending.name} waits for an exchange under way, and ends its task`, async () => {
      const { replicas, target, say } = await prepare(stage, ending);
      const ask = () => exchange(replicas, replicas.at(0), target);
      const [issued, told] = await inOrder(stage, ask, () => say(replicas.at(1)));
      expect(issued.status, issued.text).to.equal(200);
      expect(told.status, told.text).to.be.oneOf([200, 202, 204]);
      await expectEnded(stage, issued, ending);
    });

    it(`${ending.name} under way is waited for by an exchange, which comes after it`, async () => {
      const { replicas, target, say } = await prepare(stage, ending);
      const earlier = await newTask(replicas, replicas.at(0), target);
      const ask = () => exchange(replicas, replicas.at(1), target);
      const [told, issued] = await inOrder(stage, () => say(replicas.at(0)), ask);
      expect(told.status, told.text).to.be.oneOf([200, 202, 204]);
      await expectEnded(stage, earlier, ending);
      if (ending.refuses === undefined) {
        const said = await replicas.each((replica) => introspect(replica, issued));
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

async function inOrder(
  { kind, replicas }: Stage,
  first: () => Promise<Answer>,
  second: () => Promise<Answer>,
): Promise<readonly [Answer, Answer]> {
  const hold = await holdAppends(kind, replicas().outside);
  const one = first();
  await hold.waiting(1);
  const other = second();
  await hold.waiting(2);
  await hold.release();
  return Promise.all([one, other]);
}

async function expectEnded({ replicas }: Stage, issued: Answer, { reason }: Ending): Promise<void> {
  for (const said of await replicas().each((replica) => introspect(replica, issued))) {
    expect(said).to.include({ active: false, revocation_reason: reason });
  }
}
