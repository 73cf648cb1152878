import { expect } from 'chai';
import { statusLists } from '../../../../scripts/faults/runs/status-lists.ts';
import { sourceProgram } from '../../../../scripts/mandate-process.ts';

const FEW = { kills: 36, everyMs: 500, ttlSeconds: 1, maxAgeMs: 2000, seed: 1 };

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`The fault run of status lists on ${engine}`, function () {
    this.timeout(300_000);

    it('finds every kill refused within Ttl and maxAgeMs, and no live task refused, under each fault', async () => {
      const { figures, losses } = await statusLists({ engine, program: sourceProgram, ...FEW });
      expect(losses, figures.join('\n')).to.deep.equal([]);
    });
  });
}
