import { expect } from 'chai';
import fc from 'fast-check';
import { type Place, type Turn, turns } from '../../../../adapters/http/admission/turns.ts';

/** Turns with a clock of ours, and what everybody who asked was told. */
function scene(limits: { concurrency: number; queue: number; waitMs?: number }) {
  let now = 1000;
  const line = turns({ waitMs: 100, ...limits }, () => now);
  const held = new Map<string, Turn>();
  const refused: string[] = [];
  const started: string[] = [];
  const ask = (name: string): Place | undefined =>
    line.ask((turn) => {
      if (turn === undefined) {
        refused.push(name);
        return;
      }
      started.push(name);
      held.set(name, turn);
    });
  return {
    line,
    started,
    refused,
    ask,
    release: (name: string) => held.get(name)?.release(),
    wait(ms: number) {
      now += ms;
    },
  };
}

describe('Turns', () => {
  it('are given at once while there are any, then in the order of asking', () => {
    const s = scene({ concurrency: 2, queue: 3 });
    for (const name of ['a', 'b', 'c', 'd']) s.ask(name);
    expect(s.started).to.deep.equal(['a', 'b']);
    s.release('b');
    expect(s.started).to.deep.equal(['a', 'b', 'c']);
    s.release('a');
    expect(s.started).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(s.line).to.include({ busy: 2, waiting: 0 });
  });

  it('are refused at once to whoever finds the line full', () => {
    const s = scene({ concurrency: 1, queue: 2 });
    for (const name of ['a', 'b', 'c']) s.ask(name);
    expect(s.line.isFull).to.equal(true);
    expect(s.ask('d')).to.equal(undefined);
    expect(s.refused).to.deep.equal(['d']);
  });

  it('are had at once or not at all where nobody may wait', () => {
    const s = scene({ concurrency: 1, queue: 0 });
    s.ask('a');
    s.ask('b');
    expect([s.started, s.refused]).to.deep.equal([['a'], ['b']]);
  });

  it('are refused to whoever has waited for as long as is waited, and to nobody earlier', () => {
    const s = scene({ concurrency: 1, queue: 5 });
    s.ask('a');
    s.ask('b');
    s.wait(60);
    s.ask('c');
    expect(s.line.expire()).to.equal(40);
    s.wait(39);
    expect(s.line.expire()).to.equal(1);
    expect(s.refused).to.deep.equal([]);
    s.wait(1);
    expect(s.line.expire()).to.equal(60);
    expect(s.refused).to.deep.equal(['b']);
    s.wait(60);
    expect(s.line.expire()).to.equal(undefined);
    expect(s.refused).to.deep.equal(['b', 'c']);
  });

  it('go to the next who still is in time, even where nobody has looked at the time', () => {
    const s = scene({ concurrency: 1, queue: 5 });
    s.ask('a');
    s.ask('late');
    s.wait(50);
    s.ask('c');
    s.wait(50);
    s.release('a');
    expect([s.started, s.refused]).to.deep.equal([['a', 'c'], ['late']]);
  });

  it('are never given to whoever has left, whose place is free at once', () => {
    const s = scene({ concurrency: 1, queue: 2 });
    s.ask('a');
    const b = s.ask('b');
    s.ask('c');
    b?.leave();
    b?.leave();
    expect(s.line.waiting).to.equal(1);
    s.ask('d');
    s.release('a');
    s.release('c');
    expect([s.started, s.refused]).to.deep.equal([['a', 'c', 'd'], []]);
  });

  it('are released once, however often that is said', () => {
    const s = scene({ concurrency: 1, queue: 5 });
    for (const name of ['a', 'b', 'c']) s.ask(name);
    s.release('a');
    s.release('a');
    expect(s.started).to.deep.equal(['a', 'b']);
    expect(s.line).to.include({ busy: 1, waiting: 1 });
  });

  it('add up in any history: none over the limits, nobody told twice, nobody forgotten, none lost', () => {
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
          const s = scene({ concurrency, queue });
          const places: (Place | undefined)[] = [];
          const left = new Set<string>();
          const released = new Set<string>();
          for (const one of steps) {
            if (one.does === 'ask') places.push(s.ask(String(places.length)));
            else if (one.does === 'release') {
              if (s.started.includes(String(one.who))) released.add(String(one.who));
              s.release(String(one.who));
            } else if (one.does === 'leave') {
              const name = String(one.who);
              const isWaiting = !s.started.includes(name) && !s.refused.includes(name);
              if (places[one.who] !== undefined && isWaiting) left.add(name);
              places[one.who]?.leave();
            } else {
              s.wait(one.ms);
              s.line.expire();
            }
            expect(s.line.busy).to.be.at.most(concurrency);
            expect(s.line.waiting).to.be.at.most(queue);
            // Nobody waits while a turn is free.
            if (s.line.waiting > 0) expect(s.line.busy).to.equal(concurrency);
          }
          const told = [...s.started, ...s.refused];
          expect(new Set(told).size).to.equal(told.length);
          expect(told.filter((name) => left.has(name))).to.deep.equal([]);
          expect(told.length + left.size + s.line.waiting).to.equal(places.length);
          expect(s.line.busy).to.equal(s.started.length - released.size);
        },
      ),
    );
  });

  it('stay cheap in a line of a million: leaving and being called take no longer than in a short one', () => {
    const s = scene({ concurrency: 1, queue: 200_000 });
    s.ask('first');
    const places = Array.from({ length: 200_000 }, (_, at) => s.ask(String(at)));
    // Of its own time: a machine that is busy with something else is not counted.
    const began = process.cpuUsage();
    for (let at = 0; at < places.length; at += 2) places[at]?.leave();
    expect(s.line.waiting).to.equal(100_000);
    expect(process.cpuUsage(began).user / 1000).to.be.below(1000);
  });
});
