import { expect } from 'chai';
import { type ShortRounds, shortRounds } from '../../../../adapters/http/admission/short-rounds.ts';

const aRound = () => new Promise((resolve) => setImmediate(resolve));

describe('Short rounds of the event loop', () => {
  let rounds: ShortRounds<'one' | 'another'>;
  let begun: number[];
  beforeEach(() => {
    rounds = shortRounds();
    begun = [];
  });
  const begin = (count: number) => {
    for (let nth = 0; nth < count; nth += 1) rounds.begin('one', () => begun.push(nth));
  };

  it('are not made where nobody new has come: work begins at once', () => {
    begin(10);
    expect(begun).to.have.lengthOf(10);
  });

  it('are made for some rounds once a new connection has come: a little begins in each, then the rest, in its order', async () => {
    rounds.sees({});
    begin(10);
    const after: number[] = [begun.length];
    for (let nth = 0; nth < 4; nth += 1) {
      await aRound();
      after.push(begun.length);
    }
    expect(after).to.deep.equal([0, 1, 2, 10, 10]);
    expect(begun).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('are made as long as there is always another one, and less is begun the longer that lasts', async () => {
    rounds.sees({});
    begin(200);
    const perHundred: number[] = [];
    for (let hundred = 0; hundred < 3; hundred += 1) {
      const before = begun.length;
      for (let nth = 0; nth < 100; nth += 1) {
        rounds.sees({});
        await aRound();
      }
      perHundred.push(begun.length - before);
    }
    const [first = 0, second = 0, third = 0] = perHundred;
    // 31 in as many rounds, then one in every second, and so on.
    expect([first, second, third]).to.deep.equal([59, 25, 25]);
    // And once none comes any more, all of it begins.
    for (let nth = 0; nth < 3; nth += 1) await aRound();
    expect(begun).to.have.lengthOf(200);
  });

  it('are not made again for a connection that is known', async () => {
    const connection = {};
    rounds.sees(connection);
    for (let nth = 0; nth < 3; nth += 1) await aRound();
    rounds.sees(connection);
    begin(1);
    expect(begun).to.have.lengthOf(1);
  });

  it('begin as much as the first time when they are made again', async () => {
    for (let nth = 0; nth < 100; nth += 1) {
      rounds.sees({});
      await aRound();
    }
    for (let nth = 0; nth < 3; nth += 1) await aRound();
    rounds.sees({});
    begin(5);
    await aRound();
    expect(begun).to.have.lengthOf(1);
  });

  it('let nothing overtake what waits already', async () => {
    rounds.sees({});
    begin(3);
    await aRound();
    rounds.begin('one', () => begun.push(3));
    expect(begun).to.deep.equal([0]);
    for (let nth = 0; nth < 3; nth += 1) await aRound();
    expect(begun).to.deep.equal([0, 1, 2, 3]);
  });

  it('begin several kinds of work in turn: none waits behind all of another', async () => {
    rounds.sees({});
    begin(10);
    rounds.begin('another', () => begun.push(99));
    for (let nth = 0; nth < 2; nth += 1) await aRound();
    expect(begun).to.deep.equal([0, 99]);
  });

  it('begin nothing that was taken out, and lose no round by it', async () => {
    rounds.sees({});
    const left = Array.from({ length: 100 }, () => rounds.begin('one', () => begun.push(-1)));
    begin(1);
    for (const takeOut of left) takeOut();
    await aRound();
    expect(begun).to.deep.equal([0]);
  });
});
