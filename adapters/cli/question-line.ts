/** The line of a report about one question to a person. The library returns the question, and needs no rule for shown words. */

import type { ApprovalState } from '../../domain/approvals/approval.ts';
import type { BundleQuestion } from '../../domain/log/bundle-questions.ts';
import { visibleWords } from '../../domain/visible.ts';

const STEPS: Readonly<Record<ApprovalState, string>> = {
  pending: 'asked',
  granted: 'yes',
  refused: 'no',
  used: 'used',
  expired: 'expired',
  withdrawn: 'withdrawn',
};

/**
 * `"Pay 77 EUR", "To: ACME": asked 2026-11-24 16:23:13, yes 16:23:18, used 16:23:19`. After a no with a line:
 * `no 16:23:18 (the person: "Not to this account")`. Of a question that another one replaced: `withdrawn 16:23:19 (words_changed)`.
 */
export function describeQuestion({ approval_id, words, steps }: BundleQuestion): string {
  const said =
    words === null
      ? `Words not in the bundle (${approval_id})`
      : [words.title, ...words.lines.map(({ label, value }) => `${label}: ${value}`)].map(quoted).join(', ');
  let day = '';
  const times = steps.map(({ state, ts, says, reason }) => {
    const [date = '', time = ''] = ts.split('T');
    const isSameDay = date === day;
    day = date;
    const line = says === undefined ? '' : ` (the person: ${quoted(says)})`;
    const why = reason === undefined ? '' : ` (${reason})`;
    return `${STEPS[state]} ${isSameDay ? '' : `${date} `}${time.slice(0, '16:23:13'.length)}${line}${why}`;
  });
  return `${said}: ${times.join(', ')}`;
}

/** Nothing of the text ends the quotation: a quotation mark in it is shown by its number. */
function quoted(text: string): string {
  return `"${visibleWords(text).replaceAll('"', '\\u{22}')}"`;
}
