/** Examines the transparency log (`Service:Audit:Log`): its name, its size, its witnesses, and whether it halted. */

import { describeProblem, describeWithheld, isAlarm, presentProblems } from '../log/witness-problems.ts';
import type { LogState, WitnessProblem } from '../ports/transparency-log.ts';
import { type Finding, failed, ok, skipped, warning } from './examine.ts';

/** Checkpoints that a running service may not have added yet. */
const FEW = 3;

const SET_THE_CLOCK =
  'Compare the clocks of both machines, and set the wrong one. Until then readers do not get these cosignatures.';

export interface ConfiguredLog {
  /** `Service:Audit:Log:Origin`. */
  readonly origin: string;
  /** The names of `Service:Audit:Log:Witnesses`. */
  readonly witnesses: readonly string[];
}

/** @param newest the id of the newest checkpoint, 0 without one */
export function judgeLog(
  state: LogState | undefined,
  { origin, witnesses }: ConfiguredLog,
  newest: number,
  problems: readonly WitnessProblem[],
): Finding {
  if (state === undefined) return skipped('There is no log yet: the first start with its key begins it.');
  if (state.origin !== origin) {
    return failed(
      `The stored log is ${state.origin}, but Service:Audit:Log:Origin is ${origin}: the service does not start.`,
      'Set Service:Audit:Log:Origin to the stored name, or run `mandate log adopt-origin` if the log is to have a new one.',
    );
  }
  if (state.halted !== undefined) {
    return failed(
      `The log signs no further tree. ${state.halted}`,
      'Restore the newest copy of the database, as docs/operating.md says ("A log that halted").',
    );
  }
  const present = presentProblems(problems, witnesses);
  if (present.some(isAlarm)) {
    const named = present.filter(isAlarm).map(describeProblem).join(' ');
    return failed(named, 'Find out which history is true, as docs/operating.md says ("A log that halted").');
  }
  const withheld = describeWithheld(state, witnesses.length > 0);
  if (withheld !== undefined && present.length === 0) {
    return failed(
      withheld,
      'After the last witness was removed, the next checkpoint publishes a note. Otherwise ask the witnesses which tree they cosigned: if none contradicted the log, another party changed the database.',
    );
  }
  if (present.length > 0) {
    const named = present.map(describeProblem).join(' ');
    const isClock = present.some(({ kind }) => kind === 'wrong_clock');
    return warning(
      named,
      isClock
        ? SET_THE_CLOCK
        : 'See that the witness runs and can be reached from here. It is asked after each sealing.',
    );
  }
  const size = `The log has ${state.size} of ${newest} checkpoints`;
  if (newest - state.size > FEW) {
    return warning(`${size}.`, 'See that a replica runs with Service:Audit:Log:Key, and in its log why it adds none.');
  }
  const published = state.published?.size ?? 0;
  if (state.size - published > FEW) {
    return warning(
      `${size}, and publishes ${published}: witnesses do not cosign the rest.`,
      'See that the witnesses of Service:Audit:Log:Witnesses answer, or lower Service:Audit:Log:Quorum.',
    );
  }
  return ok(`${size}.`);
}
