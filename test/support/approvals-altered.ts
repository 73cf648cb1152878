/** What the owner of the database can make of the row of an approval, as SQL for both engines. */

import { createHash } from 'node:crypto';
import { columnsOf, tables } from '../../adapters/storage/tables.ts';
import type { TaskApproval } from '../../application/ports/approvals.ts';
import { commitmentText } from '../../domain/approvals/commitment.ts';

export const FORGED = { title: 'Pay 5 EUR', lines: [{ label: 'To', value: 'Red Cross' }] };
const LINES = JSON.stringify(FORGED.lines);

type Change = (approval: TaskApproval) => readonly string[];

const set =
  (assignment: (approval: TaskApproval) => string): Change =>
  (approval) => [`update approvals set ${assignment(approval)} where approval_id = '${approval.approvalId}'`];

function recommitted(approval: TaskApproval): string {
  const text = commitmentText({ ...approval, ...FORGED });
  return createHash('sha256').update(text).digest('hex');
}

/** Changes of words and names. Each leaves the person who is to be shown the approval. */
export const ALTERED_WORDS: Readonly<Record<string, Change>> = {
  'other words': set(() => `title = '${FORGED.title}', lines = '${LINES}'`),
  'another title': set(() => `title = '${FORGED.title}'`),
  'a line more': set(({ lines }) => `lines = '${JSON.stringify([...lines, ...FORGED.lines])}'`),
  'no lines': set(() => "lines = '[]'"),
  'lines that are no list': set(() => `lines = '{"label":"To","value":"Red Cross"}'`),
  'a line that is no text': set(() => `lines = '[{"label":"To","value":5},null]'`),
  'another salt': set(() => "salt = 'x'"),
  'another digest': set(({ digest }) => `digest = '${digest.startsWith('A') ? 'B' : 'A'}${digest.slice(1)}'`),
  'another commitment': set(
    ({ commitment }) => `commitment = '${commitment.replace(/^./, (c) => (c === 'a' ? 'b' : 'a'))}'`,
  ),
  'other words with their commitment': set(
    (approval) => `title = '${FORGED.title}', lines = '${LINES}', commitment = '${recommitted(approval)}'`,
  ),
};

/** The words rewritten as the serving role of Postgres can do it: it may not update them. */
export const rewritten: Change = (approval) => {
  const columns = columnsOf(tables.approvals);
  const values = columns.map((column) =>
    column === 'title' ? `'${FORGED.title}'` : column === 'lines' ? `'${LINES}'` : column,
  );
  return [
    `create table kept_approval as select * from approvals where approval_id = '${approval.approvalId}'`,
    `delete from approvals where approval_id = '${approval.approvalId}'`,
    `insert into approvals (${columns.join(', ')}) select ${values.join(', ')} from kept_approval`,
    'drop table kept_approval',
  ];
};
