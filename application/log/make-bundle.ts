/**
 * Makes an evidence bundle from the ledger (docs/auditing.md, "Evidence"), as a stream. A record that is not sealed, or
 * whose checkpoint the log does not contain yet, is counted and left out.
 */

import { parseApprovalDetail } from '../../domain/approvals/approval.ts';
import { parseApprovalId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros } from '../../domain/instant.ts';
import { canonicalCheckpoint } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint } from '../../domain/ledger/checkpoint.ts';
import type { Difference } from '../../domain/ledger/compared.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import {
  type BundleLog,
  type BundleSelection,
  type Completeness,
  completenessOf,
  type EcKey,
  formatDigest,
  formatEntry,
  formatHead,
  formatTail,
  type RecordEntry,
} from '../../domain/log/bundle.ts';
import { formatNote, openNote, parseNote, type VerifyEd25519 } from '../../domain/log/note.ts';
import { COSIGNATURE, ED25519, formatVerifierKey, type VerifierKey } from '../../domain/log/verifier-key.ts';
import { type FindArchivedPart, findArchivedPart } from '../ledger/find-archived-part.ts';
import { type BlockMemory, proveRecord } from '../ledger/prove.ts';
import { type SealedTrees, sealedTrees, type TreeReading } from '../ledger/sealed-trees.ts';
import type { Approvals } from '../ports/approvals.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { CheckpointVerifier } from '../ports/keys.ts';
import type { Ledger, LedgerQuery } from '../ports/ledger.ts';
import type { TransparencyLog } from '../ports/transparency-log.ts';
import { proveInLog } from './prove-in-log.ts';
import { findTree, pages, pagesOfTasks, type TreeTask } from './tree-records.ts';

/** A key that may have signed checkpoints. */
export interface KnownKey {
  readonly kid: string;
  readonly key: EcKey;
  readonly verifier: CheckpointVerifier;
}

interface BundleMaking extends TreeReading {
  readonly ledger: Pick<Ledger, 'page'>;
  readonly checkpoints: Pick<Checkpoints, 'sealing' | 'records' | 'archivings'>;
  readonly approvals: Pick<Approvals, 'find'>;
  /** Their `verifier` accepts the signatures of all of them. */
  readonly keys: readonly KnownKey[];
  /** `undefined` if the service keeps no transparency log. */
  readonly log: (BundleLog & Pick<TransparencyLog, 'tiles'> & { readonly size: number }) | undefined;
  /** SHA-256 of texts that follow each other. */
  readonly digest: () => { update(text: string): unknown; hex(): string };
}

/** With `taskId`: the records of all tasks of its tree. */
export type SelectedRecords = Pick<LedgerQuery, 'taskId' | 'sponsor' | 'agentId' | 'from' | 'to'>;

export type BundleStop =
  /** No record that can be proved matches the selection. The bundle has no text. */
  | { readonly kind: 'nothing' }
  /** The records of the checkpoint no longer produce the root that was signed, or its signature is invalid. */
  | { readonly kind: 'broken'; readonly checkpointId: number }
  | { readonly kind: 'unknown_key'; readonly checkpointId: number }
  /** The checkpoint or the tiles of the log no longer lead to the root in the note. */
  | { readonly kind: 'not_in_log'; readonly checkpointId: number }
  /** The records were archived meanwhile. */
  | { readonly kind: 'archived' };

export interface MadeBundle {
  readonly completeness: Completeness;
  readonly stop: BundleStop | undefined;
  /** Requests for approval without their words, and refusals without the person's line: the stored ones are not the recorded ones. */
  readonly altered: readonly AlteredWords[];
}

interface AlteredWords {
  /** The record of the request or the refusal. */
  readonly seq: number;
  readonly of: 'request' | 'refusal';
  readonly difference: Difference;
}

/**
 * The log of a bundle: its newest note, with the signatures of these keys, the log's first.
 * @returns `undefined` if none of the keys is the log's, or a signature of one of them is invalid
 */
