import { expect } from 'chai';
import fc from 'fast-check';
import { concurrencyLimiter, type Permit, type QueueEntry } from '../../domain/concurrency-limiter.ts';

/** A limiter whose clock the test moves, and the outcome of each `acquire`. */
function fixture(limits: { concurrency: number; queue: number; waitMs?: number }) {
  let now = 1000;
  const limiter = concurrencyLimiter({ waitMs: 100, ...limits }, () => now);
  const held = new Map<string, Permit>();
  const refused: string[] = [];
  const started: string[] = [];
  const ask = (name: string): QueueEntry | undefined =>
    limiter.acquire((permit) => {
      if (permit === undefined) {
        refused.push(name);
        return;
      }
      started.push(name);
      held.set(name, permit);
    });
  return {
    limiter,
    started,
    refused,
    ask,
    release: (name: string) => held.get(name)?.release(),
    pause: (name: string) => held.get(name)?.pause() ?? (() => undefined),
    wait(ms: number) {
      now += ms;
    },
  };
}

describe('A concurrency limiter', () => {
  it('grants permits at once while some are free, then in the order of the queue', () => {
    const s = fixture({ concurrency: 2, queue: 3 });
    for (const name of ['a', 'b', 'c', 'd']) s.ask(name);
    expect(s.started).to.deep.equal(['a', 'b']);
    s.release('b');
    expect(s.started).to.deep.equal(['a', 'b', 'c']);
    s.release('a');
    expect(s.started).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(s.limiter).to.include({ busy: 2, waiting: 0 });
  });

  it('refuses an entry at once if the queue is full', () => {
    const s = fixture({ concurrency: 1, queue: 2 });
    for (const name of ['a', 'b', 'c']) s.ask(name);
    expect(s.limiter.isFull).to.equal(true);
    expect(s.ask('d')).to.equal(undefined);
    expect(s.refused).to.deep.equal(['d']);
  });

  it('grants or refuses at once if the queue has length 0', () => {
    const s = fixture({ concurrency: 1, queue: 0 });
    s.ask('a');
    s.ask('b');
    expect([s.started, s.refused]).to.deep.equal([['a'], ['b']]);
  });

  it('refuses an entry after it has waited for the limit, and not earlier', () => {
    const s = fixture({ concurrency: 1, queue: 5 });
    s.ask('a');
    s.ask('b');
    s.wait(60);
    s.ask('c');
    expect(s.limiter.expire()).to.equal(40);
    s.wait(39);
    expect(s.limiter.expire()).to.equal(1);
    expect(s.refused).to.deep.equal([]);
    s.wait(1);
    expect(s.limiter.expire()).to.equal(60);
    expect(s.refused).to.deep.equal(['b']);
    s.wait(60);
    expect(s.limiter.expire()).to.equal(undefined);
    expect(s.refused).to.deep.equal(['b', 'c']);
  });

  it('grants a released permit to the first entry that has not timed out, even before `expire` is called', () => {
    const s = fixture({ concurrency: 1, queue: 5 });
    s.ask('a');
    s.ask('late');
    s.wait(50);
    s.ask('c');
    s.wait(50);
    s.release('a');
    expect([s.started, s.refused]).to.deep.equal([['a', 'c'], ['late']]);
  });

  it('grants no permit to an entry that has left the queue, and removes the entry at once', () => {
    const s = fixture({ concurrency: 1, queue: 2 });
    s.ask('a');
    const b = s.ask('b');
    s.ask('c');
    b?.leave();
    b?.leave();
    expect(s.limiter.waiting).to.equal(1);
    s.ask('d');
    s.release('a');
    s.release('c');
    expect([s.started, s.refused]).to.deep.equal([['a', 'c', 'd'], []]);
  });

  it('releases a permit only once, even if `release` is called again', () => {
    const s = fixture({ concurrency: 1, queue: 5 });
    for (const name of ['a', 'b', 'c']) s.ask(name);
    s.release('a');
    s.release('a');
    expect(s.started).to.deep.equal(['a', 'b']);
    expect(s.limiter).to.include({ busy: 1, waiting: 1 });
  });

  it('gives a paused permit to the next entry, and takes it again at once when the pause ends', () => {
    const s = fixture({ concurrency: 1, queue: 5 });
    for (const name of ['a', 'b', 'c']) s.ask(name);
    const resume = s.pause('a');
    expect([s.started, s.limiter.busy]).to.deep.equal([['a', 'b'], 1]);
    resume();
    resume();
    expect([s.started, s.limiter.busy]).to.deep.equal([['a', 'b'], 2]);
    s.release('b');
    expect([s.started, s.limiter.busy], 'still one too many').to.deep.equal([['a', 'b'], 1]);
    s.release('a');
    expect([s.started, s.limiter.busy]).to.deep.equal([['a', 'b', 'c'], 1]);
  });

  it('counts a permit once that is released during its pause, paused twice, or paused after its release', () => {
    const s = fixture({ concurrency: 2, queue: 5 });
    for (const name of ['a', 'b', 'c']) s.ask(name);
    const resume = s.pause('a');
    const again = s.pause('a');
    expect(s.limiter.busy).to.equal(2);
    s.release('a');
    resume();
    again();
    expect(s.limiter.busy).to.equal(2);
    s.release('b');
    s.release('c');
    s.pause('c')();
    expect(s.limiter.busy).to.equal(0);
  });

  it('keeps its limits in any order of calls: it settles each entry at most once, and loses no permit', () => {
    const step = fc.oneof(
      fc.record({ does: fc.constant('ask' as const) }),
      fc.record({ does: fc.constant('release' as const), who: fc.nat(60) }),
      fc.record({ does: fc.constant('leave' as const), who: fc.nat(60) }),
      fc.record({ does: fc.constant('wait' as const), ms: fc.nat(80) }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(4),
        fc.array(step, { maxLength: 60 }),
        (concurrency, queue, steps) => {
          const s = fixture({ concurrency, queue });
          const entries: (QueueEntry | undefined)[] = [];
          const left = new Set<string>();
          const released = new Set<string>();
          for (const one of steps) {
            if (one.does === 'ask') entries.push(s.ask(String(entries.length)));
            else if (one.does === 'release') {
              if (s.started.includes(String(one.who))) released.add(String(one.who));
              s.release(String(one.who));
            } else if (one.does === 'leave') {
              const name = String(one.who);
              const isWaiting = !s.started.includes(name) && !s.refused.includes(name);
              if (entries[one.who] !== undefined && isWaiting) left.add(name);
              entries[one.who]?.leave();
            } else {
              s.wait(one.ms);
              s.limiter.expire();
            }
            expect(s.limiter.busy).to.be.at.most(concurrency);
            expect(s.limiter.waiting).to.be.at.most(queue);
            // No entry waits while a permit is free.
            if (s.limiter.waiting > 0) expect(s.limiter.busy).to.equal(concurrency);
          }
          const settled = [...s.started, ...s.refused];
          expect(new Set(settled).size).to.equal(settled.length);
          expect(settled.filter((name) => left.has(name))).to.deep.equal([]);
          expect(settled.length + left.size + s.limiter.waiting).to.equal(entries.length);
          expect(s.limiter.busy).to.equal(s.started.length - released.size);
        },
      ),
    );
  });

  it('removes an entry from a long queue in constant time', () => {
    const s = fixture({ concurrency: 1, queue: 200_000 });
    s.ask('first');
    const entries = Array.from({ length: 200_000 }, (_, at) => s.ask(String(at)));
    // The CPU time of this process, which other processes do not change.
    const began = process.cpuUsage();
    for (let at = 0; at < entries.length; at += 2) entries[at]?.leave();
    expect(s.limiter.waiting).to.equal(100_000);
    expect(process.cpuUsage(began).user / 1000).to.be.below(1000);
  });
});
