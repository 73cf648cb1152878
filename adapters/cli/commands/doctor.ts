/** `mandate doctor`: its options and its report. */

import type { FindingStatus, NamedFinding } from '../../../application/doctor/examine.ts';
import { visibleJson, visibleText } from '../../../domain/visible.ts';
import { flag, once } from '../argument.ts';
import { type Command, command, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

/** The exit code if a check failed. */
export const CHECK_FAILED = 3;

export interface DoctorRequest {
  /** Whether to explain a subject token from standard input instead of running all checks. */
  readonly subjectToken: boolean;
  /** Whether to check also the person of the token. */
  readonly person: boolean;
  readonly json: boolean;
}

/** @param run runs the checks, prints the report and resolves with the exit code */
export function doctorCommand(
  run: (request: DoctorRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'doctor',
    summary: 'Check every dependency of the service, and say how to repair what fails',
    examples: [
      { line: 'doctor', meaning: 'Print a line for each check, within 15 seconds; needs the settings of the service' },
      {
        line: 'doctor --subject-token - --person < token.txt',
        meaning: "Why a person's access token would be accepted or refused, and whether agents may act for the person",
      },
    ],
    exitCodes: {
      [exitCode.done]: 'no check failed; there may be warnings',
      [exitCode.failed]: 'the examination itself failed, or its report could not be written',
      [exitCode.usage]: 'an argument is malformed',
      [CHECK_FAILED]: 'a check failed, or the token would be refused',
    },
    options: (parser) =>
      parser
        .option('subject-token', {
          type: 'string',
          // Without nargs, the parser would read `-` as an option.
          nargs: 1,
          describe: 'Explain a subject token instead; only - is accepted: it is read from standard input',
          coerce: once('--subject-token', readDash),
        })
        .option('person', {
          ...flag,
          describe: 'With --subject-token: look for blocks of its person, and ask the identity provider about them',
        })
        .option('json', { ...flag, describe: 'Report as one JSON array' })
        .check(({ person, 'subject-token': token }) => {
          if (person && token === undefined) throw new Error('--person needs --subject-token.');
          return true;
        }),
    run: ({ 'subject-token': token, person, json }, settings) =>
      run({ subjectToken: token !== undefined, person, json }, settings),
  });
}

function readDash(text: string): string {
  if (text === '-') return text;
  throw new Error(
    '--subject-token accepts only -, and reads the token from standard input. Every user of this machine can read arguments',
  );
}

const STATUSES: readonly FindingStatus[] = ['ok', 'warning', 'failed', 'skipped'];
const STATUS_WIDTH = Math.max(...STATUSES.map((status) => status.length));

/** Renders a line for each finding and a line of totals, or one JSON array. The text ends with a line feed. */
export function renderFindings(findings: readonly NamedFinding[], json: boolean): string {
  if (json) {
    const presented = findings.map(({ check, status, sentence, remedy }) => ({
      check,
      status,
      sentence,
      remedy: remedy ?? null,
    }));
    return `${visibleJson(JSON.stringify(presented))}\n`;
  }
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, status, sentence, remedy }) =>
    [status.padEnd(STATUS_WIDTH), check.padEnd(width), remedy === undefined ? sentence : `${sentence} ${remedy}`].join(
      '  ',
    ),
  );
  // A sentence may name an unknown variable, a log or a witness.
  return `${[...lines.map(visibleText), totals(findings)].join('\n')}\n`;
}

function totals(findings: readonly NamedFinding[]): string {
  const counted = STATUSES.flatMap((status) => {
    const count = findings.filter((finding) => finding.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return `${counted.join(', ')}.`;
}
