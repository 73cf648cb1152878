import { expect } from 'chai';
import { answerApproval } from '../../application/decisions/answer-approval.ts';
import { askApproval } from '../../application/decisions/ask-approval.ts';
import { openTask } from '../../application/decisions/open-task.ts';
import type { ApprovalsQuestion } from '../../application/ports/approvals.ts';
import { type ApprovalState, approvalStates } from '../../domain/approvals/approval.ts';
import type { AgentId, ApprovalId, SponsorKey } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anOpening, newAgentId, registeredAgent } from './storage-fixtures.ts';
import { answering, approvalIdOf, asking, aWorld } from './world.ts';

/** Later than the end of the question with the short time. */
const NOW = plusSeconds(NOON, 60);

onEveryDatabase('the list of approvals', ({ storage, outside }) => {
  const page = (question: Partial<ApprovalsQuestion>) =>
    storage().approvals.list({ after: undefined, limit: 1000, mostRead: 1000, now: NOW, ...question });

  interface Expected {
    readonly approvalId: ApprovalId;
    readonly sponsorKey: SponsorKey;
    readonly agentId: AgentId;
    readonly state: ApprovalState;
  }
  const all: Expected[] = [];

  before(async () => {
    const agents = await Promise.all([1, 2].map(() => registeredAgent(storage())));
    const people = [aWorld({ subIsKey: true }), aWorld()];
    // Every agent acts for every person: of each task one question waits, one is refused, and one is over.
    for (const agent of agents) {
      for (const { sponsorKey, subject } of people) {
        for (const answer of ['approve', 'refuse', undefined] as const) {
          const world = { ...aWorld(), live: anOpening(agent, { sponsorKey, sponsor: subject }) };
          const opened = await storage().decide(openTask, world.live);
          if (opened.kind !== 'opened') throw new Error(opened.kind);
          await storage().decide(askApproval, asking(world, 'waiting'));
          if (answer !== undefined) await storage().decide(answerApproval, answering(world, answer));
          await storage().decide(askApproval, asking(world, 'over', { lifetime: 5 }));
          const about = { sponsorKey, agentId: agent.agentId };
          const state = answer === undefined ? 'pending' : answer === 'approve' ? 'granted' : 'refused';
          all.push({ ...about, approvalId: approvalIdOf(`waiting at ${NOON}`, world.name), state });
          all.push({ ...about, approvalId: approvalIdOf(`over at ${NOON}`, world.name), state: 'expired' });
        }
      }
    }
    all.sort((one, other) => (one.approvalId < other.approvalId ? 1 : -1));
  });

  const idsOf = (approvals: readonly { readonly approvalId: ApprovalId }[]) =>
    approvals.map(({ approvalId }) => approvalId);
  const rowsOf = async (question: Partial<ApprovalsQuestion>) => (await page(question)).approvals.map(({ row }) => row);

  /** Pages of three that each read at most four approvals, so that some have fewer matching ones, or none. */
  const inShortReads = async (filters: Partial<ApprovalsQuestion>): Promise<readonly ApprovalId[]> => {
    const found: ApprovalId[] = [];
    let after: ApprovalId | undefined;
    do {
      const { approvals, readUpTo } = await page({ ...filters, limit: 3, mostRead: 4, after });
      found.push(...idsOf(approvals.map(({ row }) => row)));
      after = approvals.length === 3 ? approvals.at(-1)?.row.approvalId : readUpTo;
    } while (after !== undefined);
    return found;
  };

  it('selects by each filter alone and by all together, newest first, in one page or in many', async () => {
    const [one] = all;
    if (one === undefined) throw new Error('nothing was asked');
    for (const state of [undefined, ...approvalStates]) {
      for (const sponsorKey of [undefined, one.sponsorKey]) {
        for (const agentId of [undefined, one.agentId, newAgentId()]) {
          const filters = { state, sponsorKey, agentId };
          const expected = all.filter((approval) =>
            Object.entries(filters).every(
              ([name, value]) => value === undefined || approval[name as keyof Expected] === value,
            ),
          );
          expect(idsOf(await rowsOf(filters)), JSON.stringify(filters)).to.deep.equal(idsOf(expected));
          expect(await inShortReads(filters), JSON.stringify(filters)).to.deep.equal(idsOf(expected));
        }
      }
    }
  });

  it('takes an open approval for expired from the end of its time on, and not before', async () => {
    const expired = async (seconds: number) =>
      (await rowsOf({ state: 'expired', now: plusSeconds(NOON, seconds) })).length;
    expect([await expired(4.999), await expired(5), await expired(600)]).to.deep.equal([0, 12, 20]);
  });

  it('brings the names of each, and marks one whose row differs from the ledger', async () => {
    const [one, other] = all;
    if (one === undefined || other === undefined) throw new Error('nothing was asked');
    const [first] = (await page({ limit: 1 })).approvals;
    expect(first).to.deep.include({ kind: 'same' });
    expect(first?.row).to.deep.include({
      sponsorKey: one.sponsorKey,
      agentId: one.agentId,
      displayName: 'Jira triage',
    });
    await (await outside()).sql(`update approvals set title = 'other' where approval_id = '${other.approvalId}'`);
    const found = (await page({})).approvals;
    expect(found.map(({ kind }) => kind === 'differs')).to.deep.equal(found.map((_, nth) => nth === 1));
  });
});