export function bundleLog(
  published: string,
  keys: readonly VerifierKey[],
  verify: VerifyEd25519,
): (BundleLog & { readonly leftOut: number }) | undefined {
  const note = parseNote(published);
  const opened = note && openNote(note, keys, verify);
  if (note === undefined || opened?.kind !== 'verified') return undefined;
  const own = opened.signatures.find(({ key }) => key.type === ED25519);
  if (own === undefined) return undefined;
  const signatures = [own, ...opened.signatures.filter(({ key }) => key.type === COSIGNATURE)];
  return {
    note: formatNote({ text: note.text, signatures }),
    keys: signatures.map(({ key }) => formatVerifierKey(key)),
    leftOut: note.signatures.length - signatures.length,
  };
}

const MICROS_PER_MILLI = 1000;

/** Yields the text in parts. If it returns a `stop`, the text is cut off, and no verifier accepts it. */
export async function* makeBundle(
  making: BundleMaking,
  selected: SelectedRecords,
): AsyncGenerator<string, MadeBundle, undefined> {
  const tree = await findTree(making, selected.taskId);
  const asked = inMilliseconds(selected);
  const selection = { ...asked, ...(tree && { tree: true as const }) };
  const summary = completenessOf(selection);
  const digest = making.digest();
  const altered: AlteredWords[] = [];
  const trees = sealedTrees(making);
  const archivedPart = findArchivedPart({ ...making, trees });
  const entries = bundleEntries({ ...making, trees, archivedPart }, selection, altered);
  let [notSealed, notLogged] = [0, 0];
  let archivedBefore: Instant | undefined;
  let isEmpty = true;
  /** The tasks whose first token has a record. */
  const started = new Set<string>();
  const links = new Map(tree?.map(({ taskId, link }) => [taskId as string, link]));
  const completeness = (): Completeness => {
    const said = summary.said();
    // Records leave the ledger oldest first: with its start, the whole of a task is there.
    const isWhole = tree === undefined ? said.started !== undefined : tree.every(({ taskId }) => started.has(taskId));
    const lacksOlder = !isWhole && (selection.from ?? 0) < (archivedBefore ?? 0);
    return { ...said, notSealed, notLogged, archivedBefore: lacksOlder ? archivedBefore : undefined };
  };

  for await (const page of tree === undefined ? pages(making, asked) : pagesOfTasks(making, tree)) {
    for (const record of page.records) {
      if (tree && record.event === 'token.issued' && record.taskId !== undefined) started.add(record.taskId);
      const sealedBy = provedBy(record, links);
      if (sealedBy === undefined) notSealed += 1;
      else if (making.log !== undefined && sealedBy > making.log.size) notLogged += 1;
      else {
        const made = await entries(record);
        if ('kind' in made) return { completeness: completeness(), stop: made, altered };
        const text = `${isEmpty ? formatHead(selection, making.log) : ',\n'}${made.join(',\n')}`;
        isEmpty = false;
        digest.update(text);
        summary.add(record);
        yield text;
      }
    }
  }
  // After the last page: a month may have been archived meanwhile.
  archivedBefore = (await archivedPart())?.before;
  if (isEmpty) return { completeness: completeness(), stop: { kind: 'nothing' }, altered };
  const tail = formatTail(completeness());
  digest.update(tail);
  yield `${tail}${formatDigest(digest.hex())}\n`;
  return { completeness: completeness(), stop: undefined, altered };
}

/** Published times have milliseconds. A range that begins or ends within one is extended to the whole of it. */
function inMilliseconds({ from, to, ...selection }: SelectedRecords): SelectedRecords & BundleSelection {
  const round = (instant: Instant | undefined, rounded: (millis: number) => number) =>
    instant && instantFromMicros(rounded(instant / MICROS_PER_MILLI) * MICROS_PER_MILLI);
  return { ...selection, from: round(from, Math.floor), to: round(to, Math.ceil) };
}

