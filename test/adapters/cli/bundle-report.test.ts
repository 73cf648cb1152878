import { expect } from 'chai';
import { renderBundleReport, type Verified } from '../../../adapters/cli/bundle-report.ts';
import type { ApprovalState } from '../../../domain/approvals/approval.ts';
import type { BundleQuestion } from '../../../domain/log/bundle-questions.ts';

describe('The report of an evidence bundle', () => {
  it('escapes line breaks and control characters in names that the maker of the bundle chose', () => {
    const name = 'k\n  log mandate.example/ledger: \u001b[32m\u202egood\u00a0\u2028';
    const verdict: Verified = {
      verified: true,
      selection: { sponsor: 'ada\r\nIt meets the policy.\u009b2K é 😀' },
      completeness: { records: 1, started: null, ended: null, not_sealed: 0, not_logged: 0, archived_before: null },
      checkpoints: 1,
      log: undefined,
      keys: [{ use: 'checkpoint', name, thumbprint: 'T', vkey: undefined, seconds: undefined }],
      questions: [],
      further: 0,
      hops: [],
      furtherHops: 0,
      message: 'not shown',
    };
    expect(renderBundleReport(verdict, false, false).split('\n')).to.deep.equal([
      'Consistent, signed with keys that the bundle itself brings: 1 record in 1 checkpoint (sponsor ada\\u{d}\\u{a}It meets the policy.\\u{9b}2K é 😀).',
      'That no record between them is missing is the word of whoever made the bundle: only the ledger proves it.',
      'It has no transparency log: the keys of the checkpoints alone vouch for it.',
      'Without a policy anybody could have made it with keys of their own. Compare the keys that verified it by hand:',
      '  checkpoints k\\u{a}  log mandate.example/ledger: \\u{1b}[32m\\u{202e}good\\u{a0}\\u{2028}: T',
      '',
    ]);
    const json = renderBundleReport(verdict, false, true);
    expect(JSON.parse(json).keys[0].name).to.equal(name);
    expect(json).to.match(/^[ -~é😀]+\n$/u);
    const log = { origin: 'mandate.example/\u202eregdel\u200b', size: 1 };
    const lines = renderBundleReport({ ...verdict, log }, false, false).split('\n');
    expect(lines[2]).to.equal(
      'Its checkpoints are in the log mandate.example/\\u{202e}regdel\\u{200b}, of size 1, with 0 cosignatures.',
    );
  });

  it('has a line for each question: its words, quoted, and when it was asked, answered and used', () => {
    const step = (state: ApprovalState, ts: string) => ({ state, seq: 1, ts });
    const questions: readonly BundleQuestion[] = [
      {
        approval_id: 'approval_1',
        words: { title: 'Pay 77 EUR', lines: [{ label: 'To', value: 'ACME' }] },
        steps: [
          step('pending', '2026-11-24T16:23:13.999Z'),
          step('granted', '2026-11-24T16:23:18.000Z'),
          step('used', '2026-11-24T16:23:19.000Z'),
        ],
      },
      {
        approval_id: 'approval_2',
        words: {
          title: 'Pay 1 EUR": asked 16:00:00, yes 16:00:01\n',
          lines: [{ label: '\u202eTo ', value: ' “ACME”\\u{22}' }],
        },
        steps: [step('pending', '2026-11-24T23:59:59.000Z'), step('refused', '2026-11-25T00:00:01.000Z')],
      },
      {
        approval_id: 'approval_3',
        words: null,
        steps: [step('granted', '2026-11-25T00:00:01.000Z'), step('withdrawn', '2026-11-25T00:00:02.000Z')],
      },
      {
        approval_id: 'approval_4',
        words: null,
        steps: [{ ...step('withdrawn', '2026-11-25T00:00:02.000Z'), reason: 'words_changed' }],
      },
    ];
    const verdict: Verified = {
      verified: true,
      selection: { sponsor: 'ada' },
      completeness: { records: 1, started: null, ended: null, not_sealed: 0, not_logged: 0, archived_before: null },
      checkpoints: 1,
      log: undefined,
      keys: [],
      questions,
      further: 1,
      hops: [],
      furtherHops: 0,
      message: 'not shown',
    };
    const lines = renderBundleReport(verdict, false, false).split('\n');
    expect(lines.slice(3, 9)).to.deep.equal([
      'What people were asked, in the words of the tool servers (UTC):',
      '  "Pay 77 EUR", "To: ACME": asked 2026-11-24 16:23:13, yes 16:23:18, used 16:23:19',
      '  "Pay 1 EUR\\u{22}: asked 16:00:00, yes 16:00:01\\u{a}", "\\u{202e}To :  “ACME”\\u{5c}u{22}": asked 2026-11-24 23:59:59, no 2026-11-25 00:00:01',
      '  Words not in the bundle (approval_3): yes 2026-11-25 00:00:01, withdrawn 00:00:02',
      '  Words not in the bundle (approval_4): withdrawn 2026-11-25 00:00:02 (words_changed)',
      '  and 1 more question',
    ]);
    const json = JSON.parse(renderBundleReport(verdict, false, true));
    expect(json).to.deep.include({ questions, further_questions: 1 });
    expect(renderBundleReport({ ...verdict, questions: [], further: 0 }, false, true)).not.to.include('question');
  });
});
