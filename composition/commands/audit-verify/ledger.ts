/**
 * `mandate audit-verify`: the whole ledger, with the keys that the auditor believes, the transparency log in the same database,
 * and the policy and the note that the auditor brings.
 */

import type { KeySource } from '../../../adapters/cli/argument.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import { type LedgerReport, renderLedgerReport } from '../../../adapters/cli/verification-report.ts';
import { verifyEd25519 } from '../../../adapters/jose/log-key.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { verifyLedger } from '../../../application/ledger/verify.ts';
import { logComparison } from '../../../application/log/compare-log.ts';
import { type LogNote, openLogNote, type UnusableNote } from '../../../application/log/open-log-note.ts';
import type { CheckpointVerdict, CheckpointVerifier } from '../../../application/ports/keys.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { LogState } from '../../../application/ports/transparency-log.ts';
import type { Mark } from '../../../domain/ledger/checkpoint.ts';
import type { BelievedKey } from '../../../domain/log/bundle-log.ts';
import { type BundlePolicy, policyFault } from '../../../domain/log/bundle-policy.ts';
import { StartupError } from '../../settings/startup-error.ts';
import {
  auditorKeySet,
  type FetchedText,
  knownKeys,
  NO_KEYS,
  policyOfFile,
  recordedJwks,
  sealingInterval,
  textOf,
  withLedger,
} from '../audit-sources.ts';
import { processSettings } from '../run-command.ts';
import { type Verdict, withProgress } from './verdict.ts';

export interface LedgerRequest {
  readonly marks: readonly Mark[];
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  /** Also believes keys that the ledger itself names. */
  readonly recordedKeys: boolean;
  /** The file of the policy that the ledger and a note of its log must meet. */
  readonly policy: string | undefined;
  /** A note of the log: a file that the auditor kept, or where the log shows it. */
  readonly note: KeySource | undefined;
}

/** @throws StartupError, StorageUnavailable */
export async function verifyWholeLedger(
  request: LedgerRequest,
  json: boolean,
  overrides: readonly SettingArgument[],
  log: Log,
): Promise<Verdict> {
  // 1. What the auditor brings.
  const settings = processSettings(overrides);
  const policy = request.policy === undefined ? undefined : (await policyOfFile(request.policy)).policy;
  const keys = knownKeys(await auditorKeySet(request.jwks, settings));
  if (keys.length === 0) throw new StartupError([NO_KEYS]);
  const { verifier, signers } = verifierOf(keys);
  const brought = request.note === undefined ? undefined : await broughtNote(request.note, policy);
  const report = await withLedger(settings, log, async ({ transparencyLog, checkpoints }): Promise<LedgerReport> => {
    // 2. The log, before the walk: the ledger then has every checkpoint of it.
    const state = await transparencyLog.state();
    if (brought !== undefined) refuseNoteOfAnotherLog(brought, state);
    const note = brought ?? shownNote(state, policy);
    const refused = policy && noteFault(policy, note);
    const compared = note === undefined || 'kind' in note || refused !== undefined ? undefined : note;

    // 3. The walk.
    const recorded = request.recordedKeys ? knownKeys(recordedJwks(await transparencyLog.keys())) : [];
    const outcome = await withProgress((progress) =>
      verifyLedger({
        hash: sha256Bytes,
        turn: eventLoopTurn,
        marks: request.marks,
        interval: sealingInterval(settings),
        progress,
        verifier,
        ledger: checkpoints,
        recorded,
        follower: logComparison({ hash: sha256Bytes, log: transparencyLog, state, note: compared?.head }),
      }),
    );
    if (outcome.kind === 'broken') return outcome;

    // 4. The policy.
    const policyKeys = policy && [...signers.values(), ...(compared?.keys ?? [])];
    const unmet =
      refused ?? (policy && policyFault({ ...policy, logKeys: undefined }, { keys: policyKeys ?? [], log: undefined }));
    if (unmet !== undefined) return { kind: 'policy', sentence: unmet };
    return { ...outcome, log: state, note: compared, policyKeys };
  });
  return { isIntact: report.kind === 'intact', text: renderLedgerReport(report, json) };
}

/** A verifier with these keys, and those of them that have signed what it verified. */
function verifierOf(keys: ReturnType<typeof knownKeys>) {
  const signers = new Map<string, BelievedKey>();
  const verifier: CheckpointVerifier = {
    async verify(kid, text, signature) {
      let found: CheckpointVerdict = 'unknown_key';
      for (const { thumbprint, verifier } of keys) {
        const verdict = await verifier.verify(kid, text, signature);
        if (verdict === 'invalid_signature') found = verdict;
        if (verdict !== 'verified') continue;
        const { checkpoint_id: id } = JSON.parse(text) as { readonly checkpoint_id: number };
        const checkpoint = Math.min(id, signers.get(thumbprint)?.checkpoint ?? id);
        signers.set(thumbprint, {
          use: 'checkpoint',
          name: kid,
          thumbprint,
          checkpoint,
          vkey: undefined,
          seconds: undefined,
        });
        return verdict;
      }
      return found;
    },
  };
  return { verifier, signers };
}

/** @throws StartupError if it is no note, or a signature of a key of the policy is invalid */
async function broughtNote(source: KeySource, policy: BundlePolicy | undefined): Promise<LogNote> {
  const opened = openLogNote(
    { hash: sha256Bytes, verify: verifyEd25519, policy },
    await textOf(source, '--note', NOTE),
  );
  if (!('kind' in opened)) return opened;
  const option = source.kind === 'file' ? '--note' : '--log';
  throw new StartupError([
    opened.kind === 'malformed'
      ? `${option} names a text that is not the note of a log, which begins with its origin, its size and its root.`
      : `${option} names a note that was changed: ${invalidSignature(opened)}`,
  ]);
}

const NOTE: FetchedText = {
  accept: 'text/plain',
  what: 'The note of the log',
  hints: {
    401: 'The log is not public (Service:Audit:Log:Public): have the note sent, and give it with --note.',
    404: '--log takes the address of the log with its path, for example https://mandate.example/log.',
  },
};

/** Without a policy a note is compared by its origin. With one, its signature names the log. */
function refuseNoteOfAnotherLog({ head, keys }: LogNote, state: LogState | undefined): void {
  if (keys !== undefined || state === undefined || head.origin === state.origin) return;
  throw new StartupError([
    `The note is not of the log of this ledger, ${state.origin}. If the log was renamed, give a policy with its log_keys.`,
  ]);
}

/** The note that the service shows to readers, if the policy has keys for it. */
function shownNote(state: LogState | undefined, policy: BundlePolicy | undefined): LogNote | UnusableNote | undefined {
  if (policy?.logKeys === undefined || state?.published === undefined) return undefined;
  return openLogNote({ hash: sha256Bytes, verify: verifyEd25519, policy }, state.published.note);
}

/** The sentence that says which demand the note does not meet. */
function noteFault(policy: BundlePolicy, note: LogNote | UnusableNote | undefined): string | undefined {
  if (policy.logKeys === undefined) return undefined;
  if (note === undefined) return NO_NOTE;
  if ('kind' in note) {
    return note.kind === 'malformed' ? 'The database shows readers a text that is no note.' : invalidSignature(note);
  }
  return policyFault({ ...policy, checkpointKeys: undefined }, { keys: note.keys ?? [], log: note.head });
}

const NO_NOTE =
  'The policy demands a log, and the database has no published note of one: give a note with --note or --log.';

function invalidSignature({ name }: UnusableNote & { readonly kind: 'invalid_signature' }): string {
  return `The signature of ${name} on the note does not verify.`;
}
