/**
 * Gets the newest checkpoint of the log cosigned by its witnesses (C2SP tlog-witness v1.0.0), and publishes the note with
 * their cosignatures, unless a witness contradicts it. This pass is separate: sealing never waits for a witness.
 */

import { earlierOf, laterOf } from '../../domain/clocks.ts';
import { type Instant, instantFromSeconds, secondsBetween, toSeconds } from '../../domain/instant.ts';
import { formatAddCheckpoint } from '../../domain/log/add-checkpoint.ts';
import { MAX_CLOCK_DIFFERENCE_SECONDS } from '../../domain/log/cosignature.ts';
import {
  formatNote,
  formatSignatureLine,
  type NoteSignature,
  openNote,
  parseNote,
  parseSignatureLines,
  type VerifiedSignature,
  type VerifyEd25519,
} from '../../domain/log/note.ts';
import type { AskWitness, LogWitness } from '../ports/log-witnesses.ts';
import type { Clock, Hash, SharedTime } from '../ports/runtime.ts';
import type { Log } from '../ports/telemetry.ts';
import type { LogState, StoredCosignature, TransparencyLog, WitnessProblem } from '../ports/transparency-log.ts';
import { proveConsistency } from './prove-in-log.ts';
import { describeProblem } from './witness-problems.ts';

export interface Witnessing {
  readonly transparencyLog: Pick<
    TransparencyLog,
    | ('state' | 'tiles' | 'publish' | 'withdraw' | 'halt')
    | ('keepCosignature' | 'cosignatures' | 'keepProblem' | 'problems')
  >;
  readonly witnesses: readonly LogWitness[];
  /** How many cosignatures a published note has at least. */
  readonly quorum: number;
  readonly ask: AskWitness;
  readonly verify: VerifyEd25519;
  readonly hash: Hash;
  readonly clock: Clock;
  readonly sharedTime: Pick<SharedTime, 'earliest' | 'latest'>;
  readonly log: Log;
}

/** The newest signed tree of the log. */
interface SignedTree extends LogState {
  readonly note: string;
}

/** The witness names its size once. It may have grown by the request of another replica before the next attempt. */
const MAX_ATTEMPTS = 4;

/**
 * A cosigned tree is shown again after this time, and when the process starts: a database that went back to it is found,
 * and readers get a newer cosignature.
 */
const SHOWN_AGAIN_SECONDS = 3600;

/** The returned function runs one pass. It keeps when this process asked each witness. */
export function logWitnessing(service: Witnessing): () => Promise<void> {
  const askedAt = new Map<string, Instant>();
  return async () => {
    if (service.witnesses.length === 0) return;
    const state = await service.transparencyLog.state();
    if (state?.note === undefined || state.halted !== undefined) return;
    const tree = { ...state, note: state.note };
    await Promise.all(service.witnesses.map((witness) => submit(service, witness, tree, askedAt)));
    // Each witness has answered, or had its time. Storage refuses a tree that one of them contradicted.
    await publishCosigned(service, tree);
  };
}

async function submit(
  service: Witnessing,
  witness: LogWitness,
  tree: SignedTree,
  askedAt: Map<string, Instant>,
): Promise<void> {
  const { transparencyLog, clock } = service;
  const { name } = witness.key;
  const now = clock.now();
  const newest = (await transparencyLog.cosignatures()).find((cosignature) => cosignature.witness === name);
  const isCosigned = newest?.size === tree.size && storedCosignature(service, witness, tree, newest) !== undefined;
  const isRecent = Math.abs(secondsBetween(askedAt.get(name) ?? instantFromSeconds(0), now)) < SHOWN_AGAIN_SECONDS;
  if (isCosigned && isRecent) return;

  const outcome = await requestCosignature(service, witness, tree, newest?.size ?? 0);
  if (outcome === undefined) return;
  if ('signature' in outcome) {
    const line = formatSignatureLine(outcome.signature).trimEnd();
    await transparencyLog.keepCosignature({ witness: name, size: tree.size, line, at: outcome.at });
    askedAt.set(name, now);
    return note(service, witness, undefined);
  }
  const problem = { ...outcome, witness: name, since: now };
  if (problem.kind === 'ahead' || problem.kind === 'contradicted') {
    await transparencyLog.withdraw(tree.origin, tree.size);
  }
  if (problem.kind === 'ahead') await transparencyLog.halt(describeProblem(problem));
  await note(service, witness, problem);
}

type Outcome = { readonly signature: NoteSignature; readonly at: Instant } | Omit<WitnessProblem, 'witness' | 'since'>;

