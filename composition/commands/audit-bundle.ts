/** `mandate audit-bundle`: writes an evidence bundle. */

import { type FileHandle, open, rm } from 'node:fs/promises';
import { flag, type KeySource, readAs, readKeySource, textValue, value } from '../../adapters/cli/argument.ts';
import { type Verified, writtenLines } from '../../adapters/cli/bundle-report.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { OutputLost, writeOutput } from '../../adapters/cli/standard-output.ts';
import { readCheckpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { verifyEd25519 } from '../../adapters/jose/log-key.ts';
import { eventLoopTurn, systemClock } from '../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { type BelievedKey, bundleReader, runningDigest } from '../../adapters/sdk/audit/bundle.ts';
import type { LedgerReading } from '../../adapters/storage/storage.ts';
import type { SelectedRecords } from '../../application/log/make-bundle.ts';
import { type BundleStop, bundleLog, type MadeBundle, makeBundle } from '../../application/log/make-bundle.ts';
import type { LogState } from '../../application/ports/transparency-log.ts';
import { parseAgentId, parseTaskId } from '../../domain/identifiers.ts';
import { toShortText } from '../../domain/instant.ts';
import { describeDifference } from '../../domain/ledger/compared.ts';
import { parseRangeEnd, parseRangeStart } from '../../domain/ledger/time-range.ts';
import { formatVerifierKey, parseVerifierKey, type VerifierKey } from '../../domain/log/verifier-key.ts';
import type { Json } from '../../domain/tokens/strict-json.ts';
import { loadNoteSigner } from '../files/signing.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { StartupError } from '../settings/startup-error.ts';
import { auditorKeySet, knownKeys, NO_KEYS, recordedJwks, withLedger } from './audit-sources.ts';
import { printError, processSettings, runReport, validSection } from './run-command.ts';

export interface BundleRequest {
  readonly selection: SelectedRecords;
  /** The file to create; `undefined`: standard output. */
  readonly out: string | undefined;
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  /** Also believes the keys that only the database names. */
  readonly recordedKeys: boolean;
  /** Leaves the transparency log out, also if the service keeps one. */
  readonly withoutLog: boolean;
}

const STANDARD_OUTPUT = '-';

/** The exit code if the bundle lacks selected records, or words of a request. */
const INCOMPLETE = 3;

export function auditBundleCommand(run = auditBundle): Command {
  return command({
    examples: [
      {
        line: 'audit-bundle --task task_01M31S7W68TMK7WDX8YKPSYT00 --out evidence.json',
        meaning:
          'The whole history of a task and of its tree. Reads Service:Database, Service:Signing and Service:Audit:Log',
      },
      {
        line: 'audit-bundle --sponsor ada --from 2026-09-01 --to 2026-09-30',
        meaning: 'The records of a person in a month, on standard output',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the bundle has all selected records',
      [exitCode.failed]: 'no bundle was made: the last line on standard error says why',
      [INCOMPLETE]:
        'the bundle is valid, but lacks records that are not sealed, not in the log, or archived, or words that were changed; or no bundle was made, because the records of an approval or a hand-over contradict each other',
    },
    options: (parser) =>
      parser
        .option('task', {
          ...value('--task', readAs(parseTaskId, '--task takes a task id, which is task_ and 26 characters.')),
          describe: 'The records of this task, from its start to its end, and of all tasks of its tree',
        })
        .option('sponsor', { ...textValue('--sponsor'), describe: 'The records that name this person' })
        .option('agent', {
          ...value('--agent', readAs(parseAgentId, '--agent takes an agent id.')),
          describe: 'The records that name this agent',
        })
        .option('from', {
          ...value('--from', readAs(parseRangeStart, '--from takes an ISO 8601 date or timestamp that exists.')),
          describe: 'Records from this date or timestamp (UTC) on',
        })
        .option('to', {
          ...value('--to', readAs(parseRangeEnd, '--to takes an ISO 8601 date or timestamp that exists.')),
          describe: 'Records before this timestamp, or up to the end of this date',
        })
        .option('out', {
          ...textValue('--out'),
          // Without nargs, the parser would read `-` as an option.
          nargs: 1,
          describe: 'Create this file. By default, and with -, the bundle goes to standard output',
        })
        .option('jwks', {
          ...value('--jwks', readKeySource),
          describe: 'Keys of checkpoints: a file or an https URL. By default the configured keys',
        })
        .option('recorded-keys', {
          ...flag,
          describe: 'Also believe keys that only the database names, of checkpoints and of the log, and print them',
        })
        .option('without-log', { ...flag, describe: 'Leave out the transparency log, and prove by checkpoints alone' })
        .check(({ task, sponsor, agent, from, to }) => {
          const isRange = from !== undefined || to !== undefined;
          if ([task, sponsor, agent].filter((each) => each !== undefined).length > 1) return ONE_NAME;
          if (task !== undefined && isRange) return NO_RANGE;
          if (task === undefined && sponsor === undefined && agent === undefined && !isRange) return NOTHING;
          return from !== undefined && to !== undefined && to < from ? BACKWARDS : true;
        }),
    run: (
      { task, sponsor, agent, from, to, out, jwks, 'recorded-keys': recordedKeys, 'without-log': withoutLog },
      settings,
    ) => {
      const selection = { taskId: task, sponsor, agentId: agent, from, to };
      return run(
        { selection, out: out === STANDARD_OUTPUT ? undefined : out, jwks, recordedKeys, withoutLog },
        settings,
      );
    },
  });
}

const NOTHING = 'One of --task, --sponsor, --agent, --from and --to is required.';
const ONE_NAME = '--task, --sponsor and --agent exclude each other.';
const NO_RANGE = '--task takes neither --from nor --to, because it selects the whole history of the task.';
const BACKWARDS = '--to must not be before --from.';

/** Writes an evidence bundle (docs/auditing.md, "Evidence"). */
async function auditBundle(request: BundleRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    const settings = processSettings(overrides);
    return withLedger(settings, log, async (storage) => {
      const target = await openTarget(request.out);
      let made: Awaited<ReturnType<typeof write>>;
      try {
        made = await write(request, { settings, storage }, target.write);
        await target.close();
      } catch (error) {
        await target.discard();
        if (!(error instanceof Contradiction)) throw error;
        printError(`No bundle was made: the records contradict each other. ${error.message}`);
        return INCOMPLETE;
      }
      await sayWritten(writtenLines(made.verdict, request.out), request.out);
      return report(made);
    });
  });
}

