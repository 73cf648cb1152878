/** `mandate audit-verify`: verifies the ledger, an export or an evidence bundle. */

import { flag, type KeySource, readKeySource, textValue, trustedUrl, value } from '../../adapters/cli/argument.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { type Mark, parseMark } from '../../domain/ledger/checkpoint.ts';
import { type BundleRequest, verifyBundleFile } from './audit-verify/bundle.ts';
import { type ExportRequest, verifyExportFile } from './audit-verify/export.ts';
import { type LedgerRequest, verifyWholeLedger } from './audit-verify/ledger.ts';
import type { Verdict } from './audit-verify/verdict.ts';
import { runReport } from './run-command.ts';

/** What is verified. Each kind has a file in `audit-verify`: from the files and keys to the report. */
type Subject =
  | ({ readonly kind: 'ledger' } & LedgerRequest)
  | ({ readonly kind: 'export' } & ExportRequest)
  | ({ readonly kind: 'bundle' } & BundleRequest);

export interface VerifyRequest {
  readonly subject: Subject;
  readonly json: boolean;
}

export function auditVerifyCommand(run = auditVerify): Command {
  return command({
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
      {
        line: 'audit-verify --log https://mandate.example/log --policy policy.json',
        meaning: 'Verify the whole ledger, and compare it with the note that the witnesses of the policy cosigned',
      },
      {
        line: 'audit-verify --bundle evidence.json --policy policy.json',
        meaning: 'Verify only an evidence bundle, without any setting or network',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'no fault was found. The first line says whether the seal is intact, or whose keys verified it',
      [exitCode.failed]: 'the ledger, the file or the keys could not be read',
      [NOT_INTACT]: 'the seal is not intact, or the policy is not met: the report names the first fault',
    },
    options: (parser) =>
      parser
        .positional('marks', {
          ...value('The list of marks', readMarks),
          describe: 'Marks of earlier runs, comma-separated, each a checkpoint id, a colon and a root',
        })
        .option('archive', { ...textValue('--archive'), describe: 'Verify this export instead of the ledger' })
        .option('jwks', {
          ...value('--jwks', readKeySource),
          describe: 'The published keys: a file or an https URL. By default the configured signing keys',
        })
        .option('recorded-keys', {
          ...flag,
          describe: 'Also believe keys that the ledger itself names. An owner of the database can have one recorded',
        })
        .option('bundle', { ...textValue('--bundle'), describe: 'Verify this evidence bundle instead of the ledger' })
        .option('policy', {
          ...textValue('--policy'),
          describe:
            'A JSON file with the keys that must have signed: the checkpoints, the note of the log, its witnesses',
        })
        .option('note', {
          ...value('--note', (path): KeySource => ({ kind: 'file', path })),
          describe: 'Compare the ledger with a note of its log that you kept: a file',
        })
        .option('log', {
          ...value('--log', readLogUrl),
          describe: 'Compare the ledger with the note that the log shows at this https URL',
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' })
        .check(refusedTogether),
    run: ({ json, ...given }, settings) => run({ subject: subjectOf(given), json }, settings),
  });
}

function subjectOf({ marks = [], archive, bundle, policy, jwks, note, log, ...given }: Given): Subject {
  if (bundle !== undefined) return { kind: 'bundle', bundle, policy };
  if (archive !== undefined) return { kind: 'export', archive, marks, jwks };
  return { kind: 'ledger', marks, jwks, recordedKeys: given['recorded-keys'], policy, note: note ?? log };
}

interface Given
  extends Partial<Record<'archive' | 'bundle' | 'policy', string | undefined>>,
    Partial<Record<'jwks' | 'note' | 'log', KeySource | undefined>> {
  readonly marks?: readonly Mark[] | undefined;
  readonly 'recorded-keys': boolean;
}

/** A sentence about options that exclude each other; `true` if there are none. */
function refusedTogether({ marks, jwks, 'recorded-keys': recordedKeys, ...given }: Given): string | true {
  const { archive, bundle, policy, note, log } = given;
  const notes = [note, log].filter((each) => each !== undefined).length;
  if (recordedKeys && (archive ?? bundle) !== undefined) return NO_RECORDED_KEYS;
  if (recordedKeys && policy !== undefined) return PINNED_KEYS;
  if (notes > 1) return '--note and --log exclude each other.';
  if (notes > 0 && (archive ?? bundle) !== undefined) return WHOLE_LEDGER;
  if (bundle === undefined) return archive === undefined || policy === undefined || NO_POLICY;
  const others = [marks, archive, jwks].filter((each) => each !== undefined);
  return others.length === 0 || 'A bundle has its own keys. Marks, --archive and --jwks are not for --bundle.';
}

const WHOLE_LEDGER = '--note and --log are for the whole ledger: an export or a bundle has only a part of it.';
const PINNED_KEYS = '--recorded-keys and --policy exclude each other, because a policy names the keys.';
const NO_POLICY = '--policy is for the ledger or for --bundle. An export is verified with --jwks.';
const NO_RECORDED_KEYS =
  '--recorded-keys is for the ledger. An export brings no keys, and those of a bundle are named by --policy.';

/**
 * Where the log shows its note: its address is the prefix of its paths (C2SP tlog-tiles, "Parameters").
 * @throws Error with the refusal as its message
 */
function readLogUrl(text: string): KeySource {
  const url = trustedUrl(text);
  if (url === undefined) throw new Error('--log takes an https URL, or an http one of this machine.');
  return { kind: 'url', url: `${url.href.replace(/\/+$/, '')}/checkpoint` };
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

/** The exit code if the seal is not intact. */
const NOT_INTACT = 3;

/** Verifies the ledger, an export or a bundle, and prints the result (specification "Ledger and seal"). */
export async function auditVerify(
  { subject, json }: VerifyRequest,
  overrides: readonly SettingArgument[],
): Promise<number> {
  return runReport(async (log) => {
    const { isIntact, text } = await verify(subject, json, overrides, log);
    process.stdout.write(text);
    return isIntact ? exitCode.done : NOT_INTACT;
  });
}

function verify(subject: Subject, json: boolean, overrides: readonly SettingArgument[], log: Log): Promise<Verdict> {
  switch (subject.kind) {
    case 'ledger':
      return verifyWholeLedger(subject, json, overrides, log);
    case 'export':
      return verifyExportFile(subject, json, overrides);
    case 'bundle':
      return verifyBundleFile(subject, json);
  }
}
