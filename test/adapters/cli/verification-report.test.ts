import { expect } from 'chai';
import { renderExportReport, renderLedgerReport } from '../../../adapters/cli/verification-report.ts';
import { archivedPart } from '../../../domain/ledger/archived-part.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { type Month, parseMonth } from '../../../domain/ledger/time-range.ts';
import { archivingOf, departedMonth } from '../../support/ledger/archivings.ts';

const ROOT = 'a'.repeat(64);
const OCTOBER = parseMonth('2026-10') as Month;
const broken = {
  kind: 'broken',
  fault: { kind: 'tree_size', checkpointId: 7, sealed: 5, held: 4 },
  counts: { checkpoints: 6, records: 1, archived: 3 },
  lastMark: { checkpointId: 6, rootHash: ROOT },
} as const;
const counts = { checkpoints: 5, records: 1, archived: 3, unsealed: 2 };
const SHA256 = 'ab'.repeat(32);
const archiving = archivingOf(
  '2026-11-03T10:00:00Z',
  departedMonth('2026-09'),
  departedMonth('2026-10', [1, 3], [1, 9]),
);
const part = archivedPart({ seq: 12, ...archiving });
const departed = part === undefined ? [] : [part];
const EXPORTS = [
  'Record 12 names what was archived. Verify each export with --archive, and compare its SHA-256:',
  `  2026-09: no checkpoint, ${SHA256}`,
  `  2026-10: checkpoints 1 to 3, ${SHA256}`,
];
const exported = {
  archived_by: 12,
  exports: [
    { month: '2026-09', checkpoints: null, sequence: null, sha256: SHA256 },
    { month: '2026-10', checkpoints: { first: 1, last: 3 }, sequence: { first: 1, last: 9 }, sha256: SHA256 },
  ],
};