/** The ledger has records of an approval or a hand-over that contradict each other. Its message is a sentence that names one. */
class Contradiction extends Error {
  override readonly name = 'Contradiction';
}

interface Sources {
  readonly settings: SettingSources;
  readonly storage: LedgerReading;
}

async function write(
  { selection, jwks, recordedKeys, withoutLog }: BundleRequest,
  { settings, storage }: Sources,
  target: (text: string) => Promise<void>,
): Promise<MadeBundle & { readonly verdict: Verified }> {
  // The database has the records too: its keys vouch for nothing unless the operator asks for them.
  const recorded = recordedKeys ? await storage.transparencyLog.keys() : [];
  const believed = await auditorKeySet(jwks, settings);
  const checkpointKeys = [...believed, ...recordedJwks(recorded)];
  const verifier = readCheckpointVerifier({ keys: checkpointKeys });
  if (verifier === undefined) throw new StartupError([NO_KEYS]);
  const state = withoutLog ? undefined : await storage.transparencyLog.state();
  const ownLogKey = state && (await configuredLogKey(settings, state.origin));
  const logKeys = [
    ...(ownLogKey === undefined ? [] : [ownLogKey]),
    ...recorded.flatMap(({ use, publicKey }) =>
      use === 'log' ? (parseVerifierKey(sha256Bytes, publicKey) ?? []) : [],
    ),
  ];
  const text = makeBundle(
    {
      ledger: storage.ledger,
      checkpoints: storage.checkpoints,
      approvals: storage.approvals,
      hash: sha256Bytes,
      digest: runningDigest,
      verifier,
      clock: systemClock(),
      turn: eventLoopTurn,
      keys: knownKeys(checkpointKeys),
      log: state && (await logOf({ settings, storage }, state, logKeys)),
    },
    selection,
  );
  // Each part is verified before it is written, as an auditor will verify it.
  const reader = bundleReader();
  for (;;) {
    const part = await text.next();
    const verdict = part.done === true ? reader.end() : reader.take(part.value);
    if (part.done === true && part.value.stop !== undefined)
      throw new StartupError([stopSentence(part.value.stop, recordedKeys)]);
    if (verdict?.verified === false && (verdict.fault === 'approval_order' || verdict.fault === 'delegation_order'))
      throw new Contradiction(verdict.message);
    if (verdict?.verified === false) throw new Error(`The bundle would not verify. ${verdict.message}`);
    if (part.done === true) {
      if (verdict === undefined) throw new Error('The bundle was not verified.');
      sayBroughtKeys(verdict.keys, believed, ownLogKey);
      return { ...part.value, verdict };
    }
    await target(part.value);
  }
}

