import { expect } from 'chai';
import { shortRounds } from '../../../../adapters/http/admission/short-rounds.ts';

const aRound = () => new Promise((resolve) => setImmediate(resolve));

describe('Short rounds of the event loop', () => {
  it('are not made where nobody new has come: work begins at once', () => {
    const rounds = shortRounds(() => 1000);
    let begun = 0;
    for (let count = 0; count < 10; count += 1) rounds.begin(() => (begun += 1));
    expect(begun).to.equal(10);
  });

  it('are made once a new connection has come: work begins a little in each, in the order it came', async () => {
    const rounds = shortRounds(() => 1000);
    rounds.sees({});
    const begun: number[] = [];
    for (let count = 0; count < 10; count += 1) rounds.begin(() => begun.push(count));
    expect(begun).to.deep.equal([]);
    const after: number[] = [];
    while (begun.length < 10) {
      await aRound();
      after.push(begun.length);
    }
    expect(begun).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([...new Set(after)].filter((count) => count > 0)).to.deep.equal([4, 8, 10]);
  });

  it('end some time after the last connection that is new; those that are known change nothing', () => {
    let now = 1000;
    const rounds = shortRounds(() => now);
    const connection = {};
    rounds.sees(connection);
    now += 99;
    rounds.sees(connection);
    now += 1;
    let begun = 0;
    rounds.begin(() => (begun += 1));
    expect(begun).to.equal(1);
  });

  it('let nothing overtake what waits already', async () => {
    let now = 1000;
    const rounds = shortRounds(() => now);
    rounds.sees({});
    const begun: string[] = [];
    rounds.begin(() => begun.push('first'));
    now += 5000;
    rounds.begin(() => begun.push('second'));
    expect(begun).to.deep.equal([]);
    await aRound();
    await aRound();
    expect(begun).to.deep.equal(['first', 'second']);
  });
});
