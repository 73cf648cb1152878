/**
 * `audit-verify` on the whole ledger: with the keys that the auditor believes, the transparency log in the same database, and
 * the policy and the note that the auditor brings.
 */

import type { KeySource } from '../../adapters/cli/argument.ts';
import type { VerificationReport } from '../../adapters/cli/verification-report.ts';
import { verifyEd25519 } from '../../adapters/jose/log-key.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { type LedgerVerification, verifyLedger } from '../../application/ledger/verify.ts';
import { logComparison } from '../../application/log/compare-log.ts';
import { type LogNote, openLogNote, type UnusableNote } from '../../application/log/open-log-note.ts';
import type { CheckpointVerdict, CheckpointVerifier } from '../../application/ports/keys.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import type { LogState } from '../../application/ports/transparency-log.ts';
import type { BelievedKey } from '../../domain/log/bundle-log.ts';
import { type BundlePolicy, policyFault } from '../../domain/log/bundle-policy.ts';
import type { SettingSources } from '../settings/given-settings.ts';
import { StartupError } from '../settings/startup-error.ts';
import {
  auditorKeySet,
  auditorKeys,
  knownKeys,
  NO_KEYS,
  openLedger,
  policyOfFile,
  recordedJwks,
  textAt,
  textOfFile,
} from './audit-sources.ts';
import { validSection } from './run-command.ts';

export interface WholeLedgerRequest {
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  /** Also believes keys that the ledger itself names. */
  readonly recordedKeys: boolean;
  /** The file of the policy that the ledger and a note of its log must meet. */
  readonly policy: string | undefined;
  /** A note of the log: a file that the auditor kept, or the address of the log. */
  readonly note: KeySource | undefined;
}

type Means = Omit<LedgerVerification, 'ledger' | 'verifier' | 'recorded' | 'follower'>;

interface Surroundings {
  readonly settings: SettingSources;
  readonly log: Log;
}

/** @throws StartupError, StorageUnavailable */
export async function verifyWholeLedger(
  request: WholeLedgerRequest,
  means: Means,
  { settings, log }: Surroundings,
): Promise<VerificationReport> {
  // 1. What the auditor brings.
  const policy = request.policy === undefined ? undefined : (await policyOfFile(request.policy)).policy;
  const { verifier, signers } = await believedKeys(request.jwks, settings, policy !== undefined);
  const brought = request.note === undefined ? undefined : await broughtNote(request.note, policy);
  const storage = await openLedger(validSection(settings, 'Service:Database'), log);
  try {
    // 2. The log, before the walk: the ledger then has every checkpoint of it.
    const { transparencyLog, checkpoints } = storage;
    const state = await transparencyLog.state();
    if (brought !== undefined) refuseNoteOfAnotherLog(brought, state);
    const note = brought ?? shownNote(state, policy);
    const refused = policy && noteFault(policy, note);
    const compared = note === undefined || 'kind' in note || refused !== undefined ? undefined : note;

    // 3. The walk.
    const recorded = request.recordedKeys ? knownKeys(recordedJwks(await transparencyLog.keys())) : [];
    const follower = logComparison({ hash: sha256Bytes, log: transparencyLog, state, note: compared?.head });
    const outcome = await verifyLedger({ ...means, verifier, ledger: checkpoints, recorded, follower });
    if (outcome.kind === 'broken') {
      const { checkpoints: verified, records, archived } = outcome.counts;
      const { fault, lastMark } = outcome;
      return { kind: 'broken', fault, verified: { checkpoints: verified, records, archived, lastMark } };
    }

    // 4. The policy.
    const keys = [...signers(), ...(compared?.keys ?? [])];
    const unmet = refused ?? (policy && policyFault({ ...policy, logKeys: undefined }, { keys, log: undefined }));
    if (unmet !== undefined) return { kind: 'policy', sentence: unmet };
    return {
      ...outcome,
      kind: 'ledger',
      ...(state && { log: { origin: state.origin, size: state.size, halted: state.halted } }),
      ...(compared && { note: { ...compared.head, keys: compared.keys } }),
      ...(policy && { policyKeys: keys }),
    };
  } finally {
    await storage.close();
  }
}

interface BelievedKeys {
  readonly verifier: CheckpointVerifier;
  /** The keys that signed checkpoints, if a policy judges them. */
  signers(): readonly BelievedKey[];
}

async function believedKeys(
  source: KeySource | undefined,
  settings: SettingSources,
  isJudged: boolean,
): Promise<BelievedKeys> {
  if (!isJudged) return { verifier: await auditorKeys(source, settings), signers: () => [] };
  const keys = knownKeys(await auditorKeySet(source, settings));
  if (keys.length === 0) throw new StartupError([NO_KEYS]);
  const signers = new Map<string, BelievedKey>();
  return {
    signers: () => [...signers.values()],
    verifier: {
      async verify(kid, text, signature) {
        let found: CheckpointVerdict = 'unknown_key';
        for (const { thumbprint, verifier } of keys) {
          const verdict = await verifier.verify(kid, text, signature);
          if (verdict === 'invalid_signature') found = verdict;
          if (verdict !== 'verified') continue;
          signers.set(thumbprint, { use: 'checkpoint', name: kid, thumbprint, vkey: undefined, seconds: undefined });
          return verdict;
        }
        return found;
      },
    },
  };
}

/** @throws StartupError if it is no note, or a signature of a key of the policy is invalid */
async function broughtNote(source: KeySource, policy: BundlePolicy | undefined): Promise<LogNote> {
  const text = source.kind === 'file' ? await textOfFile(source.path, '--note') : await noteAt(source.url);
  const opened = openLogNote({ hash: sha256Bytes, verify: verifyEd25519, policy }, text);
  if (!('kind' in opened)) return opened;
  const option = source.kind === 'file' ? '--note' : '--log';
  throw new StartupError([
    opened.kind === 'malformed'
      ? `${option} names a text that is not the note of a log, which begins with its origin, its size and its root.`
      : `${option} names a note that was changed: ${invalidSignature(opened)}`,
  ]);
}

/** The address of a log is the prefix of its paths (C2SP tlog-tiles, "Parameters"). */
async function noteAt(url: string): Promise<string> {
  const address = `${url.replace(/\/+$/, '')}/checkpoint`;
  return textAt(address, { accept: 'text/plain', what: 'The note of the log', hints: NOTE_HINTS });
}

const NOTE_HINTS: Readonly<Record<number, string>> = {
  401: 'The log is not public (Service:Audit:Log:Public): have the note sent, and give it with --note.',
  404: '--log takes the address of the log with its path, for example https://mandate.example/log.',
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