/** On standard output, unless the bundle is there. */
async function sayWritten(lines: readonly string[], out: string | undefined): Promise<void> {
  if (out === undefined) for (const line of lines) printError(line);
  else await writeOutput(`${lines.join('\n')}\n`);
}

/** Says which keys `--recorded-keys` brought. @param ownLogKey the configured key of the log */
function sayBroughtKeys(
  keys: readonly BelievedKey[],
  believed: readonly Json[],
  ownLogKey: VerifierKey | undefined,
): void {
  const known = knownKeys(believed).map(({ thumbprint }) => thumbprint);
  const ofLog = ownLogKey && formatVerifierKey(ownLogKey);
  const brought = keys.flatMap(({ use, thumbprint, vkey }) => {
    if (use === 'checkpoint') return known.includes(thumbprint) ? [] : [thumbprint];
    return use === 'log' && vkey !== ofLog ? [thumbprint] : [];
  });
  if (brought.length === 0) return;
  printError(
    `Signed with keys that only the ledger names: ${brought.join(', ')}. Compare them with a key set that you kept, before a policy names them.`,
  );
}

/** The key of `Service:Audit:Log:Key`, under the name of the stored log, which a note begins with. */
async function configuredLogKey(settings: SettingSources, origin: string): Promise<VerifierKey | undefined> {
  const own = { ...validSection(settings, 'Service:Audit:Log'), 'Service:Audit:Log:Origin': origin };
  return (await loadNoteSigner(own, { published: () => ({ keys: [] }) }))?.key;
}

async function logOf(
  { settings, storage: { transparencyLog } }: Sources,
  state: LogState,
  logKeys: readonly VerifierKey[],
) {
  const witnesses = validSection(settings, 'Service:Audit:Log')['Service:Audit:Log:Witnesses'];
  const known = [...logKeys, ...witnesses.flatMap(({ VKey }) => VKey ?? [])];
  if (logKeys.length === 0) throw new StartupError([NO_LOG_KEY]);
  const log = state.published && bundleLog(state.published.note, known, verifyEd25519);
  if (state.published === undefined || log === undefined) {
    throw new StartupError([
      `The transparency log has no note that its key signed. ${RETRY} Or leave the log out with --without-log.`,
    ]);
  }
  if (log.leftOut > 0) {
    printError(
      `Cosignatures left out: ${log.leftOut}. Their witnesses are not in the settings Service:Audit:Log:Witnesses.`,
    );
  }
  return { ...log, size: state.published.size, tiles: transparencyLog.tiles };
}

