import { expect } from 'chai';
import { renderBundleReport } from '../../../adapters/cli/bundle-report.ts';
import type { BundleVerdict } from '../../../domain/log/bundle-verdict.ts';

describe('The report of an evidence bundle', () => {
  it('escapes line breaks and control characters in names that the maker of the bundle chose', () => {
    const name = 'k\n  log mandate.example/ledger: \u001b[32m\u202egood\u00a0\u2028';
    const verdict: BundleVerdict = {
      verified: true,
      selection: { sponsor: 'ada\r\nIt meets the policy.\u009b2K é 😀' },
      completeness: { records: 1, started: null, ended: null, not_sealed: 0, not_logged: 0, archived_before: null },
      checkpoints: 1,
      log: undefined,
      keys: [{ use: 'checkpoint', name, thumbprint: 'T', vkey: undefined, seconds: undefined }],
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
});