describe('The report of a verification', () => {
  it('ends with a line that contains only the last mark', () => {
    const lastMark = { checkpointId: 5, rootHash: ROOT };
    const report = { kind: 'intact', counts: { ...counts, archived: 0 }, departed, recorded: [], lastMark } as const;
    expect(renderLedgerReport(report, true)).not.to.include('recorded').and.not.to.include('warnings');
    expect(renderLedgerReport(report, false).split('\n')).to.deep.equal([
      'The seal is intact: 5 checkpoints and 1 record verified.',
      'Not sealed yet, so not verified: 2 records.',
      `5:${ROOT}`,
      '',
    ]);
  });

  it('never says only that the seal is intact if records were archived, and names their exports', () => {
    const lastMark = { checkpointId: 5, rootHash: ROOT };
    const report = { kind: 'intact', counts, departed, recorded: [], lastMark, policyKeys: [] } as const;
    expect(renderLedgerReport(report, false).split('\n')).to.deep.equal([
      'The seal is intact but for 3 checkpoints whose records are archived: 5 checkpoints and 1 record verified.',
      ...EXPORTS,
      'Not sealed yet, so not verified: 2 records.',
      'Its checkpoints were signed as the policy demands, by these keys:',
      `5:${ROOT}`,
      '',
    ]);
    const one = renderLedgerReport({ ...report, counts: { ...counts, archived: 1 } }, false);
    expect(one).to.match(/^The seal is intact but for 1 checkpoint whose records are archived: /);
    expect(JSON.parse(renderLedgerReport(report, true))).to.deep.equal({
      intact: null,
      checkpoints: 5,
      records: 1,
      archived_checkpoints: 3,
      ...exported,
      unsealed_records: 2,
      policy: null,
      keys: [],
      last: `5:${ROOT}`,
    });
  });

  it('never says that the seal is intact if it needed keys that the ledger itself names, and lists them', () => {
    const recorded = [
      { kid: 'former\u202e', thumbprint: 'thumb' },
      { kid: 'older', thumbprint: 'other' },
    ];
    const lastMark = { checkpointId: 5, rootHash: ROOT };
    const report = { kind: 'intact', counts, departed, recorded, lastMark } as const;
    expect(renderLedgerReport(report, false).split('\n')).to.deep.equal([
      'Verified with keys that the ledger itself names: 5 checkpoints and 1 record verified.',
      'These keys are not published. Compare their thumbprints with a record that you kept elsewhere:',
      '  thumb',
      '  other',
      ...EXPORTS,
      'Not sealed yet, so not verified: 2 records.',
      `5:${ROOT}`,
      '',
    ]);
    expect(renderLedgerReport(report, false)).not.to.match(/intact/i);
    expect(JSON.parse(renderLedgerReport(report, true))).to.deep.equal({
      intact: null,
      verified_with: 'recorded_keys',
      checkpoints: 5,
      records: 1,
      archived_checkpoints: 3,
      ...exported,
      unsealed_records: 2,
      recorded_keys: recorded,
      last: `5:${ROOT}`,
    });
  });

  it('warns of a checkpoint that was closed late, before the last mark', () => {
    const late = { count: 3, first: { checkpointId: 4, seconds: 2 * 3600 + 1.5 } };
    const report = {
      kind: 'intact',
      counts: { ...counts, archived: 0 },
      departed: [],
      recorded: [],
      lastMark: { checkpointId: 5, rootHash: ROOT },
      late,
    } as const;
    const lines = renderLedgerReport(report, false).split('\n');
    expect(lines[0]).to.match(/^The seal is intact/);
    expect(lines.at(-3)).to.match(
      /^Warning: checkpoint 4 was closed more than 2 hours after its oldest record\. So were 2 later checkpoints\. /,
    );
    const { intact, warnings } = JSON.parse(renderLedgerReport(report, true));
    expect(intact).to.equal(true);
    expect(warnings).to.have.lengthOf(1);
    expect(warnings[0]).to.include({ kind: 'sealed_late', checkpoint_id: 4, seconds: 7201, count: 3 });
    expect(warnings[0].sentence).to.match(/^Checkpoint 4 was closed /);
  });

  it('says what to do about a key that is not published', () => {
    const report = { ...broken, fault: { kind: 'unknown_key', checkpointId: 1 } } as const;
    expect(renderLedgerReport(report, false).split('\n')[1]).to.match(
      /^If it is a former or a new key .* --jwks; ask the operator on a second way\.$/,
    );
  });

  it('states the limits of the verification of an export', () => {
    const checkpoint = (checkpointId: number) => ({ checkpointId, rootHash: ROOT }) as Checkpoint;
    const header = { month: OCTOBER, checkpoints: 2, records: 9 };
    const report = { kind: 'intact', header, first: checkpoint(4), last: checkpoint(5) } as const;
    expect(renderExportReport(report, false)).to.include('only the ledger shows whether that links to checkpoint 3.');
    expect(renderExportReport({ ...report, first: checkpoint(1) }, false)).not.to.include('only the ledger shows');
    expect(renderExportReport(report, false)).to.include('Only its SHA-256');
    expect(JSON.parse(renderExportReport(report, true))).to.deep.equal({
      intact: true,
      month: '2026-10',
      checkpoints: 2,
      records: 9,
      first_checkpoint: 4,
      last: `5:${ROOT}`,
    });
  });

  it('states that the export of an empty month contains nothing', () => {
    const header = { month: OCTOBER, checkpoints: 0, records: 0 };
    const empty = { kind: 'intact', header, first: undefined, last: undefined } as const;
    expect(renderExportReport(empty, false)).to.match(
      /^The export of 2026-10 is intact: by its own header there was nothing to export\.\n.* SHA-256/,
    );
    expect(JSON.parse(renderExportReport(empty, true))).to.deep.include({ first_checkpoint: null, last: null });
  });

  it('describes the first fault in one sentence, and in JSON by its kind and members', () => {
    expect(renderLedgerReport(broken, false)).to.match(/^The seal is not intact\. Checkpoint 7 [^\n]*\.\n/);
    const { fault, intact } = JSON.parse(renderLedgerReport(broken, true));
    expect(intact).to.equal(false);
    expect(fault).to.include({ kind: 'tree_size', checkpoint_id: 7, sealed: 5, held: 4 });
    expect(fault.sentence).to.match(/^Checkpoint 7 /);
  });

  it('shows the part that was verified before the fault, and labels its last mark', () => {
    expect(renderLedgerReport(broken, false).split('\n').slice(1)).to.deep.equal([
      'Verified up to checkpoint 6: 6 checkpoints and 1 record.',
      'Of these, 3 checkpoints lacked the records, so only signature and link were verified.',
      `The last mark before the fault: 6:${ROOT}`,
      '',
    ]);
    const { fault, ...rest } = JSON.parse(renderLedgerReport(broken, true));
    expect(rest).to.deep.equal({
      intact: false,
      checkpoints: 6,
      records: 1,
      archived_checkpoints: 3,
      verified_through: `6:${ROOT}`,
    });
  });

  it('states that no checkpoint was verified before a fault in the first checkpoint', () => {
    const first = { ...broken, counts: { checkpoints: 0, records: 0 }, lastMark: undefined };
    const [, ...lines] = renderExportReport(first, false).split('\n');
    expect(lines).to.deep.equal(['No checkpoint was verified before that.', '']);
    const { fault, ...rest } = JSON.parse(renderExportReport(first, true));
    expect(rest).to.deep.equal({ intact: false, checkpoints: 0, records: 0, verified_through: null });
  });
});