const NO_LOG_KEY =
  'The key of the transparency log is not configured here (Service:Audit:Log:Key). Configure it, leave the log out with --without-log, or believe the key that the database names with --recorded-keys.';

interface Target {
  write(text: string): Promise<void>;
  close(): Promise<void>;
  /** Removes the file, because its text is cut off. */
  discard(): Promise<void>;
}

/** Bundles contain personal data: only the operator who makes one may read the file. */
const OWNER_ONLY = 0o600;

async function openTarget(path: string | undefined): Promise<Target> {
  if (path === undefined) {
    return { write: written(writeOutput, 'Standard output was closed, or could not be written.'), ...NOTHING_TO_CLOSE };
  }
  let file: FileHandle;
  try {
    file = await open(path, 'wx', OWNER_ONLY);
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new StartupError([exists ? '--out names a file that exists already.' : UNWRITABLE]);
  }
  const close = written(async () => {
    await file.sync();
    await file.close();
  }, UNWRITABLE);
  return {
    write: written(async (text) => {
      await file.appendFile(text);
    }, UNWRITABLE),
    close: () => close(''),
    async discard() {
      await file.close();
      await rm(path, { force: true });
    },
  };
}

const UNWRITABLE = '--out names a file that cannot be written.';
const NOTHING_TO_CLOSE = { close: async () => {}, discard: async () => {} };

/** @throws StartupError with the sentence */
function written(write: (text: string) => Promise<void>, sentence: string): (text: string) => Promise<void> {
  return async (text) => {
    try {
      await write(text);
    } catch (error) {
      const isExpected = error instanceof OutputLost || (error instanceof Error && 'syscall' in error);
      throw isExpected ? new StartupError([sentence]) : error;
    }
  };
}

const RETRY = 'Try again after the next checkpoint (Service:Audit:Checkpoint:Interval).';

function report({ completeness, altered }: MadeBundle): number {
  const { records, notSealed, notLogged, archivedBefore } = completeness;
  const lacking = [
    ...(notSealed > 0 ? [`Left out, because they are not sealed yet: ${notSealed}. ${RETRY}`] : []),
    ...(notLogged > 0 ? [`Left out, because the log does not contain their checkpoints yet: ${notLogged}.`] : []),
    ...(archivedBefore === undefined
      ? []
      : [`Records before ${toShortText(archivedBefore)} have been archived: the files of audit-archive have them.`]),
  ];
  for (const sentence of lacking) printError(sentence);
  if (lacking.length > 0) printError(`The bundle has ${records} records, and lacks some.`);
  for (const { seq, of, difference } of altered) {
    const named =
      of === 'request' ? `the words of record ${seq}, a request for approval` : `the line of record ${seq}, a no`;
    printError(`Left out: ${named}. ${describeDifference(difference)}`);
  }
  return lacking.length + altered.length === 0 ? exitCode.done : INCOMPLETE;
}

function stopSentence(stop: BundleStop, recordedKeys: boolean): string {
  switch (stop.kind) {
    case 'nothing':
      return 'No record that can be proved matches: there is none, or it is not sealed, not in the log, or archived.';
    case 'broken':
      return `The records of checkpoint ${stop.checkpointId} do not produce the root that was signed: run audit-verify.`;
    case 'unknown_key':
      return recordedKeys
        ? `No known key signed checkpoint ${stop.checkpointId}, and the database names none that did: give the key set that you kept with --jwks.`
        : `No known key signed checkpoint ${stop.checkpointId}: give the key set that you kept with --jwks, or believe the keys that the database names with --recorded-keys.`;
    case 'not_in_log':
      return `Checkpoint ${stop.checkpointId} or the tiles do not lead to the root of the log's note: /readyz says more.`;
    case 'archived':
      return 'Records were archived while the bundle was made: run the command again.';
  }
}
