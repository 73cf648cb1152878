/** `mandate audit-verify`: verifies the ledger, an export or an evidence bundle. */

import { createReadStream } from 'node:fs';
import { flag, type KeySource, once, readKeySource, trustedUrl } from '../../adapters/cli/argument.ts';
import { renderBundleReport } from '../../adapters/cli/bundle-report.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { progressBar } from '../../adapters/cli/progress-bar.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { renderReport, type VerificationReport } from '../../adapters/cli/verification-report.ts';
import { storedExport } from '../../adapters/platform/export-folder.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { type BundleVerdict, verifyBundle } from '../../adapters/sdk/audit/bundle.ts';
import { type ExportVerification, verifyExport } from '../../application/ledger/verify-export.ts';
import { type Mark, parseMark } from '../../domain/ledger/checkpoint.ts';
import { StartupError } from '../settings/startup-error.ts';
import { auditorKeys, policyOfFile, sealingInterval } from './audit-sources.ts';
import { processSettings, runReport } from './run-command.ts';
import { verifyWholeLedger, type WholeLedgerRequest } from './whole-ledger.ts';

/** The policy is for the ledger or for the bundle, the other members of the base for the ledger alone. */
export interface VerifyRequest extends WholeLedgerRequest {
  readonly marks: readonly Mark[];
  /** The file to verify instead of the ledger. */
  readonly archive: string | undefined;
  /** The evidence bundle to verify instead of the ledger. */
  readonly bundle: string | undefined;
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
      [exitCode.usage]: 'an argument is malformed',
      [NOT_INTACT]: 'the seal is not intact, or the policy is not met: the report names the first fault',
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
        .option('recorded-keys', {
          ...flag,
          describe: 'Also believe keys that the ledger itself names. An owner of the database can have one recorded',
        })
        .option('bundle', {
          type: 'string',
          describe: 'Verify this evidence bundle instead of the ledger',
          coerce: once('--bundle', (path) => path),
        })
        .option('policy', {
          type: 'string',
          describe:
            'A JSON file with the keys that must have signed: the checkpoints, the note of the log, its witnesses',
          coerce: once('--policy', (path) => path),
        })
        .option('note', {
          type: 'string',
          describe: 'Compare the ledger with a note of its log that you kept: a file',
          coerce: once('--note', (path) => path),
        })
        .option('log', {
          type: 'string',
          describe: 'Compare the ledger with the note that the log shows at this https URL',
          coerce: once('--log', readLogUrl),
        })
        .option('json', { ...flag, describe: 'Report as one JSON object' })
        .check(refusedTogether),
    run: ({ marks, archive, bundle, policy, jwks, note, log, 'recorded-keys': recordedKeys, json }, settings) => {
      const kept = note === undefined ? undefined : ({ kind: 'file', path: note } as const);
      const shown = log === undefined ? undefined : ({ kind: 'url', url: log } as const);
      const request = { marks: marks ?? [], archive, bundle, policy, jwks, note: kept ?? shown, recordedKeys, json };
      return run(request, settings);
    },
  });
}

interface Given extends Partial<Record<'archive' | 'bundle' | 'policy' | 'note' | 'log', string | undefined>> {
  readonly marks?: readonly Mark[] | undefined;
  readonly jwks?: KeySource | undefined;
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

/** @throws Error with the refusal as its message */
function readLogUrl(text: string): string {
  const url = trustedUrl(text);
  if (url === undefined) throw new Error('--log takes an https URL, or an http one of this machine.');
  return url.href;
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

/** Verifies the ledger or an export, and prints the result (specification "Ledger and seal"). */
export async function auditVerify(request: VerifyRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    if (request.bundle !== undefined) return bundleReport(request.bundle, request.policy, request.json);
    const bar = progressBar(process.stderr, () => performance.now());
    const settings = processSettings(overrides);
    const means = {
      hash: sha256Bytes,
      turn: eventLoopTurn,
      marks: request.marks,
      interval: sealingInterval(settings),
      progress: process.stderr.isTTY ? bar.show : undefined,
    };
    try {
      const report =
        request.archive === undefined
          ? await verifyWholeLedger(request, means, { settings, log })
          : await exportReport(request.archive, { ...means, verifier: await auditorKeys(request.jwks, settings) });
      bar.clear();
      process.stdout.write(renderReport(report, request.json));
      return report.kind === 'broken' || report.kind === 'policy' ? NOT_INTACT : exitCode.done;
    } finally {
      bar.clear();
    }
  });
}

/** Reads no setting, and uses no network. */
async function bundleReport(path: string, policyPath: string | undefined, json: boolean): Promise<number> {
  const policy = policyPath === undefined ? undefined : (await policyOfFile(policyPath)).text;
  const verdict = await verdictOn(path, policy);
  process.stdout.write(renderBundleReport(verdict, policy !== undefined, json));
  return verdict.verified ? exitCode.done : NOT_INTACT;
}

class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
}

async function verdictOn(path: string, policy: string | undefined): Promise<BundleVerdict> {
  try {
    return await verifyBundle(textOfBundle(path), { policy });
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    return { verified: false, fault: 'malformed', line: undefined, message: error.message };
  }
}

/** A byte that is no UTF-8 must not read as another one. */
async function* textOfBundle(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decoded = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new NotUtf8('The text of the file is not UTF-8.');
    }
  };
  try {
    for await (const bytes of createReadStream(path) as AsyncIterable<Uint8Array>) yield decoded(bytes);
    yield decoded();
  } catch (error) {
    if (error instanceof NotUtf8) throw error;
    throw new StartupError(['--bundle names a file that cannot be read.']);
  }
}

async function exportReport(path: string, means: ExportVerification): Promise<VerificationReport> {
  const verdict = await verifyExport(storedExport(path), means);
  if (verdict.kind === 'broken') {
    const { last, ...counts } = verdict.verified;
    return { kind: 'broken', fault: verdict.fault, verified: { ...counts, lastMark: last } };
  }
  const { header, first, last, late } = verdict;
  return { ...header, kind: 'export', firstCheckpoint: first?.checkpointId, lastMark: last, late };
}
