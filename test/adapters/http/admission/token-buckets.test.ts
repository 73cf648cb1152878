import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { type BucketRules, tokenBuckets } from '../../../../adapters/http/admission/rate-limit.ts';
import { type Instant, instantFromMillis, plusSeconds } from '../../../../domain/instant.ts';
import { permitsPerSecond } from '../../../../domain/rate.ts';

const START = instantFromMillis(1_789_653_821_882);
const at = (seconds: number): Instant => plusSeconds(START, seconds);

/** The number of admitted requests among `count` requests at the same time. */
function admitted(buckets: ReturnType<typeof tokenBuckets>, source: string, count: number, now: Instant): number {
  return Array.from({ length: count }, () => buckets.take(source, now)).filter((isAdmitted) => isAdmitted).length;
}

describe('A token bucket', () => {
  it('admits its burst at once, and then a sixtieth of its rate, rounded up, each second', () => {
    const buckets = tokenBuckets({ permitsPerMinute: 130, burst: 7 });
    expect(admitted(buckets, 'a', 20, at(0))).to.equal(7);
    expect(admitted(buckets, 'a', 20, at(0.999))).to.equal(0);
    expect(admitted(buckets, 'a', 20, at(1))).to.equal(3);
    expect(admitted(buckets, 'a', 20, at(1.5))).to.equal(0);
    expect(admitted(buckets, 'a', 20, at(3))).to.equal(6);
  });

  it('never holds more than its burst after a long time without requests', () => {
    const buckets = tokenBuckets({ permitsPerMinute: 600, burst: 12 });
    expect(admitted(buckets, 'a', 100, at(0))).to.equal(12);
    expect(admitted(buckets, 'a', 100, at(86_400))).to.equal(12);
  });

  it('is separate for each source', () => {
    const buckets = tokenBuckets({ permitsPerMinute: 60, burst: 2 });
    expect(admitted(buckets, 'a', 5, at(0))).to.equal(2);
    expect(admitted(buckets, 'b', 5, at(0))).to.equal(2);
  });

  it('takes no permit for a refused request', () => {
    const buckets = tokenBuckets({ permitsPerMinute: 60, burst: 2 });
    expect(admitted(buckets, 'a', 1000, at(0))).to.equal(2);
    expect(admitted(buckets, 'a', 1000, at(1))).to.equal(1);
  });

  it('keeps its permits when the clock is moved back', () => {
    const buckets = tokenBuckets({ permitsPerMinute: 60, burst: 3 });
    expect(admitted(buckets, 'a', 9, at(100_000))).to.equal(3);
    expect(admitted(buckets, 'a', 9, at(0))).to.equal(0);
    expect(admitted(buckets, 'a', 9, at(2))).to.equal(2);
  });

  it('admits at most its burst and its refills in any time window of any history', () => {
    const rules = fc
      .tuple(fc.integer({ min: 1, max: 400 }), fc.nat(20))
      .map(([permitsPerMinute, more]): BucketRules => {
        return { permitsPerMinute, burst: permitsPerSecond({ permitsPerMinute }) + more };
      });
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000_000 }), fc.integer({ min: 1, max: 30 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(rules, steps, (rule, history) => {
        const buckets = tokenBuckets(rule);
        const passed: (readonly [micros: number, count: number])[] = [];
        let micros = 0;
        for (const [later, count] of history) {
          micros += later;
          passed.push([micros, admitted(buckets, 'a', count, at(micros / 1_000_000))]);
        }
        for (const [from, first] of passed.entries()) {
          let sum = 0;
          for (const [micros, count] of passed.slice(from)) {
            sum += count;
            // A window contains at most one refill more than it has whole seconds.
            const refills = Math.floor((micros - first[0]) / 1_000_000) + 1;
            expect(sum).to.be.at.most(rule.burst + refills * permitsPerSecond(rule));
          }
        }
      }),
    );
  });

  it('admits every request below its rate', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60 }), (perSecond, seconds) => {
        const buckets = tokenBuckets({ permitsPerMinute: perSecond * 60, burst: perSecond });
        for (let second = 0; second < seconds; second += 1) {
          expect(admitted(buckets, 'a', perSecond, at(second))).to.equal(perSecond);
        }
      }),
    );
  });
});

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}

describe('The buckets of many sources', () => {
  const rules: BucketRules = { permitsPerMinute: 600, burst: 120 };
  const isEmpty = (buckets: ReturnType<typeof tokenBuckets>, source: string, now: Instant) =>
    !buckets.take(source, now);

  it('take at most 10 MiB for a million sources', () => {
    const collectGarbage = garbageCollector();
    const buckets = tokenBuckets(rules);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    // The requests take ten seconds in total. Removed buckets make room for other sources.
    for (let index = 0; index < 1_000_000; index += 1) {
      buckets.take(`${index.toString(16).padStart(16, '0')}/64`, at(index / 100_000));
      if (index % 10_000 === 0) expect(buckets.size).to.be.at.most(50_000);
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).to.be.below(10 * 1024 * 1024);
    expect(buckets.size).to.be.within(40_000, 50_000);
  });

  it('remove full buckets, a few at a time', () => {
    const buckets = tokenBuckets(rules);
    for (let index = 0; index < 10_000; index += 1) buckets.take(`early ${index}`, at(0));
    expect(buckets.size).to.equal(10_000);
    for (let index = 0; index < 5000; index += 1) buckets.take(`late ${index}`, at(2));
    expect(buckets.size).to.be.below(5100);
  });

  it('do not remove a bucket before it is full again, also under requests of many other sources', () => {
    const buckets = tokenBuckets(rules, 100);
    expect(admitted(buckets, 'greedy', 500, at(0))).to.equal(120);
    for (let index = 0; index < 10_000; index += 1) buckets.take(`other ${index}`, at(0.5));
    expect(isEmpty(buckets, 'greedy', at(0.9))).to.equal(true);
    // After 5 s the bucket has its refills only: 10 permits a second.
    for (let index = 0; index < 10_000; index += 1) buckets.take(`another ${index}`, at(5));
    expect(admitted(buckets, 'greedy', 500, at(5))).to.equal(50);
  });

  it('give new sources one shared bucket once all buckets are taken, and keep those of known sources', () => {
    const buckets = tokenBuckets(rules, 100);
    for (let index = 0; index < 100; index += 1) expect(buckets.take(`known ${index}`, at(0))).to.equal(true);
    const strangers = Array.from({ length: 1000 }, (_, index) => buckets.take(`stranger ${index}`, at(0)));
    expect(strangers.filter((isAdmitted) => isAdmitted)).to.have.length(120);
    expect(buckets.size).to.equal(100);
    expect(admitted(buckets, 'known 7', 500, at(0))).to.equal(119);
  });

  it('accept new sources again when buckets of known sources are full', () => {
    const buckets = tokenBuckets(rules, 100);
    for (let index = 0; index < 1000; index += 1) buckets.take(`a ${index}`, at(0));
    let admittedLater = 0;
    for (let index = 0; index < 100; index += 1) admittedLater += admitted(buckets, `b ${index}`, 2, at(1));
    expect(admittedLater).to.be.above(190);
  });
});
