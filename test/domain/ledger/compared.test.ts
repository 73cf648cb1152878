import { expect } from 'chai';
import { type Difference, settled } from '../../../domain/ledger/compared.ts';
import { atTime } from '../../support/ledger/archivings.ts';

const PART = { before: atTime('2026-10-01T00:00:00Z'), lastSeq: 40 };
const missing = (at: string, seq?: number): Difference => ({
  what: 'reason',
  id: '7',
  how: 'no_record',
  written: { at: atTime(at), ...(seq !== undefined && { seq }) },
});

describe('A record that the ledger lacks', () => {
  for (const [what, difference, part, how] of [
    ['of an archived month', missing('2026-09-30T23:59:59Z'), PART, 'archived'],
    ['of an archived month, with a number that was archived', missing('2026-09-30T23:59:59Z', 40), PART, 'archived'],
    ['if nothing was archived', missing('2026-09-30T23:59:59Z'), undefined, 'no_record'],
    ['of a later month', missing('2026-10-01T00:00:00Z'), PART, 'no_record'],
    ['of a later month, with a number that was archived', missing('2026-10-01T00:00:00Z', 1), PART, 'no_record'],
    ['with a later number', missing('2026-09-30T23:59:59Z', 41), PART, 'no_record'],
    ['with a number below 1', missing('2026-09-30T23:59:59Z', 0), PART, 'no_record'],
    ['of a row that does not say when', { what: 'task', id: '7', how: 'no_record' }, PART, 'no_record'],
    ['is not looked for if it is there', { ...missing('2026-09-01T00:00:00Z'), how: 'text' }, PART, 'text'],
  ] as const) {
    it(`counts as ${how}: ${what}`, () => {
      expect(settled(difference, part).how).to.equal(how);
    });
  }
});
