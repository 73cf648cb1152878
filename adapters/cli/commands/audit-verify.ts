import { type Mark, parseMark } from '../../../domain/ledger/checkpoint.ts';
import { once } from '../argument.ts';
import { type Command, command } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { type KeySource, readKeySource } from '../key-source.ts';
import type { SettingArgument } from '../setting-arguments.ts';
import { NOT_INTACT } from '../verification-report.ts';

export interface VerifyRequest {
  readonly marks: readonly Mark[];
  /** The file to verify instead of the ledger. */
  readonly archive: string | undefined;
  /** If undefined, the configured keys. */
  readonly jwks: KeySource | undefined;
  readonly json: boolean;
}

/** @param run verifies, reports, and resolves with the exit code */
export function auditVerifyCommand(
  run: (request: VerifyRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'audit-verify [marks]',
    summary: 'Verify the seal of the ledger, or of an export',
    examples: [
      {
        line: 'audit-verify',
        meaning: 'Verify the whole ledger; the last line is a mark to keep. Reads Service:Database and Service:Signing',
      },
      { line: 'audit-verify 7:ROOT,9:ROOT', meaning: 'The same, and check kept marks' },
      {
        line: 'audit-verify --archive FILE --jwks https://mandate.example/.well-known/jwks.json',
        meaning: 'Verify only an export, without any setting',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the seal is intact',
      [exitCode.failed]: 'the ledger, the export or the keys could not be read',
      [exitCode.usage]: 'an argument is malformed',
      [NOT_INTACT]: 'the seal is not intact: the report names the first fault',
    },
    options: (parser) =>
      parser
        .positional('marks', {
          type: 'string',
          describe: 'Marks of earlier runs, comma-separated, each a checkpoint id, a colon and a root',
          coerce: once('The list of marks', readMarks),
        })
        .option('archive', {
          type: 'string',
          describe: 'Verify this export instead of the ledger',
          coerce: once('--archive', (path) => path),
        })
        .option('jwks', {
          type: 'string',
          describe: 'The published keys: a file or an https URL. By default the configured signing keys',
          coerce: once('--jwks', readKeySource),
        })
        // Without `nargs` the option would accept a value, and any value but `true` would mean no.
        .option('json', { type: 'boolean', nargs: 0, default: false, describe: 'Report as one JSON object' }),
    run: ({ marks, archive, jwks, json }, settings) => run({ marks: marks ?? [], archive, jwks, json }, settings),
  });
}

function readMarks(text: string): readonly Mark[] {
  return text.split(',').map((each) => {
    const mark = parseMark(each);
    if (mark === undefined) {
      throw new Error('A mark is a checkpoint id, a colon and a root of 64 lowercase hexadecimal digits.');
    }
    return mark;
  });
}
