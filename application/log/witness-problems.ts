/** The problems of witnesses in sentences, for `/readyz` and `mandate doctor`. */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { LogState, WitnessProblem } from '../ports/transparency-log.ts';

/** A witness that is restarted, or a network that fails for a moment, needs no operator. */
const LASTING_SECONDS = 3600;

/** The witness refuses the log, or contradicts it. */
export function isAlarm({ kind }: WitnessProblem): boolean {
  return kind !== 'unavailable' && kind !== 'wrong_answer' && kind !== 'wrong_clock';
}

/** @param witnesses the names of the configured ones: a former witness is ignored */
export function presentProblems(
  problems: readonly WitnessProblem[],
  witnesses: readonly string[],
): readonly WitnessProblem[] {
  return problems.filter(({ witness }) => witnesses.includes(witness));
}

/**
 * The present problems that make a replica Degraded: alarms and wrong clocks, which do not end by themselves; others if they
 * last, or while readers do not get the newest tree because too few witnesses have cosigned it.
 */
export function pressingProblems(
  problems: readonly WitnessProblem[],
  state: LogState | undefined,
  now: Instant,
): readonly WitnessProblem[] {
  const isBehind = (state?.published?.size ?? 0) < (state?.size ?? 0);
  return problems.filter((problem) => {
    const isLasting = problem.kind === 'wrong_clock' || secondsBetween(problem.since, now) >= LASTING_SECONDS;
    return isBehind || isAlarm(problem) || isLasting;
  });
}

/** Why readers do not get the newest note, though no witness has a problem, as a sentence. */
export function describeWithheld(
  { size, note, published, isWithheld }: Pick<LogState, 'size' | 'note' | 'published' | 'isWithheld'>,
  hasWitnesses: boolean,
): string | undefined {
  const shown = published?.size ?? -1;
  // Witnesses may not have cosigned the newest note yet.
  const isCurrent = shown === size || (shown < size && hasWitnesses && !isWithheld);
  if (note === undefined || isCurrent) return undefined;
  const why = isWithheld ? 'says that a witness contradicted it' : `names a published note of ${Math.max(shown, 0)}`;
  return `Readers do not get the newest note, of ${size} leaves: the database ${why}.`;
}

export function describeProblem({ witness, kind, detail = '' }: WitnessProblem): string {
  return `The witness ${witness} ${SENTENCES[kind]} ${detail}`.trimEnd();
}

const SENTENCES: Readonly<Record<WitnessProblem['kind'], string>> = {
  ahead: 'has cosigned a larger tree:',
  contradicted: 'has cosigned another history of the log.',
  unknown_key: 'does not accept the key of the log.',
  unknown_log: 'does not watch the log.',
  wrong_clock: 'has a wrong clock, or this service has one.',
  wrong_answer: 'gave an answer that cannot be used.',
  unavailable: 'does not answer.',
};
