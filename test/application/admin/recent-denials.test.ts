import { expect } from 'chai';
import { recentDenials } from '../../../application/admin/recent-denials.ts';
import type { LedgerAnswer, LedgerQuestion } from '../../../application/ledger/query.ts';
import { type Instant, instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';
import { formatCursor } from '../../../domain/ledger/page-cursor.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';

/** The beginning of a minute. */
const NOON = instantFromSeconds(1_789_653_300);
const NOW = plusSeconds(NOON, 30);

function aDenial(at: Instant, reason: string | undefined, count?: number): LedgerRecord {
  return { seq: 1, checkpoint: undefined, at, event: 'token.denied', decision: 'deny', reason, count } as LedgerRecord;
}

const page = (records: readonly LedgerRecord[], nextCursor?: string): LedgerAnswer => ({
  kind: 'page',
  records,
  nextCursor,
  archivedBefore: undefined,
});

describe('The denials of the last minutes', () => {
  it('are those of ten minutes, counted by minute and reason; a summary adds its whole count', async () => {
    const asked: LedgerQuestion[] = [];
    const denials = await recentDenials(async (question) => {
      asked.push(question);
      return page([
        aDenial(plusSeconds(NOON, -540), 'rate_limited', 40),
        aDenial(plusSeconds(NOON, -1), 'task_revoked'),
        aDenial(NOON, 'task_revoked'),
        aDenial(plusSeconds(NOON, 29), 'rate_limited'),
        // Recorded by a replica whose clock is ahead.
        aDenial(plusSeconds(NOON, 90), 'task_revoked'),
      ]);
    }, NOW);
    expect(asked.map(({ filters }) => filters)).to.deep.equal([{ decision: 'deny', from: plusSeconds(NOON, -540) }]);
    expect(denials.minutes).to.deep.equal(Array.from({ length: 10 }, (_, nth) => plusSeconds(NOON, 60 * (nth - 9))));
    expect(denials.reasons).to.deep.equal([
      { reason: 'rate_limited', counts: [40, 0, 0, 0, 0, 0, 0, 0, 0, 1], total: 41 },
      { reason: 'task_revoked', counts: [0, 0, 0, 0, 0, 0, 0, 0, 1, 2], total: 3 },
    ]);
    expect(denials.isCut).to.equal(false);
  });

  it('are read in five pages at most, and say so if there are more', async () => {
    let pages = 0;
    const next = formatCursor({ at: NOON, seq: 1, fingerprint: 'f'.repeat(32) });
    const denials = await recentDenials(async () => {
      pages += 1;
      return page([aDenial(NOON, undefined)], next);
    }, NOW);
    expect(pages).to.equal(5);
    expect(denials).to.deep.include({ isCut: true });
    expect(denials.reasons.map(({ reason, total }) => [reason, total])).to.deep.equal([['no reason', 5]]);
  });
});
