import { expect } from 'chai';
import fc from 'fast-check';
import { instantFromMicros } from '../../../domain/instant.ts';
import { anyAct, blockModel, inBrief } from '../../support/block-model.ts';
import { ADA } from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { peopleInMemory } from '../../support/people-in-memory.ts';

describe('Blocks of several sources', () => {
  it('are placed, repeated and lifted only by their own source, in every order, with exactly the expected records', async () => {
    const acts = fc.array(fc.oneof(anyAct.admin, anyAct.scim, anyAct.self, anyAct.ssf), {
      minLength: 4,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(acts, async (history) => {
        const { decisions, blocksOf, records } = peopleInMemory();
        const person = blockModel(ADA);
        const expected: string[] = [];
        for (const [nth, act] of history.entries()) {
          // Each block has its own time. Blocks of one time would be ordered by their sources.
          expected.push(...(await person.act(decisions, act, instantFromMicros(NOON + nth))));
          expect(records.map(inBrief)).to.deep.equal(expected);
          expect(blocksOf(ADA).map(({ statedAt, ...block }) => block)).to.deep.equal(person.blocks());
        }
        expect(records.every(({ sponsor }) => sponsor === ADA)).to.equal(true);
      }),
      { numRuns: 150 },
    );
  });
});
