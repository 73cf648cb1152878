import { expect } from 'chai';
import { rememberedAnswers } from '../../../adapters/identity-provider/polled-sponsors.ts';
import { type Instant, instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';

describe('A cached answer of the identity provider', () => {
  const start = instantFromSeconds(1_789_653_821);
  let now: Instant;
  /** Of the monotonic clock. */
  let elapsedMs: number;
  let answers: ReturnType<typeof rememberedAnswers>;
  beforeEach(() => {
    [now, elapsedMs] = [start, 0];
    answers = rememberedAnswers({ now: () => now }, () => elapsedMs);
  });
  const askedAfter = (seconds: number) => ({ at: plusSeconds(start, seconds), atMs: seconds * 1000 });
  /** Both clocks go on, unless the system clock is set. */
  const pass = (seconds: number, onTheClock = seconds) => {
    now = plusSeconds(now, onTheClock);
    elapsedMs += seconds * 1000;
  };

  it('is returned up to exactly the accepted age', () => {
    answers.remember('ada', 'active', askedAfter(0));
    now = plusSeconds(start, 30);
    expect(answers.find('ada', 30)).to.equal('active');
    now = plusSeconds(start, 30.000001);
    expect(answers.find('ada', 30)).to.equal(undefined);
    expect(answers.find('ada', 31)).to.equal('active');
  });

  it('is not returned when the clock is moved back before its time', () => {
    answers.remember('ada', 'active', askedAfter(0));
    now = plusSeconds(start, -1);
    expect(answers.find('ada', 30)).to.equal(undefined);
  });

  it('is not returned again when the clock reaches its time a second time', () => {
    for (const [title, meanwhile] of [
      ['not asked meanwhile', () => undefined],
      ['asked meanwhile', () => answers.find('ada', 30)],
    ] as const) {
      // The clock is an hour ahead for a moment.
      pass(0, 3600);
      answers.remember('ada', 'active', { at: now, atMs: elapsedMs });
      pass(1, -3600);
      meanwhile();
      pass(3605);
      expect(answers.find('ada', 30), title).to.equal(undefined);
    }
  });

  it('is replaced by that of a later request after the clock was set back', () => {
    pass(0, 3600);
    answers.remember('ada', 'active', { at: now, atMs: elapsedMs });
    pass(1, -3600);
    answers.remember('ada', 'sponsor_disabled', { at: now, atMs: elapsedMs });
    expect(answers.find('ada', 30)).to.equal('sponsor_disabled');
    pass(3600);
    expect(answers.find('ada', 30)).to.equal(undefined);
  });

  it('is the answer to the latest request, in any order of arrival', () => {
    answers.remember('ada', 'sponsor_disabled', askedAfter(2));
    answers.remember('ada', 'active', askedAfter(1));
    now = plusSeconds(start, 2);
    expect(answers.find('ada', 30)).to.equal('sponsor_disabled');
    answers.remember('ada', 'active', askedAfter(2));
    expect(answers.find('ada', 30)).to.equal('active');
  });

  it('is removed by a different answer, and kept by an equal one', () => {
    answers.remember('ada', 'active', askedAfter(0));
    answers.contradict('ada', 'active');
    expect(answers.find('ada', 30)).to.equal('active');
    answers.contradict('ada', 'sponsor_not_found');
    expect(answers.find('ada', 30)).to.equal(undefined);
  });

  it('is kept for the ten thousand people whom the provider was asked about last', () => {
    answers.remember('first', 'active', askedAfter(0));
    for (let person = 1; person < 10_000; person += 1) answers.remember(`person ${person}`, 'active', askedAfter(0));
    answers.remember('first', 'active', askedAfter(0));
    answers.remember('one more', 'active', askedAfter(0));
    expect(answers.find('person 1', 30)).to.equal(undefined);
    expect(answers.find('first', 30)).to.equal('active');
    expect(answers.find('person 2', 30)).to.equal('active');
  });
});
