/**
 * Each effect of decisions (application/decisions/effect.ts), applied to full values, and each fact
 * (application/decisions/fact.ts), before and after the effect. A new effect or fact without a row fails.
 */

import { expect } from 'chai';
import { EFFECT_ORDER, type EffectName } from '../../application/decisions/effect.ts';
import type { About, FactName } from '../../application/decisions/fact.ts';
import { everyDatabase } from '../support/databases.ts';
import { asked, type EffectRows } from './effect-row.ts';
import { effectsOfApprovals } from './effects-of-approvals.ts';
import { effectsOfAuthorizations } from './effects-of-authorizations.ts';
import { effectsOfPeople } from './effects-of-people.ts';
import { effectsOfRecords } from './effects-of-records.ts';
import { effectsOfRegistrations } from './effects-of-registrations.ts';
import { effectsOfTasks } from './effects-of-tasks.ts';
import { everyDecision } from './every-decision.ts';
import { facts } from './facts.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { type RawStorage, rawStorage } from './raw-storage.ts';
import { aWorld } from './world.ts';

const effects: EffectRows = {
  ...effectsOfTasks,
  ...effectsOfRecords,
  ...effectsOfApprovals,
  ...effectsOfAuthorizations,
  ...effectsOfPeople,
  ...effectsOfRegistrations,
};

onEveryDatabase(
  'decisions',
  (stage) => {
    let storage: RawStorage;
    beforeEach(async () => {
      storage = await rawStorage(stage);
    });
    afterEach(() => storage.close());

    for (const name of Object.keys(effects) as EffectName[]) {
      it(`change what an effect names, and nothing else: ${name}`, async () => {
        const { given = [], effect, seen } = effects[name]();
        expect(effect.effect).to.equal(name);
        for (const each of given) await storage.apply(each);
        for (const [see, before] of seen) expect(await see(storage), `before: ${see}`).to.deep.equal(before);
        await storage.apply(effect);
        for (const [see, , after] of seen) expect(await see(storage), `after: ${see}`).to.deep.equal(after);
      });
    }

    for (const [title, fact] of Object.entries(facts)) {
      it(`read a fact: ${title}`, async () => {
        const { name, given, answers, sorted = (found) => found } = fact();
        for (const each of given) await storage.apply(each);
        for (const [about, answer] of answers) {
          const found = await storage.read(name, about as About<FactName>);
          expect(sorted(found), JSON.stringify(about)).to.deep.equal(answer);
        }
      });
    }
  },
  everyDatabase,
);

describe('The matrix of effects and facts', () => {
  it('has every effect', () => {
    expect(Object.keys(effects)).to.have.members([...EFFECT_ORDER]);
  });

  it('asks every fact that a decision asks', () => {
    for (const row of Object.values(effects)) row();
    for (const fact of Object.values(facts)) fact();
    const world = aWorld();
    const questions = Object.values(everyDecision).flatMap(({ decision, input }) =>
      Object.values(decision.asks(input(world))).flat(),
    );
    const needed = new Set(questions.flatMap((question) => (question === undefined ? [] : [question.fact])));
    expect([...needed].filter((name) => !asked.has(name))).to.deep.equal([]);
    expect(needed.size).to.be.greaterThan(20);
  });
});
