import { expect } from 'chai';
import { type Circuit, circuit, type Question } from '../../../adapters/identity-provider/circuit.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

describe('the circuit around the identity provider', () => {
  let clock: MovedClock;
  let gate: Circuit;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    gate = circuit(clock);
  });

  function ask(): Question {
    const question = gate.enter();
    if (question === undefined) throw new Error('nobody may ask');
    return question;
  }
  const fail = (times: number) => {
    for (let time = 0; time < times; time += 1) ask().failed();
  };
  const isOpen = () => gate.enter() === undefined;

  it('opens after five consecutive failures, not after four', () => {
    fail(4);
    ask().answered();
    fail(4);
    expect(isOpen()).to.equal(false);
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  it('says that it is open until the provider has answered, also while somebody may try', () => {
    expect(gate.isOpen()).to.equal(false);
    fail(5);
    expect(gate.isOpen()).to.equal(true);
    clock.advance(60);
    const probe = ask();
    expect(gate.isOpen()).to.equal(true);
    probe.answered();
    expect(gate.isOpen()).to.equal(false);
  });

  it('does not count what nothing was learnt from, nor take it for an answer', () => {
    fail(4);
    for (let time = 0; time < 10; time += 1) ask().unknown();
    expect(isOpen()).to.equal(false);
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  it('lets nobody through for five seconds, then exactly one', () => {
    fail(5);
    clock.advance(4.9);
    expect(isOpen()).to.equal(true);
    clock.advance(0.1);
    ask();
    for (let time = 0; time < 10; time += 1) expect(isOpen()).to.equal(true);
    clock.advance(60);
    expect(isOpen()).to.equal(true);
  });

  it('closes when that one is answered, and five more failures are needed to open it', () => {
    fail(5);
    clock.advance(5);
    ask().answered();
    fail(4);
    expect(isOpen()).to.equal(false);
    fail(1);
    expect(isOpen()).to.equal(true);
  });

  for (const outcome of ['failed', 'unknown'] as const) {
    it(`stays open for five seconds more when that one is ${outcome}, then lets one through again`, () => {
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

  it('lets questions from before it opened neither close it nor keep it open', () => {
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

  it('does not stay open for longer because the clock was put back', () => {
    fail(5);
    clock.advance(-3600);
    expect(isOpen()).to.equal(false);
  });
});
