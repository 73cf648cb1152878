/** The purpose that an agent states for a task (`Service:Tasks:Purpose`): words of the agent, which no check covers. */

import { hasControl } from '../control-characters.ts';
import type { Difference, RecordOfRow } from '../ledger/compared.ts';
import { isHashOfText } from '../ledger/sealed-text.ts';
import type { Task } from './task.ts';

/** Long enough for two sentences, which a person reads on a phone. */
const MAX_PURPOSE = 300;

/** `Service:Tasks:Purpose`. */
export type PurposeMode = 'off' | 'accept' | 'require';

/** Kept beside the ledger, which has only a hash of salt and words, until the task is deleted. */
export interface StatedPurpose {
  readonly words: string;
  /** Random characters. */
  readonly salt: string;
}

/**
 * Why a text cannot be a purpose, worded to follow the name of the parameter. Format characters are accepted: pages isolate them. A
 * lone surrogate could not be stored.
 */
export function purposeProblem(text: string): string | undefined {
  if (text !== '' && text.length <= MAX_PURPOSE && !hasControl(text) && text.isWellFormed()) return undefined;
  return `must be 1 to ${MAX_PURPOSE} characters without control characters`;
}

/** The `detail` of `purpose.stated`. @param hash SHA-256 of the salt's characters, then of the words in UTF-8; in lowercase hex */
export function purposeDetail(hash: string): string {
  return `sha256=${hash}`;
}

/** Compares a stored purpose with its `purpose.stated` record. Returns `undefined` if both agree. */
export function differenceOfPurpose(
  digest: (text: string) => string,
  stated: StatedPurpose & Pick<Task, 'taskId' | 'agentId' | 'sponsor' | 'createdAt'>,
  records: readonly RecordOfRow[],
): Difference | undefined {
  const { taskId, agentId, sponsor, createdAt: at, words, salt } = stated;
  const differs = (how: Difference['how']): Difference => ({ what: 'purpose', id: taskId, how });
  const [record, ...more] = records.filter(({ event }) => event === 'purpose.stated');
  if (record === undefined) return { ...differs('no_record'), written: { at } };
  if (more.length > 0) return differs('records');
  if (record.agentId !== agentId || record.sponsor !== sponsor) return differs('names');
  const hash = record.detail?.slice(purposeDetail('').length) ?? '';
  const isRecorded = record.detail === purposeDetail(hash) && isHashOfText(digest, { salt, hash }, words);
  return isRecorded ? undefined : differs('text');
}
