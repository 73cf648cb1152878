import { expect } from 'chai';
import { type NamedFinding, ok } from '../../../application/doctor/examine.ts';
import { REPORT_LASTS_SECONDS, sharedExamination } from '../../../application/doctor/shared-examination.ts';
import { movedClock } from '../../support/moved-clock.ts';

describe('The examination that operators share', () => {
  const findings: readonly NamedFinding[] = [{ check: 'database', ...ok('It answers.') }];

  function counted() {
    const clock = movedClock();
    clock.standStill();
    let runs = 0;
    const ending: (() => void)[] = [];
    const examine = sharedExamination(async () => {
      runs += 1;
      await new Promise<void>((resolve) => ending.push(resolve));
      return findings;
    }, clock);
    return { clock, examine, runs: () => runs, end: () => ending.splice(0).map((end) => end()) };
  }

  it('runs once for all callers while it runs and shortly after', async () => {
    const { clock, examine, runs, end } = counted();
    const asked = [examine(), examine(), examine()];
    end();
    const at = clock.now();
    for (const report of await Promise.all(asked)) expect(report).to.deep.equal({ findings, at });
    clock.advance(REPORT_LASTS_SECONDS - 1);
    expect(await examine()).to.deep.equal({ findings, at });
    expect(runs()).to.equal(1);
  });

  it('runs again later, and when the clock was put back', async () => {
    const { clock, examine, runs, end } = counted();
    for (const seconds of [0, REPORT_LASTS_SECONDS, -1]) {
      clock.advance(seconds);
      const asked = examine();
      end();
      expect((await asked).at).to.equal(clock.now());
    }
    expect(runs()).to.equal(3);
  });

  it('keeps no failure', async () => {
    let runs = 0;
    const examine = sharedExamination(async () => {
      runs += 1;
      if (runs === 1) throw new Error('out of memory');
      return findings;
    }, movedClock());
    expect(await examine().catch((error: Error) => error.message)).to.equal('out of memory');
    expect((await examine()).findings).to.equal(findings);
  });
});
