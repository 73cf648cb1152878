/** The problems of witnesses in sentences, for `/readyz` and `mandate doctor`. */

import type { LogState, WitnessProblem } from '../ports/transparency-log.ts';

/** Problems that do not end by themselves. */
export function isAlarm({ kind }: WitnessProblem): boolean {
  return kind !== 'unavailable' && kind !== 'wrong_answer';
}

/**
 * The problems that readers of the log notice: alarms, and others while too few witnesses have cosigned the newest tree.
 *
 * @param witnesses the names of the configured ones: a former witness is ignored
 */
export function noticeableProblems(
  problems: readonly WitnessProblem[],
  state: LogState | undefined,
  witnesses: readonly string[],
): readonly WitnessProblem[] {
  const isBehind = (state?.published?.size ?? 0) < (state?.size ?? 0);
  return problems.filter((problem) => witnesses.includes(problem.witness) && (isBehind || isAlarm(problem)));
}

export function describeProblem({ witness, kind, detail = '' }: WitnessProblem): string {
  return `The witness ${witness} ${SENTENCES[kind]} ${detail}`.trimEnd();
}

const SENTENCES: Readonly<Record<WitnessProblem['kind'], string>> = {
  ahead: 'has cosigned a larger tree:',
  contradicted: 'has cosigned another history of the log.',
  unknown_key: 'does not accept the key of the log.',
  unknown_log: 'does not watch the log.',
  wrong_answer: 'gave an answer that cannot be used.',
  unavailable: 'does not answer.',
};
