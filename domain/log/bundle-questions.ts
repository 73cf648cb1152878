/**
 * The questions to people in a bundle: the words of each, and when it was asked, answered and used. The words are verified by
 * their commitment, the order of the records by bundle-order.ts.
 */

import { type ApprovalState, type ApprovalWords, WORDS_CHANGED } from '../approvals/approval.ts';
import { stepOfRecord } from '../approvals/approval-records.ts';
import { toMillisecondText } from '../instant.ts';
import type { RecordEntry } from './bundle.ts';

export interface BundleQuestion {
  readonly approval_id: string;
  /** Verified. `null` if the bundle does not have them: they were erased or changed, or the request is not selected. */
  readonly words: ApprovalWords | null;
  /** Oldest first. */
  readonly steps: readonly QuestionStep[];
}

interface QuestionStep {
  readonly state: ApprovalState;
  /** The number of the record. */
  readonly seq: number;
  /** ISO 8601 in UTC, with milliseconds. */
  readonly ts: string;
  /** With `refused`: why not, in the person's words. Verified. Missing if the person wrote no line, or the bundle does not have it. */
  readonly says?: string;
  /** With `withdrawn`: the tool server described the same call in other words. Missing if the task ended. */
  readonly reason?: typeof WORDS_CHANGED;
}

/** A report with more of them is not read. A bundle of a busy month may have any number. */
const MOST_QUESTIONS = 500;

export interface BundleQuestions {
  /** The first 500. */
  readonly questions: readonly BundleQuestion[];
  /** How many more there are. */
  readonly further: number;
}

export function bundleQuestions() {
  const questions = new Map<string, { words: ApprovalWords | null; readonly steps: QuestionStep[] }>();
  const further = new Set<string>();
  return {
    /** Takes a verified record with its words, in the order of the bundle. */
    take({ record, words, says }: Pick<RecordEntry, 'record' | 'words' | 'says'>): void {
      const step = stepOfRecord(record);
      if (step === undefined) return;
      const { approvalId, state } = step;
      const known = questions.get(approvalId);
      if (known === undefined && questions.size >= MOST_QUESTIONS) {
        further.add(approvalId);
        return;
      }
      const question = known ?? { words: null, steps: [] };
      questions.set(approvalId, question);
      if (words !== undefined) question.words = { title: words.title, lines: words.lines };
      const begun = { state, seq: record.seq, ts: toMillisecondText(record.at) };
      question.steps.push({
        ...begun,
        ...(says !== undefined && { says: says.text }),
        ...(state === 'withdrawn' && record.reason === WORDS_CHANGED && { reason: WORDS_CHANGED }),
      });
    },
    all: (): BundleQuestions => ({
      questions: [...questions].map(([approval_id, question]) => ({ approval_id, ...question })),
      further: further.size,
    }),
  };
}