/**
 * The checkpoint with which the record can be in the bundle: its own, or that of the hand-over that leads to its task, if that is
 * later. `undefined` if one of them is not sealed yet.
 */
function provedBy(
  { checkpoint, taskId }: LedgerRecord,
  links: ReadonlyMap<string, TreeTask['link']>,
): number | undefined {
  const link = taskId === undefined ? 0 : (links.get(taskId) ?? 0);
  return checkpoint === undefined || link === 'not_sealed' ? undefined : Math.max(checkpoint, link);
}

/** The lines for a record: its own, after that of its checkpoint if it is the first record of it. */
function bundleEntries(
  making: BundleMaking & { readonly trees: SealedTrees; readonly archivedPart: FindArchivedPart },
  { taskId }: BundleSelection,
  altered: AlteredWords[],
): (record: LedgerRecord) => Promise<readonly string[] | BundleStop> {
  const { keys, log } = making;
  const memory: BlockMemory = {};
  const listed = new Set<number>();
  const introduced = new Map<string, KnownKey>();

  async function checkpointEntry(checkpoint: Checkpoint): Promise<string | BundleStop> {
    const { checkpointId, kid, signature } = checkpoint;
    const signed = canonicalCheckpoint(checkpoint);
    let signer: KnownKey | undefined;
    for (const known of keys) {
      if ((await known.verifier.verify(kid, signed, signature)) === 'verified') signer ??= known;
    }
    if (signer === undefined) return { kind: 'unknown_key', checkpointId };
    const key = introduced.get(kid) === signer ? undefined : signer.key;
    introduced.set(kid, signer);
    if (log === undefined) return formatEntry({ checkpoint, key, logPath: undefined });
    const logged = await proveInLog({ log, hash: making.hash }, checkpoint, log);
    if (logged.kind !== 'proof') return { kind: 'not_in_log', checkpointId };
    return formatEntry({ checkpoint, key, logPath: fromHex(logged.proof.inclusionPath) });
  }

  return async (record) => {
    const outcome = await proveRecord(making, record.seq, memory);
    if (outcome.kind === 'broken') return { kind: 'broken', checkpointId: outcome.checkpoint.checkpointId };
    if (outcome.kind !== 'proof') return { kind: 'archived' };
    const { checkpoint, leafIndex, auditPath } = outcome.proof;
    // The history of a task has the words that its person read and wrote. Other selections are about more people.
    const beside = taskId === undefined ? {} : await wordsOf(making, record, altered);
    const entry = formatEntry({ record, index: leafIndex, path: fromHex(auditPath), ...beside });
    if (listed.has(checkpoint.checkpointId)) return [entry];
    const first = await checkpointEntry(checkpoint);
    if (typeof first !== 'string') return first;
    listed.add(checkpoint.checkpointId);
    return [first, entry];
  };
}

/** The words of a request, and the person's line of a refusal, while they are stored as they were recorded. */
async function wordsOf(
  { approvals }: Pick<BundleMaking, 'approvals'>,
  { seq, event, detail }: LedgerRecord,
  altered: AlteredWords[],
): Promise<Pick<RecordEntry, 'words' | 'says'>> {
  const named = parseApprovalDetail(detail);
  const isRequest = event === 'approval.requested';
  const isLine = event === 'approval.refused' && named?.saysHash !== undefined;
  const approvalId = named && (isRequest || isLine) ? parseApprovalId(named.approvalId) : undefined;
  const stored = approvalId && (await approvals.find(approvalId));
  if (stored === undefined) return {};
  if (stored.kind === 'same') return isRequest ? { words: stored.row } : { says: stored.row.says };
  altered.push({ seq, of: isRequest ? 'request' : 'refusal', difference: stored.difference });
  return {};
}

function fromHex(path: readonly string[]): readonly Uint8Array[] {
  return path.map((each) => Buffer.from(each, 'hex'));
}
