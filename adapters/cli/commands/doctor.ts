import { once } from '../argument.ts';
import { type Command, command } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { CHECK_FAILED } from '../findings-report.ts';
import type { SettingArgument } from '../setting-arguments.ts';

export interface DoctorRequest {
  /** Whether a subject token is read from standard input and explained, instead of everything being looked at. */
  readonly subjectToken: boolean;
  /** Whether its person is asked about too. */
  readonly person: boolean;
  readonly json: boolean;
}

/** @param run looks, reports, and answers the exit code */
export function doctorCommand(
  run: (request: DoctorRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'doctor',
    summary: 'Look whether everything that the service depends on is in order, and say what to do',
    examples: [
      { line: 'doctor', meaning: 'With the settings of the service: a line for each check, within 15 seconds' },
      {
        line: 'doctor --subject-token - --person < token.txt',
        meaning: "Why a person's access token would be accepted or refused, and whether they may be acted for",
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
          // Without it, `-` would be an option.
          nargs: 1,
          describe: 'Explain a subject token instead: -, since it is read from standard input only',
          coerce: once('--subject-token', readDash),
        })
        .option('person', {
          type: 'boolean',
          nargs: 0,
          default: false,
          describe: 'With --subject-token: look for blocks of its person, and ask the identity provider about them',
        })
        .option('json', { type: 'boolean', nargs: 0, default: false, describe: 'Report as one JSON array' })
        .check(({ person, 'subject-token': token }) => {
          if (person && token === undefined) throw new Error('--person goes with --subject-token.');
          return true;
        }),
    run: ({ 'subject-token': token, person, json }, settings) =>
      run({ subjectToken: token !== undefined, person, json }, settings),
  });
}

function readDash(text: string): string {
  if (text === '-') return text;
  throw new Error(
    '--subject-token takes - alone, and reads the token from standard input. An argument can be read by everybody on this machine',
  );
}
