import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { type LiftVerdict, liftBlock } from '../../../application/decisions/lift-block.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { ADA, aStatedBlock, lockNames, SOURCES } from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 90_000_007);
const about = { at, event: 'sponsor.unblocked', sponsor: ADA } as const;
const entry: LedgerEntry = { ...about, decision: 'allow', reason: 'operator_unblocked' };
const refusal: LedgerEntry = { ...about, decision: 'deny', reason: 'sponsor_block_not_owned' };
const lift = (source: (typeof SOURCES)[number]) => ({ sponsorKey: ADA, source, entry, refusal });
const blocksOf = (sources: readonly (typeof SOURCES)[number][]) => sources.map((source) => aStatedBlock({ source }));

describe('liftBlock', () => {
  it('locks the person exclusively, and reads the blocks of the person', () => {
    expect(lockNames(liftBlock.locks(lift('admin')))).to.deep.equal([`exclusive sponsor ${ADA}`]);
    expect(liftBlock.asks(lift('admin'))).to.deep.equal({ blocks: ask('blocks', ADA) });
  });

  for (const source of SOURCES) {
    const others = SOURCES.filter((one) => one !== source);
    for (const beside of [[], others.slice(0, 1), others.slice(1), others]) {
      const title = beside.length === 0 ? 'no other block' : `blocks of ${beside.join(' and ')}`;

      it(`removes the block of ${source} beside ${title}, and records it`, () => {
        expect(liftBlock.judge(lift(source), { blocks: blocksOf([...beside, source]) })).to.deep.equal({
          verdict: 'lifted',
          effects: [
            { effect: 'remove_block', sponsorKey: ADA, source },
            { effect: 'append', entries: [entry] },
          ],
        });
      });

      if (beside.length === 0) continue;

      it(`refuses a lift by ${source} of ${title}, and records the refusal`, () => {
        const judgement = { verdict: 'not_owned', effects: [{ effect: 'append', entries: [refusal] }] };
        expect(liftBlock.judge(lift(source), { blocks: blocksOf(beside) })).to.deep.equal(judgement);
      });
    }

    it(`finds nothing to lift for ${source} without any block, and records nothing`, () => {
      const judgement = { verdict: 'not_blocked', effects: [] };
      expect(liftBlock.judge(lift(source), { blocks: [] })).to.deep.equal(judgement);
    });
  }

  const tooOld: LedgerEntry = { at, event: 'me.denied', sponsor: 'ada', decision: 'deny', reason: 'sign_in_too_old' };
  it('keeps the block of a person who signed in too long ago, and records the refusal', () => {
    const input = { ...lift('self'), tooOld };
    const judgement = { verdict: 'sign_in_too_old', effects: [{ effect: 'append', entries: [tooOld] }] };
    expect(liftBlock.judge(input, { blocks: blocksOf(['self', 'ssf']) })).to.deep.equal(judgement);
    expect(liftBlock.judge(input, { blocks: blocksOf(['ssf']) }).verdict).to.equal('not_owned');
    expect(liftBlock.judge(input, { blocks: [] }).verdict).to.equal('not_blocked');
    const denial = { event: 'me.denied', reason: 'sign_in_too_old' };
    expect(liftBlock.denial?.(input, 'sign_in_too_old')).to.deep.equal(denial);
  });

  it('keeps the pause of a person whom another source blocks too, however recent their sign-in, and records the refusal', () => {
    const input = { ...lift('self'), onlyAlone: true };
    const judgement = { verdict: 'not_owned', effects: [{ effect: 'append', entries: [refusal] }] };
    for (const given of [input, { ...input, tooOld }]) {
      expect(liftBlock.judge(given, { blocks: blocksOf(['self', 'ssf']) })).to.deep.equal(judgement);
    }
    expect(liftBlock.judge(input, { blocks: blocksOf(['self']) }).verdict).to.equal('lifted');
  });

  it('keeps a first operator’s request until the earlier of two clocks has passed its end', () => {
    const operator = {
      kind: 'person',
      issuer: 'https://idp.example',
      subject: 'rita',
      sponsorKey: 'rita',
      roles: [],
    } as const;
    const act = { operator, at, role: 'responder', route: 'DELETE /x', reason: 'Back', sealed: undefined } as const;
    // By the clock of this instance, which dates the record, the request was over a second ago.
    const forgetAt = plusSeconds(at, -1);
    const pending = { issuer: 'https://idp.example', subject: 'olga', operatorKey: 'olga', forgetAt };
    const verdictAt = (earliest: Instant) =>
      liftBlock.judge({ ...lift('admin'), act, twoPersons: { earliest } }, { blocks: blocksOf(['admin']), pending })
        .verdict;
    expect(verdictAt(instantFromMicros(forgetAt - 1))).to.equal('lifted');
    expect(verdictAt(forgetAt)).to.equal('pending');
  });

  it('counts only the refusal as a denial', () => {
    const denialOf = (verdict: LiftVerdict) => liftBlock.denial?.(lift('admin'), verdict);
    const denial = { event: 'sponsor.unblocked', reason: 'sponsor_block_not_owned' };
    expect(denialOf('not_owned')).to.deep.equal(denial);
    expect([denialOf('lifted'), denialOf('not_blocked')]).to.deep.equal([undefined, undefined]);
  });
});
