/** The order of the records of hand-overs, and what a part of a ledger may lack. */

import { expect } from 'chai';
import { delegationOrder } from '../../../domain/delegation/delegation-order.ts';
import { linkOf, treeOf } from '../../../domain/delegation/task-tree.ts';
import { describeOrderFault } from '../../../domain/ledger/order-fault.ts';
import {
  CONTRADICTORY,
  type DelegationEntry,
  EXPLAINED_BY_OTHERS,
  ORDERLY,
  offerOf,
  stepsOf,
  taskOf,
} from '../../support/log/delegation-records.ts';

/** The problem, and the number of the step that has it. */
function faultOf(entries: readonly DelegationEntry[], lacksOthers = false): readonly [string, number] | undefined {
  const order = delegationOrder();
  for (const [nth, entry] of entries.entries()) {
    const fault = order.fault(entry, lacksOthers);
    if (fault !== undefined) return [fault.problem, nth];
  }
  return undefined;
}

const steps = stepsOf();

describe('The order of the records of hand-overs', () => {
  for (const [name, history] of Object.entries(ORDERLY)) {
    it(`accepts ${name}, and each end of it where other records may be missing`, () => {
      const entries = history(steps);
      expect(faultOf(entries)).to.equal(undefined);
      for (const [nth] of entries.entries()) expect(faultOf(entries.slice(nth), true), String(nth)).to.equal(undefined);
    });
  }

  for (const [name, [history, problem, nth]] of Object.entries(CONTRADICTORY)) {
    it(`refuses ${name}`, () => {
      expect(faultOf(history(steps))).to.deep.equal([problem, nth]);
    });
  }

  it('refuses what no other record explains also where other records may be missing', () => {
    for (const [name, [history, problem, nth]] of Object.entries(CONTRADICTORY)) {
      const found = faultOf(history(steps), true);
      if (EXPLAINED_BY_OTHERS.has(name)) expect(found, name).not.to.deep.equal([problem, nth]);
      else expect(found, name).to.deep.equal([problem, nth]);
    }
  });

  it('keeps the trees of many people apart', () => {
    const trees = ['A', 'B'].map((tree) => ORDERLY['a chain of three, renewed']?.(stepsOf(tree)) ?? []);
    const [first = [], second = []] = trees;
    const mixed = first.flatMap((entry, nth) => [entry, ...(second[nth] ? [second[nth]] : [])]);
    expect(faultOf(mixed)).to.equal(undefined);
    expect(faultOf([...mixed, stepsOf('A').ended('planner'), stepsOf('B').refreshed('checker')])).to.equal(undefined);
  });

  it('says nothing of records that name no offer, and of refusals', () => {
    for (const detail of [undefined, '', 'offer=x', `offer=${offerOf(1)}`, `offer=${offerOf(1)}&parent=x`]) {
      expect(faultOf([steps.taken('writer', 'planner', 1, { detail })])).to.equal(undefined);
      expect(faultOf([steps.offered('planner', 'writer', 1, { detail })])).to.equal(undefined);
    }
    expect(faultOf([steps.taken('writer', 'planner', 1, { decision: 'deny' })])).to.equal(undefined);
  });

  it('has a sentence for each problem, with the number of the record', () => {
    const problems = new Set(Object.values(CONTRADICTORY).map(([, problem]) => problem));
    expect(problems.size).to.equal(5);
    const sentences = Object.values(CONTRADICTORY).map(([history]) => {
      const order = delegationOrder();
      const [fault] = history(steps).flatMap((entry) => order.fault(entry, false) ?? []);
      return fault === undefined ? '' : describeOrderFault(12, fault);
    });
    expect(new Set(sentences.map((each) => each.replace(/of \w+:/, ''))).size).to.equal(5);
    for (const sentence of sentences) expect(sentence).to.match(/^Record 12 .* of (?:offer|task)_\w{26}: .*\.$/);
  });
});

describe('The tree of a task', () => {
  it('follows from the records alone, from any of its tasks', () => {
    const chain = ORDERLY['a chain of three, renewed'] ?? expect.fail();
    const links = [...chain(stepsOf('A')), ...chain(stepsOf('B'))].flatMap((entry) => linkOf(entry) ?? []);
    const names = ['planner', 'writer', 'checker'] as const;
    for (const name of names) {
      const found = treeOf(taskOf(name, 'A'), links);
      expect([...found.keys()]).to.have.members(names.map((each) => taskOf(each, 'A')));
      for (const [task, path] of found) expect(path.length === 0, task).to.equal(task === taskOf(name, 'A'));
    }
    expect([...treeOf(taskOf('planner', 'C'), links).keys()]).to.deep.equal([taskOf('planner', 'C')]);
  });
});
