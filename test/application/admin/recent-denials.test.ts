import { expect } from 'chai';
import { recentDenials } from '../../../application/admin/recent-denials.ts';
import type { DenialsForReason, DenialsQuestion } from '../../../application/ports/ledger.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';

/** The beginning of a minute. */
const NOON = instantFromSeconds(1_789_653_300);
const NOW = plusSeconds(NOON, 30);

const counted = (
  minutes: number,
  reason: string | undefined,
  denials: number,
  records = denials,
): DenialsForReason => ({
  minute: plusSeconds(NOON, 60 * minutes),
  reason,
  records,
  denials,
});

describe('The denials of the last ten minutes', () => {
  it('are counted by minute and reason; a record that a clock dated ahead counts to the last minute', async () => {
    const asked: DenialsQuestion[] = [];
    const denials = async (question: DenialsQuestion) => {
      asked.push(question);
      const reasons = [
        counted(-9, 'rate_limited', 40, 1),
        counted(-1, 'task_revoked', 1),
        counted(0, 'task_revoked', 1),
        counted(0, 'rate_limited', 1),
        counted(1, 'task_revoked', 1),
      ];
      return { reasons, agents: [] };
    };
    const found = await recentDenials({ denials }, { now: NOW });
    expect(asked.map(({ from }) => from)).to.deep.equal([plusSeconds(NOON, -540)]);
    expect(found.minutes).to.deep.equal(Array.from({ length: 10 }, (_, nth) => plusSeconds(NOON, 60 * (nth - 9))));
    expect(found.reasons).to.deep.equal([
      { reason: 'rate_limited', counts: [40, 0, 0, 0, 0, 0, 0, 0, 0, 1], total: 41 },
      { reason: 'task_revoked', counts: [0, 0, 0, 0, 0, 0, 0, 0, 1, 2], total: 3 },
    ]);
    expect(found.completeFrom).to.equal(undefined);
  });

  it('say from which minute on they are complete, if there are more than may be read', async () => {
    const reasons = [counted(0, undefined, 3), counted(-1, undefined, 4), counted(-2, undefined, 2)];
    const denials = async () => ({ reasons, agents: [] });
    const found = (most: number) => recentDenials({ denials }, { now: NOW, most });
    expect((await found(9)).completeFrom).to.deep.equal(plusSeconds(NOON, -60));
    expect((await found(10)).completeFrom).to.equal(undefined);
  });

  it('are counted for the ten agents that have the most, or for each of those asked for', async () => {
    const [one, other] = ['one', 'other'].map((name) => agentIdOf(name));
    const asked: DenialsQuestion[] = [];
    const ofAgents = [{ agentId: other as AgentId, denials: 7 }];
    const denials = async (question: DenialsQuestion) => {
      asked.push(question);
      return { reasons: [], agents: ofAgents };
    };
    expect((await recentDenials({ denials }, { now: NOW })).agents).to.deep.equal(ofAgents);
    await recentDenials({ denials }, { now: NOW, agents: [one as AgentId, other as AgentId] });
    expect(asked.map(({ agents, mostAgents }) => [agents, mostAgents])).to.deep.equal([
      [undefined, 10],
      [[one, other], 2],
    ]);
  });
});
