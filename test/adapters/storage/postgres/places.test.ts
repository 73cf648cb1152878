import { expect } from 'chai';
import { places } from '../../../../adapters/storage/postgres/places.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';

/** Longer than any of these takes, and shorter. */
const [LONG_MS, SHORT_MS] = [20_000, 20];

/** Calls that end when they are told to, and the order in which they began. */
function calls() {
  const began: string[] = [];
  const ends = new Map<string, { resolve(): void; reject(error: Error): void }>();
  return {
    began,
    call: (name: string) => () =>
      new Promise<string>((resolve, reject) => {
        began.push(name);
        ends.set(name, { resolve: () => resolve(name), reject });
      }),
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  };
}

describe('places at the pool', () => {
  it('are taken by so many of one key at once, by the others in the order in which they came', async () => {
    const { began, call, end, fail } = calls();
    const inPlace = places(2, LONG_MS);
    const answers = ['one', 'two', 'three', 'four'].map((name) => inPlace('key', call(name)));
    const failure = answers[0]?.catch((error: unknown) => error);
    expect(began).to.deep.equal(['one', 'two']);
    fail('one');
    expect(await failure).to.be.instanceOf(Error);
    expect(began).to.deep.equal(['one', 'two', 'three']);
    end('three');
    expect(await answers[2]).to.equal('three');
    expect(began).to.deep.equal(['one', 'two', 'three', 'four']);
    end('two');
    end('four');
    expect(await Promise.all(answers.slice(1))).to.deep.equal(['two', 'three', 'four']);
  });

  it('are each key’s own', async () => {
    const { began, call, end } = calls();
    const inPlace = places(1, LONG_MS);
    const answers = [inPlace('a', call('one')), inPlace('b', call('two'))];
    expect(began).to.deep.equal(['one', 'two']);
    end('one');
    end('two');
    await Promise.all(answers);
  });

  it('are waited for only for so long: then the call is not made, and its turn goes to nobody', async () => {
    const { began, call, end } = calls();
    const inPlace = places(1, SHORT_MS);
    const first = inPlace('key', call('one'));
    const late = await inPlace('key', call('two')).catch((error: unknown) => error);
    expect(late).to.be.instanceOf(StorageUnavailable);
    end('one');
    await first;
    const next = [inPlace('key', call('three')), inPlace('key', call('four'))];
    expect(began).to.deep.equal(['one', 'three']);
    end('three');
    await next[0];
    end('four');
    expect(await next[1]).to.equal('four');
  });
});
