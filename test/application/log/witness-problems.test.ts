import { expect } from 'chai';
import { presentProblems, pressingProblems } from '../../../application/log/witness-problems.ts';
import type { LogState, WitnessProblem } from '../../../application/ports/transparency-log.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';

describe('The problems of witnesses', () => {
  const stateOf = (published: number): LogState => ({
    origin: 'mandate.test/ledger',
    size: 9,
    root: '',
    note: 'a note',
    isWithheld: false,
    halted: undefined,
    published: { size: published, note: 'a note' },
  });
  const problem = (kind: WitnessProblem['kind']): WitnessProblem => ({
    witness: 'w.test/1',
    kind,
    detail: undefined,
    since: NOON,
  });
  const refusals = ['ahead', 'contradicted', 'unknown_key', 'unknown_log'] as const;
  const kinds = [...refusals, 'wrong_clock', 'wrong_answer', 'unavailable'] as const;
  const pressing = (published: number, seconds: number) =>
    pressingProblems(kinds.map(problem), stateOf(published), plusSeconds(NOON, seconds)).map(({ kind }) => kind);

  it('are pressing if they do not end by themselves', () => {
    expect(pressing(9, 0)).to.deep.equal([...refusals, 'wrong_clock']);
  });

  it('are all pressing while readers do not get the newest tree', () => {
    expect(pressing(8, 0)).to.deep.equal(kinds);
  });

  it('are all pressing if they last for an hour, also if readers get the newest tree without the witness', () => {
    expect(pressing(9, 3599)).to.have.length(5);
    expect(pressing(9, 3600)).to.deep.equal(kinds);
  });

  it('are those of the configured witnesses', () => {
    expect(presentProblems([problem('ahead')], ['w.test/2'])).to.deep.equal([]);
    expect(presentProblems([problem('ahead')], ['w.test/2', 'w.test/1'])).to.have.length(1);
  });
});
