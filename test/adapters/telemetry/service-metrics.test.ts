import { expect } from 'chai';
import { timeLimit } from '../../../adapters/platform/system-clock.ts';
import { type Occasion, occasionally } from '../../../adapters/telemetry/service-metrics.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

function scene(answer: () => Promise<string>, limitMs = 1000) {
  let [now, asked] = [NOON, 0];
  const occasion: Occasion = { everySeconds: 5, limitMs, timeLimit, now: () => now };
  const look = occasionally(() => {
    asked += 1;
    return answer();
  }, occasion);
  return {
    look,
    asked: () => asked,
    pass: (seconds: number) => {
      now = plusSeconds(now, seconds);
    },
  };
}

describe('what is asked occasionally', () => {
  it('is asked once in so many seconds, however often somebody looks', async () => {
    const { look, asked, pass } = scene(async () => 'so and so');
    for (let looks = 0; looks < 3; looks += 1) expect(await look()).to.equal('so and so');
    pass(4.9);
    await Promise.all([look(), look()]);
    expect(asked()).to.equal(1);
    pass(0.1);
    await Promise.all([look(), look()]);
    expect(asked()).to.equal(2);
  });

  it('is asked again at once where the clock was put back', async () => {
    const { look, asked, pass } = scene(async () => 'so and so');
    await look();
    pass(-3600);
    await look();
    expect(asked()).to.equal(2);
  });

  it('is unknown where asking failed, until the next time', async () => {
    let isAway = true;
    const { look, asked, pass } = scene(async () => {
      if (isAway) throw new Error('away');
      return 'here';
    });
    expect(await look()).to.equal(undefined);
    isAway = false;
    expect(await look()).to.equal(undefined);
    expect(asked()).to.equal(1);
    pass(5);
    expect(await look()).to.equal('here');
  });

  it('keeps nobody waiting, and is not asked twice at once', async () => {
    let release: (answer: string) => void = () => undefined;
    const { look, asked, pass } = scene(
      () =>
        new Promise((resolve) => {
          release = resolve;
        }),
      10,
    );
    expect(await look()).to.equal(undefined);
    pass(60);
    expect(await look()).to.equal(undefined);
    expect(asked()).to.equal(1);
    release('late');
    expect(await look()).to.equal('late');
    pass(60);
    void look();
    expect(asked()).to.equal(2);
    release('again');
  });
});
