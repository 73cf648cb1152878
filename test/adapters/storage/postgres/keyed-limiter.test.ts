import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { keyedLimiter } from '../../../../adapters/storage/postgres/keyed-limiter.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';

const [LONG_MS, SHORT_MS] = [20_000, 20];

/** Calls that the test ends, in the order in which they began. */
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

describe('the limiter of calls by key', () => {
  it('runs at most `limit` calls of one key at once, and the others in the order of their arrival', async () => {
    const { began, call, end, fail } = calls();
    const { run } = keyedLimiter(2, LONG_MS);
    const answers = ['one', 'two', 'three', 'four'].map((name) => run('key', call(name)));
    const failure = answers[0]?.catch((error: unknown) => error);
    await nextTurn();
    expect(began).to.deep.equal(['one', 'two']);
    fail('one');
    expect(await failure).to.be.instanceOf(Error);
    await nextTurn();
    expect(began).to.deep.equal(['one', 'two', 'three']);
    end('three');
    expect(await answers[2]).to.equal('three');
    await nextTurn();
    expect(began).to.deep.equal(['one', 'two', 'three', 'four']);
    end('two');
    end('four');
    expect(await Promise.all(answers.slice(1))).to.deep.equal(['two', 'three', 'four']);
  });

  it('limits each key separately', async () => {
    const { began, call, end } = calls();
    const { run } = keyedLimiter(1, LONG_MS);
    const answers = [run('a', call('one')), run('b', call('two'))];
    await nextTurn();
    expect(began).to.deep.equal(['one', 'two']);
    end('one');
    end('two');
    await Promise.all(answers);
  });

  it('refuses a call that waits too long, does not make it later, and gives the permit to the next call', async () => {
    const { began, call, end } = calls();
    const { run } = keyedLimiter(1, SHORT_MS);
    const first = run('key', call('one'));
    const late = await run('key', call('two')).catch((error: unknown) => error);
    expect(late).to.be.instanceOf(StorageUnavailable);
    end('one');
    await first;
    const next = [run('key', call('three')), run('key', call('four'))];
    await nextTurn();
    expect(began).to.deep.equal(['one', 'three']);
    end('three');
    await next[0];
    end('four');
    expect(await next[1]).to.equal('four');
  });

  it('refuses waiting and later calls once it is closed, and lets running calls end', async () => {
    const { began, call, end } = calls();
    const { run, close } = keyedLimiter(1, LONG_MS);
    const first = run('key', call('one'));
    const waiting = ['two', 'three'].map((name) => run('key', call(name)).catch(String));
    close();
    const late = ['key', 'other'].map((key) => run(key, call('late')).catch(String));
    const refused = 'StorageUnavailable: The Postgres database is closed';
    expect(await Promise.all([...waiting, ...late])).to.deep.equal(Array(4).fill(refused));
    end('one');
    expect(await first).to.equal('one');
    expect(began).to.deep.equal(['one']);
  });
});