/** @param known the last size that the witness cosigned, as far as this database knows @returns `undefined` to try later */
async function requestCosignature(
  service: Witnessing,
  witness: LogWitness,
  tree: SignedTree,
  known: number,
): Promise<Outcome | undefined> {
  let oldSize = Math.min(known, tree.size);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const proof = await proveConsistency({ log: service.transparencyLog, hash: service.hash }, oldSize, tree.size);
    const answer = await service.ask(witness, formatAddCheckpoint({ oldSize, proof, note: tree.note }));
    switch (answer.kind) {
      case 'cosigned': {
        const signature = cosignatureIn(service, witness, tree, answer.lines);
        if (signature !== undefined) return judgeTime(signature, await timeNear(service, signature));
        return { kind: 'wrong_answer', detail: "The answer holds no valid cosignature of the witness's key." };
      }
      case 'other_old_size':
        if (answer.size > tree.size) return judgeAhead(service, answer.size);
        if (answer.size === oldSize) return { kind: 'wrong_answer', detail: 'It refused the size that it named.' };
        if (answer.size < known) {
          const sizes = { cosigned: known, named: answer.size };
          service.log.warn('a witness has lost checkpoints that it cosigned', { witness: witness.key.name, ...sizes });
        }
        oldSize = answer.size;
        break;
      default:
        return { detail: undefined, ...answer };
    }
  }
  return { kind: 'wrong_answer', detail: `It named another size at each of ${MAX_ATTEMPTS} requests.` };
}

/**
 * The time of this service: of those between its two clocks, the one nearest to that of the cosignature. A replica whose
 * clock is wrong must not accuse every honest witness.
 */
async function timeNear({ sharedTime }: Witnessing, { seconds = 0 }: VerifiedSignature): Promise<Instant> {
  const [earliest, latest] = [await sharedTime.earliest(), await sharedTime.latest()];
  return laterOf(earliest, earlierOf(instantFromSeconds(seconds), latest));
}

function judgeTime(signature: VerifiedSignature, at: Instant): Outcome {
  if (isTimely(signature, at)) return { signature, at };
  const dated = new Date(1000 * (signature.seconds ?? 0)).toISOString();
  return { kind: 'wrong_clock', detail: `It dated a cosignature ${dated}.` };
}

function isTimely({ seconds = 0 }: VerifiedSignature, now: Instant): boolean {
  return Math.abs(seconds - toSeconds(now)) <= MAX_CLOCK_DIFFERENCE_SECONDS;
}

/** A witness never cosigns what the log has not signed: the database of a log that is smaller has gone back in time. */
async function judgeAhead({ transparencyLog }: Witnessing, size: number): Promise<Outcome | undefined> {
  // Another replica may have signed a larger tree meanwhile, and the witness has cosigned that one.
  const now = (await transparencyLog.state())?.size ?? 0;
  if (now >= size) return undefined;
  return { kind: 'ahead', detail: `${size} leaves, and the database has ${now}.` };
}

/** The witness's own signature among the lines, if it verifies. Signatures of other keys are ignored. */
function cosignatureIn(
  { verify }: Witnessing,
  { key }: LogWitness,
  tree: SignedTree,
  lines: string,
): VerifiedSignature | undefined {
  const text = parseNote(tree.note)?.text ?? '';
  const signatures = parseSignatureLines(lines);
  const opened = signatures && openNote({ text, signatures }, [key], verify);
  return opened?.kind === 'verified' ? opened.signatures[0] : undefined;
}

/** The signature of a stored cosignature, if it verifies, and had the right time when it was stored. */
function storedCosignature(
  service: Witnessing,
  witness: LogWitness,
  tree: SignedTree,
  { line, at }: StoredCosignature,
): NoteSignature | undefined {
  const signature = cosignatureIn(service, witness, tree, `${line}\n`);
  return signature && isTimely(signature, at) ? signature : undefined;
}

/** Publishes the note with every cosignature that is stored for its size, if there are enough. */
async function publishCosigned(service: Witnessing, tree: SignedTree): Promise<void> {
  const { transparencyLog, witnesses, quorum } = service;
  const stored = await transparencyLog.cosignatures();
  const cosignatures = witnesses.flatMap((witness) => {
    const newest = stored.find(({ witness: name, size }) => name === witness.key.name && size === tree.size);
    return (newest && storedCosignature(service, witness, tree, newest)) ?? [];
  });
  const signed = parseNote(tree.note);
  if (signed === undefined || cosignatures.length < quorum) return;
  const note = formatNote({ text: signed.text, signatures: [...signed.signatures, ...cosignatures] });
  const { published } = (await transparencyLog.state()) ?? {};
  if (published?.note !== note) await transparencyLog.publish(tree.origin, { size: tree.size, note });
}

/** Stores the present problem of a witness, with its begin. Logs it once, however many replicas and passes meet it. */
async function note(
  { transparencyLog, log }: Witnessing,
  { key: { name: witness } }: LogWitness,
  problem: WitnessProblem | undefined,
): Promise<void> {
  const before = (await transparencyLog.problems()).find((known) => known.witness === witness);
  if (before?.kind === problem?.kind && before?.detail === problem?.detail) return;
  const isSame = before?.kind === problem?.kind;
  await transparencyLog.keepProblem(
    witness,
    problem && { ...problem, since: isSame && before ? before.since : problem.since },
  );
  if (isSame) return;
  if (problem === undefined) log.info('a witness cosigns the log again', { witness });
  else log.warn('a witness does not cosign the log', { witness, problem: describeProblem(problem) });
}
