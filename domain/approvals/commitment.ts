/**
 * The commitment to the words of an approval: SHA-256 over canonical JSON of salt, task, digest, title and lines. The ledger
 * has only the commitment. So the words can be deleted, and cannot then be guessed.
 */

import type { TaskId } from '../identifiers.ts';
import { canonicalText } from '../ledger/canonical-json.ts';
import type { SaltedWords } from './approval.ts';

interface CommittedWords extends SaltedWords {
  readonly taskId: TaskId;
  readonly digest: string;
}

/** The text whose SHA-256, in lowercase hex, is the commitment. It has the form of a record's text. */
export function commitmentText({ salt, taskId, digest, title, lines }: CommittedWords): string {
  const each = lines.map(({ label, value }) => `{"label":${canonicalText(label)},"value":${canonicalText(value)}}`);
  return (
    `{"digest":${canonicalText(digest)},"lines":[${each.join(',')}],"salt":${canonicalText(salt)},` +
    `"task_id":${canonicalText(taskId)},"title":${canonicalText(title)}}`
  );
}
