/** Runs every examination side by side, so that the slowest alone decides how long it takes, and none can hang it. */

import type { TimeLimit } from '../ports/time-limit.ts';
import { type Examination, type Finding, failed, type NamedFinding } from './finding.ts';

/** Under the fifteen seconds that the whole command may take; over the ten that the identity provider has. */
export const EXAMINATION_LIMIT_MS = 12_000;

/** In the order of the examinations. */
export async function examineAll(
  examinations: readonly Examination[],
  timeLimit: TimeLimit,
  limitMs = EXAMINATION_LIMIT_MS,
): Promise<readonly NamedFinding[]> {
  return Promise.all(
    examinations.map(async (examination) => {
      const finding = (await timeLimit(conclude(examination), limitMs)) ?? noAnswer(limitMs);
      return { check: examination.check, ...finding };
    }),
  );
}

async function conclude(examination: Examination): Promise<Finding> {
  try {
    return await examination.examine();
  } catch (error) {
    return failed(
      `Looking failed${describeCode(error)}.`,
      'See what the code means; if it is none of yours, report it.',
    );
  }
}

function noAnswer(limitMs: number): Finding {
  return failed(
    `There was no answer within ${limitMs / 1000} seconds.`,
    'See what hangs on the way there: a firewall that drops packets, a name server, a server that is frozen.',
  );
}

/** SQLSTATE: Postgres answered, and refused. The codes of operating systems have no digit. */
const SQLSTATE = / \((?=\D*\d)[0-9A-Z]{5}\)/;

/** A sentence for a question that the database did not answer, or refused, with the error's code. */
export function describeUnanswered(error: unknown): string {
  const code = describeCode(error);
  return `The database ${SQLSTATE.test(code) ? 'refused' : 'did not answer'}${code}.`;
}

/** Operating systems, Postgres and SQLite name their errors so; no text that somebody sent is one. */
const CODE = /^[A-Z0-9_]{4,40}$/;

/** ` (ECONNREFUSED)`, of the error or of what caused it; empty where there is none. An error's message may quote a secret. */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const code = 'code' in error ? String(error.code) : '';
  return CODE.test(code) ? ` (${code})` : describeCode(error.cause);
}
