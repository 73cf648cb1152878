import { expect } from 'chai';
import fc from 'fast-check';
import { type LifetimeRules, type Lifetimes, resolveLifetimes } from '../../../domain/agents/lifetimes.ts';
import { RULES } from '../../support/registrations.ts';

const rules = RULES.lifetimes;
const resolve = (maxTaskTtl: number | undefined, maxTokenTtl: number | undefined) =>
  resolveLifetimes({ maxTaskTtl, maxTokenTtl }, rules);
const resolved = (maxTaskTtl: number, maxTokenTtl: number) => ({
  kind: 'resolved',
  lifetimes: { maxTaskTtl, maxTokenTtl },
});

describe('the lifetimes of a registration', () => {
  it('are the defaults if the registration names none', () => {
    expect(resolve(undefined, undefined)).to.deep.equal(resolved(1800, 300));
  });

  it('shorten the default token lifetime to a given shorter task lifetime', () => {
    expect(resolve(120, undefined)).to.deep.equal(resolved(120, 120));
  });

  it('keep the default token lifetime with a given longer task lifetime', () => {
    expect(resolve(7200, undefined)).to.deep.equal(resolved(7200, 300));
  });

  it('are the given ones, however far from the defaults', () => {
    expect(resolve(86_400, 3600)).to.deep.equal(resolved(86_400, 3600));
    expect(resolve(60, 30)).to.deep.equal(resolved(60, 30));
  });

  it('extend the default task lifetime to a given longer token lifetime', () => {
    expect(resolve(undefined, 2700)).to.deep.equal(resolved(2700, 2700));
  });

  it('may be equal to each other', () => {
    expect(resolve(600, 600)).to.deep.equal(resolved(600, 600));
  });

  it('refuse a token lifetime longer than the task lifetime', () => {
    expect(resolve(600, 601)).to.deep.equal({
      kind: 'refused',
      problems: [{ lifetime: 'maxTokenTtl', fault: 'longer_than_task' }],
    });
  });

  const outside: readonly [number | undefined, number | undefined, keyof Lifetimes, number, number][] = [
    [59, undefined, 'maxTaskTtl', 60, 86_400],
    [86_401, undefined, 'maxTaskTtl', 60, 86_400],
    [undefined, 29, 'maxTokenTtl', 30, 3600],
    [undefined, 3601, 'maxTokenTtl', 30, 3600],
    [90.5, undefined, 'maxTaskTtl', 60, 86_400],
  ];
  for (const [task, token, lifetime, min, max] of outside) {
    it(`refuse ${lifetime} of ${task ?? token} seconds, and name its bounds`, () => {
      expect(resolve(task, token)).to.deep.equal({
        kind: 'refused',
        problems: [{ lifetime, fault: 'out_of_bounds', min, max }],
      });
    });
  }

  it('report every problem at once', () => {
    const verdict = resolve(59, 3601);
    expect(verdict.kind === 'refused' && verdict.problems.map(({ fault }) => fault)).to.deep.equal([
      'out_of_bounds',
      'out_of_bounds',
      'longer_than_task',
    ]);
  });

  it('refuse a token lifetime beyond the longest task, even if it is within the bounds of tokens', () => {
    const narrow = { ...rules, maxTaskTtl: 1800 };
    expect(resolveLifetimes({ maxTaskTtl: undefined, maxTokenTtl: 3600 }, narrow).kind).to.equal('refused');
  });

  // Any settings that pass the start-up checks, and any given lifetimes.
  const someRules: fc.Arbitrary<LifetimeRules> = fc
    .tuple(...Array.from({ length: 6 }, () => fc.integer({ min: 1, max: 200_000 })))
    .map((numbers) => numbers.sort((a, b) => a - b))
    .map(
      ([
        minTokenTtl = 1,
        minTaskTtl = 1,
        defaultTokenTtl = 1,
        defaultTaskTtl = 1,
        maxTokenTtl = 1,
        maxTaskTtl = 1,
      ]) => ({
        minTokenTtl,
        minTaskTtl,
        defaultTokenTtl,
        defaultTaskTtl,
        maxTokenTtl,
        maxTaskTtl,
      }),
    );
  const someLifetime = fc.option(fc.integer({ min: -1, max: 210_000 }), { nil: undefined });

  it('keep a token within its task, both within bounds, and given lifetimes unchanged, for any settings', () => {
    fc.assert(
      fc.property(someRules, someLifetime, someLifetime, (settings, task, token) => {
        const verdict = resolveLifetimes({ maxTaskTtl: task, maxTokenTtl: token }, settings);
        if (verdict.kind === 'refused') return;
        const { maxTaskTtl, maxTokenTtl } = verdict.lifetimes;
        expect(maxTokenTtl).to.be.at.most(maxTaskTtl);
        expect(maxTaskTtl).to.be.within(settings.minTaskTtl, settings.maxTaskTtl);
        expect(maxTokenTtl).to.be.within(settings.minTokenTtl, settings.maxTokenTtl);
        if (task !== undefined) expect(maxTaskTtl).to.equal(task);
        if (token !== undefined) expect(maxTokenTtl).to.equal(token);
      }),
    );
  });

  it('refuse only a lifetime outside its bounds, or a token lifetime that is longer than the task lifetime', () => {
    fc.assert(
      fc.property(someRules, someLifetime, someLifetime, (settings, task, token) => {
        const { minTaskTtl, maxTaskTtl, minTokenTtl, maxTokenTtl } = settings;
        const acceptable =
          (task === undefined || (task >= minTaskTtl && task <= maxTaskTtl)) &&
          (token === undefined || (token >= minTokenTtl && token <= maxTokenTtl)) &&
          (task === undefined || token === undefined || token <= task);
        const verdict = resolveLifetimes({ maxTaskTtl: task, maxTokenTtl: token }, settings);
        expect(verdict.kind).to.equal(acceptable ? 'resolved' : 'refused');
      }),
    );
  });
});
