import { expect } from 'chai';
import { rememberedAnswers } from '../../../adapters/identity-provider/polled-sponsors.ts';
import { type Instant, instantFromSeconds, plusSeconds } from '../../../domain/instant.ts';

describe('A cached answer of the identity provider', () => {
  const start = instantFromSeconds(1_789_653_821);
  let now: Instant;
  let answers: ReturnType<typeof rememberedAnswers>;
  beforeEach(() => {
    now = start;
    answers = rememberedAnswers({ now: () => now });
  });

  it('is returned up to exactly the accepted age', () => {
    answers.remember('ada', 'active', start);
    now = plusSeconds(start, 30);
    expect(answers.find('ada', 30)).to.equal('active');
    now = plusSeconds(start, 30.000001);
    expect(answers.find('ada', 30)).to.equal(undefined);
    expect(answers.find('ada', 31)).to.equal('active');
  });

  it('is not returned when the clock is moved back before its time', () => {
    answers.remember('ada', 'active', start);
    now = plusSeconds(start, -1);
    expect(answers.find('ada', 30)).to.equal(undefined);
  });

  it('is the answer to the latest request, in any order of arrival', () => {
    answers.remember('ada', 'sponsor_disabled', plusSeconds(start, 2));
    answers.remember('ada', 'active', plusSeconds(start, 1));
    now = plusSeconds(start, 2);
    expect(answers.find('ada', 30)).to.equal('sponsor_disabled');
    answers.remember('ada', 'active', plusSeconds(start, 2));
    expect(answers.find('ada', 30)).to.equal('active');
  });

  it('is removed by a different answer, and kept by an equal one', () => {
    answers.remember('ada', 'active', start);
    answers.contradict('ada', 'active');
    expect(answers.find('ada', 30)).to.equal('active');
    answers.contradict('ada', 'sponsor_not_found');
    expect(answers.find('ada', 30)).to.equal(undefined);
  });

  it('is kept for the ten thousand people whom the provider was asked about last', () => {
    answers.remember('first', 'active', start);
    for (let person = 1; person < 10_000; person += 1) answers.remember(`person ${person}`, 'active', start);
    answers.remember('first', 'active', start);
    answers.remember('one more', 'active', start);
    expect(answers.find('person 1', 30)).to.equal(undefined);
    expect(answers.find('first', 30)).to.equal('active');
    expect(answers.find('person 2', 30)).to.equal('active');
  });
});
