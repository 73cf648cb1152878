import { expect } from 'chai';
import { judgeArchives } from '../../../application/doctor/ledger.ts';
import { sealedPart } from '../../../domain/ledger/archived-part.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { archivingOf, departedMonth, oldArchivingOf } from '../../support/ledger/archivings.ts';

const SEPTEMBER = departedMonth('2026-09', [1, 2], [1, 7]);
const OCTOBER = departedMonth('2026-10', [3, 3], [8, 9]);
const AT = '2026-12-03T10:00:00Z';

const sealed = (entry: object, checkpoint: number | undefined = 9) =>
  ({ seq: 50, checkpoint, ...entry }) as LedgerRecord;
const row = (month: string, lastCheckpoint?: number) => ({ month, lastCheckpoint });

describe('mandate doctor, on the archived months that the database lists', () => {
  const both = [row('2026-09', 2), row('2026-10', 3)];

  it('finds nothing if sealed records name them', () => {
    const all = sealed(archivingOf(AT, SEPTEMBER, OCTOBER));
    for (const [listed, records] of [
      [[], []],
      [[], [all]],
      [both, [all]],
      [both.slice(0, 1), [all]],
      // An earlier release: the record of September has left with a later month.
      [both, [sealed(oldArchivingOf(AT, OCTOBER))]],
      [[...both, row('2026-11')], [sealed(archivingOf(AT, SEPTEMBER, OCTOBER, departedMonth('2026-11')))]],
    ] as const) {
      expect(judgeArchives(listed, sealedPart(records)), JSON.stringify(listed)).to.equal(undefined);
    }
  });

  it('fails for a row that no sealed record names', () => {
    const september = sealed(archivingOf(AT, SEPTEMBER));
    for (const [listed, records, months] of [
      [[row('2026-01', 9)], [], '2026-01'],
      [both, [september], '2026-10'],
      [
        both,
        [sealed(archivingOf(AT, SEPTEMBER, OCTOBER), undefined)].map((one) => ({ ...one, checkpoint: undefined })),
        '2026-09, 2026-10',
      ],
      [[row('2026-09', 4)], [september], '2026-09'],
      [[row('2999-12')], [september], '2999-12'],
      [both, [sealed({ ...archivingOf(AT, SEPTEMBER, OCTOBER), detail: 'all' })], '2026-09, 2026-10'],
    ] as const) {
      const finding = judgeArchives(listed, sealedPart(records));
      expect(finding).to.have.property('status', 'failed');
      expect(finding?.sentence).to.equal(
        `ledger_archives lists months that no sealed record audit.archived names: ${months}.`,
      );
    }
  });
});
