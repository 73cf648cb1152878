import { expect } from 'chai';
import { timeLimit } from '../../../adapters/platform/system-clock.ts';
import { type Occasion, occasionally } from '../../../adapters/telemetry/service-metrics.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

function fixture(answer: () => Promise<string>, limitMs = 1000) {
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

describe('A metric value that is read at intervals', () => {
  it('is read once per interval for any number of callers', async () => {
    const { look, asked, pass } = fixture(async () => 'a value');
    for (let looks = 0; looks < 3; looks += 1) expect(await look()).to.equal('a value');
    pass(4.9);
    await Promise.all([look(), look()]);
    expect(asked()).to.equal(1);
    pass(0.1);
    await Promise.all([look(), look()]);
    expect(asked()).to.equal(2);
  });

  it('is read again at once after the clock was moved back', async () => {
    const { look, asked, pass } = fixture(async () => 'a value');
    await look();
    pass(-3600);
    await look();
    expect(asked()).to.equal(2);
  });

  it('is undefined after a failed read until the next read', async () => {
    let isAway = true;
    const { look, asked, pass } = fixture(async () => {
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

  it('is undefined if its read takes too long, and is not read twice at the same time', async () => {
    let release: (answer: string) => void = () => undefined;
    const { look, asked, pass } = fixture(
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
