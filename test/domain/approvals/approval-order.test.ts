/** The order of the records of one approval, and what a part of a ledger may lack. */

import { expect } from 'chai';
import fc from 'fast-check';
import { approvalOrder } from '../../../domain/approvals/approval-order.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { describeOrderFault } from '../../../domain/ledger/order-fault.ts';
import {
  APPROVAL_ID,
  type ApprovalStep,
  approvalEntries,
  CONTRADICTORY,
  ORDERLY,
  WITHOUT_REQUEST,
} from '../../support/log/approval-records.ts';

const taskId = makeTaskId('01M31S7W68TMK7WDX8YKPSYTES');
const other = makeTaskId('01M31S7W68TMK7WDX8YKPSYTE0');

/** The problem, and the number of the step that has it. */
function faultOf(steps: readonly ApprovalStep[], lacksOlder = false): readonly [string, number] | undefined {
  const order = approvalOrder();
  for (const [nth, entry] of approvalEntries(steps, { taskId }).entries()) {
    const fault = order.fault(entry, lacksOlder);
    if (fault === undefined) continue;
    expect(fault.approvalId).to.equal(APPROVAL_ID);
    return [fault.problem, nth];
  }
  return undefined;
}

describe('The order of the records of an approval', () => {
  for (const steps of ORDERLY) {
    it(`accepts ${steps.join(', ')}, and each end of it where older records may be missing`, () => {
      expect(faultOf(steps)).to.equal(undefined);
      for (const [nth] of steps.entries()) expect(faultOf(steps.slice(nth), true)).to.equal(undefined);
    });
  }

  for (const [name, [steps, problem, nth]] of Object.entries(CONTRADICTORY)) {
    it(`refuses ${name}, also where older records may be missing`, () => {
      expect(faultOf(steps)).to.deep.equal([problem, nth]);
      expect(faultOf(steps, true)).to.deep.equal([problem, nth]);
    });
  }

  it('refuses a use in another task', () => {
    expect(faultOf(['requested', 'granted', ['used', { taskId: other }]])).to.deep.equal(['other_names', 2]);
  });

  for (const steps of WITHOUT_REQUEST) {
    it(`accepts ${steps.join(', ')} only where older records may be missing`, () => {
      expect(faultOf(steps, true)).to.equal(undefined);
      expect(faultOf(steps)).to.deep.equal(['no_request', 0]);
    });
  }

  it('says nothing of records that name no approval', () => {
    for (const detail of [undefined, '', 'approval=x', 'x'.repeat(9000)]) {
      const order = approvalOrder();
      for (const event of ['approval.used', 'approval.constructor', 'approval.', 'token.issued']) {
        expect(order.fault({ event, detail }, false)).to.equal(undefined);
      }
    }
  });

  it('has a sentence for each problem, with the number of the record', () => {
    const sentences = (['other_names', 'no_request', 'order'] as const).map((problem) =>
      describeOrderFault(12, { kind: 'approval_order', approvalId: APPROVAL_ID, problem }),
    );
    expect(new Set(sentences).size).to.equal(3);
    for (const sentence of sentences)
      expect(sentence)
        .to.match(/^Record 12 .*\.$/)
        .and.contain(APPROVAL_ID);
  });

  it('accepts at most one yes and one use, after it, whatever is recorded', () => {
    const step = fc.constantFrom('requested', 'granted', 'refused', 'used', 'expired', 'withdrawn');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), fc.boolean(), (steps, lacksOlder) => {
        if (faultOf(steps, lacksOlder) !== undefined) return;
        const positions = (event: string) => steps.flatMap((each, nth) => (each === event ? [nth] : []));
        expect(positions('granted').length).to.be.at.most(1);
        expect(positions('used').length).to.be.at.most(1);
        const [used] = positions('used');
        if (used !== undefined && !(lacksOlder && used === 0)) expect(positions('granted')[0]).to.equal(used - 1);
      }),
    );
  });
});
