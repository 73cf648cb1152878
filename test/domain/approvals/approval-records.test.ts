/** A stored approval is compared with its records. The records are those of the ledger, so they decide. */

import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import { approvalDetail } from '../../../domain/approvals/approval.ts';
import { type ApprovalRecord, compareApproval } from '../../../domain/approvals/approval-records.ts';
import { commitmentText } from '../../../domain/approvals/commitment.ts';
import type { ApprovalId, TaskId } from '../../../domain/identifiers.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const words = {
  taskId: `task_${'0'.repeat(26)}` as TaskId,
  digest: 'd'.repeat(43),
  salt: 'salt',
  title: 'Pay 77 EUR',
  lines: [{ label: 'To', value: 'ACME' }],
};
const says = { salt: 's'.repeat(43), text: 'Not now' };
const saysHash = sha256(`${says.salt}${says.text}`);
const approval = {
  ...words,
  approvalId: `approval_${'0'.repeat(26)}` as ApprovalId,
  commitment: sha256(commitmentText(words)),
  requestedAt: NOON,
  wordsChanged: false,
};
const about = { taskId: words.taskId, agentId: 'agent_1', sponsor: 'ada', audience: 'https://jira.example' };

const record = (event: string, more: { readonly saysHash?: string } = {}): ApprovalRecord => ({
  ...about,
  event: `approval.${event}`,
  detail: approvalDetail({ ...approval, ...more }),
});
const stated = (state: 'granted' | 'refused' | 'used' | 'pending', line: typeof says | undefined) => ({
  ...approval,
  state,
  says: line,
});

describe('The records of an approval', () => {
  it('have the hash of a line at the no alone: beside another state the approval is not taken for the recorded one', () => {
    const hash = { saysHash };
    const refused = compareApproval(sha256, stated('refused', says), [record('requested'), record('refused', hash)]);
    expect(refused.kind).to.equal('same');
    for (const [row, records] of [
      [stated('pending', undefined), [record('requested', hash)]],
      [stated('granted', undefined), [record('requested'), record('granted', hash)]],
      [stated('granted', says), [record('requested'), record('granted', hash)]],
      [stated('used', undefined), [record('requested'), record('granted'), record('used', hash)]],
      [stated('refused', says), [record('requested', hash), record('refused', hash)]],
    ] as const) {
      const compared = compareApproval(sha256, row, records);
      expect(compared, JSON.stringify(records)).to.have.nested.property('difference.how', 'records');
    }
  });

  it('tell a line that was stored beside another answer, or is not the recorded one', () => {
    for (const [row, records] of [
      [stated('granted', says), [record('requested'), record('granted')]],
      [stated('refused', says), [record('requested'), record('refused')]],
      [stated('refused', undefined), [record('requested'), record('refused', { saysHash })]],
      [stated('refused', { ...says, text: 'Go on' }), [record('requested'), record('refused', { saysHash })]],
    ] as const) {
      const compared = compareApproval(sha256, row, records);
      expect(compared, JSON.stringify(row.says)).to.have.nested.property('difference.how', 'text');
    }
  });
});
