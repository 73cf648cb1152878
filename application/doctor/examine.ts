/**
 * The types of the checks of `mandate doctor` and of their findings, and the function that runs all checks. The checks
 * run concurrently, each with a time limit. Each other file has the checks of one subject: it asks its sources, which
 * `composition/doctor` binds to adapters, and turns the answers into findings with a remedy. Nothing is changed.
 * shared-examination.ts runs the same checks for the console.
 */

import { describeDifference, differsTooMuch, MOST_DIFFERENCE_SECONDS } from '../../domain/clocks.ts';
import { durationInWords } from '../../domain/duration.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/compact-jws.ts';
import { describeFault, StorageUnavailable } from '../ports/decisions.ts';
import type { TimeLimit } from '../ports/runtime.ts';

export type FindingStatus =
  | 'ok'
  /** The service can run, but an operator should know. */
  | 'warning'
  /** The service cannot do its work, or cannot be trusted to do it. */
  | 'failed'
  /** Not checked: the feature is not configured, or the check needs something that is unavailable. */
  | 'skipped';

export interface Finding {
  readonly status: FindingStatus;
  /** One or two sentences, without secrets. */
  readonly sentence: string;
  /** A sentence that says what the operator can do; absent if there is nothing to do. */
  readonly remedy?: string | undefined;
}

export interface NamedFinding extends Finding {
  readonly check: string;
}

export interface Examination {
  /** The name that the report shows. */
  readonly check: string;
  /** May throw: the finding is then `failed`, and shows nothing of the error but its code. */
  examine(): Promise<Finding>;
}

export const ok = (sentence: string): Finding => ({ status: 'ok', sentence });
export const warning = (sentence: string, remedy: string): Finding => ({ status: 'warning', sentence, remedy });
export const failed = (sentence: string, remedy: string): Finding => ({ status: 'failed', sentence, remedy });
export const skipped = (sentence: string): Finding => ({ status: 'skipped', sentence });

/** Less than the 15 s that the whole command may take, more than the 10 s that the identity provider may take. */
export const EXAMINATION_LIMIT_MS = 12_000;

/** Returns the findings in the order of the examinations. */
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
      'See what the code means. If the cause is not in your systems, report it.',
    );
  }
}

function noAnswer(limitMs: number): Finding {
  return failed(
    `There was no answer within ${limitMs / 1000} seconds.`,
    'See what hangs on the way there: a firewall that drops packets, a name server, a server that is frozen.',
  );
}

/** An SQLSTATE: five characters with a digit. It means that Postgres answered with an error. Other codes have no digit. */
const SQLSTATE = / \((?=\D*\d)[0-9A-Z]{5}\)/;

/** A finding about a database that refuses or does not answer: the fault in a sentence with its code, and what to do. */
export function failedBy(error: unknown): Finding {
  const fault = error instanceof StorageUnavailable ? error.fault : undefined;
  if (fault !== undefined) return failed(`${capitalized(describeFault(fault))}.`, fault.act);
  const code = describeCode(error);
  return failed(
    `The database ${SQLSTATE.test(code) ? 'refused' : 'did not answer'}${code}.`,
    'See that it runs, that it is reachable from here, and that Service:Database:ConnectionString names its address, role and password.',
  );
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The form of error codes of operating systems, Postgres and SQLite; text from a request does not match. */
const CODE = /^[A-Z0-9_]{4,40}$/;

/**
 * The code of the error or of its cause, as in ` (ECONNREFUSED)`; empty if neither has one. The message is not used: it
 * may quote a secret.
 */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const code = 'code' in error ? String(error.code) : '';
  return CODE.test(code) ? ` (${code})` : describeCode(error.cause);
}

/** Synchronized clocks differ by milliseconds. A difference above five seconds means that one is not synchronized. */
export const NOTEWORTHY_SECONDS = 5;

/**
 * Judges whether another clock is close enough to this machine's for tokens to be accepted.
 *
 * @param whose the other clock, as in `The database's clock`
 * @param ahead seconds by which the other clock is ahead of this machine's
 */
export function judgeClock(whose: string, ahead: number): Finding {
  const isFar = Math.abs(ahead) > CLOCK_SKEW_SECONDS;
  return judgeDifference(
    whose,
    ahead,
    isFar ? `That is more than the ${CLOCK_SKEW_SECONDS} seconds that tokens are given.` : undefined,
  );
}

/** The same for the database's clock, with the limit of a running service (supplement "Clocks"). */
export function judgeDatabaseClock(ahead: number): Finding {
  const isFar = differsTooMuch(ahead);
  return judgeDifference(
    "The database's clock",
    ahead,
    isFar
      ? `That is more than ${MOST_DIFFERENCE_SECONDS} seconds: a service on this machine ends and deletes nothing by time.`
      : undefined,
  );
}

/** @param fault what a failed examination adds; `undefined` if the difference is tolerable */
function judgeDifference(whose: string, ahead: number, fault: string | undefined): Finding {
  const apart = Math.abs(ahead);
  if (apart <= NOTEWORTHY_SECONDS) return ok(`${whose} and this machine's agree.`);
  const sentence = describeDifference(whose, ahead);
  const remedy = 'Have both machines keep their time by NTP.';
  return fault === undefined ? warning(sentence, remedy) : failed(`${sentence} ${fault}`, remedy);
}

export function ago(then: Instant, now: Instant): string {
  const seconds = Math.round(secondsBetween(then, now));
  return seconds < 1 ? 'just now' : `${durationInWords(seconds, 2)} ago`;
}

/** In seconds: how far back an examination looks for what happened. */
export const A_DAY = 24 * 60 * 60;

/** More would make the line of a report unreadable. */
const MAX_LISTED = 4;

/** Joins names for a sentence: `a, b, c, d and 3 more`. */
export function summarizeList(names: readonly string[]): string {
  const rest = names.length - MAX_LISTED;
  return rest > 0 ? `${names.slice(0, MAX_LISTED).join(', ')} and ${rest} more` : names.join(', ');
}
