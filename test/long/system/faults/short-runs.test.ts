/** Short versions of the fault runs (scripts/faults). */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { processProgram } from '../../../../scripts/bundled-programs.ts';
import { randomKills } from '../../../../scripts/faults/runs/kills.ts';
import { postgresFaults, terminateSessions } from '../../../../scripts/faults/runs/postgres-faults.ts';
import { stopUnderLoad } from '../../../../scripts/faults/runs/stop-under-load.ts';
import { witnessKills } from '../../../../scripts/faults/runs/witness.ts';

const MAIN = fileURLToPath(new URL('../../../../composition/main.ts', import.meta.url));
const SEED = 20_261_121;

const testbed = () => ({ program: [processProgram(MAIN)], seed: SEED, concurrency: 4 }) as const;

describe('a service under mixed load', function () {
  this.timeout(120_000);

  for (const engine of ['sqlite', 'postgres'] as const) {
    it(`loses nothing when it is killed at random moments on ${engine}`, async () => {
      const { losses, operations } = await randomKills({ ...testbed(), engine, kills: 2, servesMs: 2_000 });
      expect(losses).to.deep.equal([]);
      expect(operations.filter(({ status }) => status === 200)).to.have.length.greaterThan(20);
      expect(operations.filter(({ status }) => status === 0)).not.to.have.length(0);
    });
  }

  it('loses nothing when its sessions in Postgres are terminated, and recovers within five seconds', async () => {
    const { losses, operations } = await postgresFaults(testbed(), {
      strike: async (postgres) => void (await terminateSessions(postgres, 100, 1_000)),
      times: 1,
      pauseMs: 1_500,
    });
    expect(losses).to.deep.equal([]);
    expect(operations.filter(({ status }) => status === 503)).not.to.have.length(0);
  });

  it('answers every accepted request when it is stopped, and exits with 0', async () => {
    const options = { ...testbed(), engine: 'sqlite', perSecond: 50, times: 1, servesMs: 1_000 } as const;
    const { losses, operations } = await stopUnderLoad(options);
    expect(losses).to.deep.equal([]);
    expect(operations.filter(({ status }) => status === 200)).to.have.length.greaterThan(20);
    expect(operations.filter(({ connectionRefused }) => connectionRefused)).not.to.have.length(0);
  });
});

describe('a witness', function () {
  this.timeout(120_000);

  it('loses nothing, and cosigns no fork, when it is killed at random moments', async () => {
    const { program, seed } = testbed();
    const { losses, counts } = await witnessKills({ program, seed, kills: 5, servesMs: 1_000 });
    expect(losses).to.deep.equal([]);
    expect(counts.cosigned).to.be.greaterThan(5);
    expect(counts.refused).to.be.greaterThan(0);
  });
});
