import { expect } from 'chai';
import { type Circuit, circuit, type Question } from '../../../adapters/identity-provider/circuit.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

describe('The circuit breaker of the identity provider', () => {
  let clock: MovedClock;
  let gate: Circuit;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    gate = circuit(clock);
  });

  let asked = 0;
  /** About another person each time, unless a person is named. */
  function ask(person = `person-${asked++}`): Question {
    const question = gate.enter(person);
    if (question === undefined) throw new Error('the circuit is open');
    return question;
  }
  const fail = (times: number, ...people: string[]) => {
    for (let time = 0; time < times; time += 1) ask(people[time % people.length]).failed();
  };
  const isOpen = () => gate.enter('another-person') === undefined;

  it('opens after five consecutive failures, not after four', () => {
    fail(4);
    ask().answered();
    fail(4);
    expect(isOpen()).to.equal(false);
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  it('opens only after failures about two people: one odd sub does not refuse all others', () => {
    fail(50, 'odd');
    expect(isOpen()).to.equal(false);
    ask('ada').answered();
    fail(4, 'odd');
    expect(isOpen()).to.equal(false);
    for (const people of [
      ['odd', 'odd', 'odd', 'odd', 'ada'],
      ['ada', 'odd', 'odd', 'odd', 'odd'],
      ['ada', 'odd'],
      ['odd', 'odd', 'ada'],
      ['', 'ada'],
    ]) {
      gate = circuit(clock);
      for (let nth = 0; nth < 5; nth += 1) {
        expect(isOpen(), people.join()).to.equal(false);
        ask(people[nth % people.length]).failed();
      }
      expect(isOpen(), people.join()).to.equal(true);
    }
  });

  it('lets the probe of another person go first after a probe that failed', () => {
    fail(5);
    clock.advance(5);
    ask('odd').failed();
    clock.advance(5);
    expect(gate.enter('odd')).to.equal(undefined);
    ask('ada').answered();
    expect(isOpen()).to.equal(false);
    fail(5);
    clock.advance(5);
    ask('odd').failed();
    clock.advance(10);
    ask('odd').answered();
    expect(isOpen(), 'without others it only takes longer').to.equal(false);
  });

  it('reports that it is open until the provider has answered, also while it admits a probe', () => {
    expect(gate.isOpen()).to.equal(false);
    fail(5);
    expect(gate.isOpen()).to.equal(true);
    clock.advance(60);
    const probe = ask();
    expect(gate.isOpen()).to.equal(true);
    probe.answered();
    expect(gate.isOpen()).to.equal(false);
  });

  it('counts a request with an unknown outcome neither as a failure nor as an answer', () => {
    fail(4);
    for (let time = 0; time < 10; time += 1) ask().unknown();
    expect(isOpen()).to.equal(false);
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  it('admits no request for five seconds, and then exactly one probe', () => {
    fail(5);
    clock.advance(4.9);
    expect(isOpen()).to.equal(true);
    clock.advance(0.1);
    ask();
    for (let time = 0; time < 10; time += 1) expect(isOpen()).to.equal(true);
    clock.advance(60);
    expect(isOpen()).to.equal(true);
  });

  it('closes after an answered probe, and opens again after five more failures', () => {
    fail(5);
    clock.advance(5);
    ask().answered();
    fail(4);
    expect(isOpen()).to.equal(false);
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  for (const outcome of ['failed', 'unknown'] as const) {
    it(`stays open for five more seconds after a probe whose outcome is ${outcome}, and then admits one again`, () => {
      fail(5);
      clock.advance(5);
      ask()[outcome]();
      expect(isOpen()).to.equal(true);
      clock.advance(4.9);
      expect(isOpen()).to.equal(true);
      clock.advance(0.1);
      ask().answered();
      expect(isOpen()).to.equal(false);
    });
  }

  it('ignores the outcome of requests that began before it opened', () => {
    const [answered, failed, late, lateAnswer] = [ask(), ask(), ask(), ask()];
    fail(5);
    answered.answered();
    expect(isOpen()).to.equal(true);
    clock.advance(4);
    failed.failed();
    clock.advance(1);
    ask().answered();
    fail(4);
    late.failed();
    expect(isOpen()).to.equal(false);
    lateAnswer.answered();
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  it('does not stay open longer when the clock is moved back', () => {
    fail(5);
    clock.advance(-3600);
    expect(isOpen()).to.equal(false);
  });
});
