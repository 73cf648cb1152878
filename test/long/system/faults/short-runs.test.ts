/** Short versions of the fault runs (scripts/faults): what they find in seconds, so that nobody has to wait for them. */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { killing } from '../../../../scripts/faults/runs/killing.ts';
import { postgresFaults, terminateBackends } from '../../../../scripts/faults/runs/postgres-faults.ts';
import { stoppingUnderLoad } from '../../../../scripts/faults/runs/stopping.ts';
import { processProgram } from '../../../../scripts/one-piece.ts';

const MAIN = fileURLToPath(new URL('../../../../composition/main.ts', import.meta.url));
const SEED = 20_261_121;

const aStage = () => ({ program: [processProgram(MAIN)], seed: SEED, concurrency: 4 }) as const;

describe('a service under mixed load, every answer held against the ledger', function () {
  this.timeout(120_000);

  for (const engine of ['sqlite', 'postgres'] as const) {
    it(`loses nothing when it is killed at random moments on ${engine}`, async () => {
      const { losses, kept } = await killing({ ...aStage(), engine, kills: 2, servesMs: 2_000 });
      expect(losses).to.deep.equal([]);
      expect(kept.filter(({ status }) => status === 200)).to.have.length.greaterThan(20);
      expect(kept.filter(({ status }) => status === 0)).not.to.have.length(0);
    });
  }

  it('loses nothing when its sessions in Postgres are ended, and serves again within five seconds', async () => {
    const { outcome } = await postgresFaults(aStage(), {
      strike: async (database) => void (await terminateBackends(database, 100, 1_000)),
      times: 1,
      respiteMs: 1_500,
    });
    expect(outcome.losses).to.deep.equal([]);
    expect(outcome.kept.filter(({ status }) => status === 503)).not.to.have.length(0);
  });

  it('resets no request that it accepted when it is told to stop, and ends with 0', async () => {
    const options = { ...aStage(), engine: 'sqlite', perSecond: 50, times: 1, servesMs: 1_000 } as const;
    const { outcome } = await stoppingUnderLoad(options);
    expect(outcome.losses).to.deep.equal([]);
    expect(outcome.kept.filter(({ status }) => status === 200)).to.have.length.greaterThan(20);
    expect(outcome.kept.filter(({ refused }) => refused)).not.to.have.length(0);
  });
});
