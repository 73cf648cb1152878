/** The transparency log (`Service:Audit:Log`): its growth, its state and its paths. It is loaded only if it is configured. */

import { logPath } from '../adapters/http/public/log.ts';
import { checkpointVerifier } from '../adapters/jose/checkpoint-signatures.ts';
import { verifyEd25519 } from '../adapters/jose/log-key.ts';
import { jwkThumbprint } from '../adapters/jose/signing-key.ts';
import { httpWitnesses } from '../adapters/outbound/http-witnesses.ts';
import { eventLoopTurn, timeLimit } from '../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../adapters/platform/system-crypto.ts';
import { type GrowOutcome, logGrowing } from '../application/log/grow-log.ts';
import { listedKeys } from '../application/log/listed-keys.ts';
import { proveInLog } from '../application/log/prove-in-log.ts';
import { type LogReader, logReader } from '../application/log/read-log.ts';
import { recordKeys } from '../application/log/record-keys.ts';
import {
  describeProblem,
  describeWithheld,
  presentProblems,
  pressingProblems,
} from '../application/log/witness-problems.ts';
import { logWitnessing } from '../application/log/witnessing.ts';
import { StorageUnavailable } from '../application/ports/decisions.ts';
import type { NoteSigner } from '../application/ports/keys.ts';
import type { Clock, ReadinessCheck } from '../application/ports/runtime.ts';
import type { Log } from '../application/ports/telemetry.ts';
import type { TransparencyLog } from '../application/ports/transparency-log.ts';
import type { LogParts, Parts } from './parts.ts';
import { type LogChoice, logChoice } from './settings/alternatives.ts';
import { StartupError } from './settings/startup-error.ts';

/** Longer than a database takes to answer, and short enough for a load balancer. */
const READINESS_LIMIT_MS = 2000;

/** `undefined` if the log is off. */
export function transparencyLog(parts: Parts): LogParts | undefined {
  const { settings, storage, clock, noteSigner: signer, log } = parts;
  const chosen = logChoice(settings);
  if (chosen === undefined || signer === undefined) return undefined;
  const { transparencyLog: stored } = storage;
  const { reader, addCheckpoints, askWitnesses, recordPublishedKeys } = useCases(parts, chosen, signer);
  const witnessesAnswered = firstAnswer(askWitnesses, 1000 * chosen.witnessTimeout, log);
  const recordKeysOnce = once(recordPublishedKeys);
  const names = chosen.witnesses.map(({ key }) => key.name);
  const reportGrowth = growthReport(log);
  /** How many checkpoints the log had before the first pass, which adds those signed while it was off. */
  let loggedAtStart: number | undefined;
  /** Why this process adds no checkpoint, though the stored log has not halted. */
  let notBelieved: string | undefined;

  async function grow(shouldContinue?: () => boolean): Promise<GrowOutcome> {
    loggedAtStart ??= (await stored.state())?.size ?? 0;
    await witnessesAnswered();
    const outcome = await addCheckpoints(shouldContinue);
    notBelieved = outcome.kind === 'unknown_key' ? outcome.reason : undefined;
    if (outcome.kind !== 'other_origin') await recordKeysOnce(loggedAtStart);
    return outcome;
  }

  /** The routes for readers. */
  const served: LogReader = {
    state: () => witnessesAnswered().then(reader.state),
    tile: (path) => witnessesAnswered().then(() => reader.tile(path)),
    keys: reader.keys,
  };

  return {
    path: (access) => logPath({ ...access, log, reader: served, isPublic: settings['Service:Audit:Log:Public'] }),
    async prove(log, checkpoint) {
      const published = (await served.state())?.published;
      return proveInLog({ log, hash: sha256Bytes }, checkpoint, published);
    },
    readiness: logReadiness({ stored, origin: chosen.origin, names, clock, notBelieved: () => notBelieved }),
    async start() {
      if (names.length > 0) {
        const state = await stored.state();
        refuseOtherOrigin(chosen.origin, state?.origin);
        loggedAtStart = state?.size ?? 0;
        await recordKeysOnce(loggedAtStart);
        // The first request does not wait for a witness. Whatever needs the answer finds an error again.
        witnessesAnswered().catch(() => undefined);
        return;
      }
      const outcome = await grow(() => false);
      if (outcome.kind === 'other_origin') refuseOtherOrigin(chosen.origin, outcome.stored);
    },
    async grow(shouldContinue) {
      const outcome = await grow(shouldContinue);
      const halted = outcome.kind === 'halted' ? outcome.reason : notBelieved;
      const stored = outcome.kind === 'other_origin' ? outcome.stored : chosen.origin;
      const problem = problemOf(chosen.origin, stored, halted);
      reportGrowth(problem);
    },
    askWitnesses: () => witnessesAnswered().then(askWitnesses),
  };
}

/** Binds the use cases of the log to their ports. */
function useCases(parts: Parts, chosen: LogChoice, signer: NoteSigner) {
  const { storage, sealedTrees: trees, trustedChain: chain, signingKeys, network, clock, log } = parts;
  const { transparencyLog: stored, checkpoints, ledger } = storage;
  const { witnesses, quorum, witnessTimeout } = chosen;
  const keys = listedKeys({
    log: stored,
    ledger,
    checkpoints,
    trees,
    chain,
    signingKeys,
    signer,
    clock,
    verifierOf: checkpointVerifier,
    hash: sha256Bytes,
  });
  return {
    reader: logReader({ log: stored, keys, checkpoints, clock }),
    addCheckpoints: logGrowing({
      log: stored,
      checkpoints,
      chain,
      signer,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      hasWitnesses: witnesses.length > 0,
    }),
    askWitnesses: logWitnessing({
      transparencyLog: stored,
      witnesses,
      quorum,
      clock,
      sharedTime: parts.clockWatch,
      log,
      ask: httpWitnesses(network, 1000 * witnessTimeout),
      verify: verifyEd25519,
      hash: sha256Bytes,
    }),
    recordPublishedKeys: (logged: number) => {
      const recorded = { decisions: storage, log: stored, signingKeys, signer, clock, logged } as const;
      return recordKeys({ ...recorded, thumbprint: jwkThumbprint });
    },
  };
}

/** Does the work until it has succeeded once. */
function once<Argument>(work: (argument: Argument) => Promise<void>): (argument: Argument) => Promise<void> {
  let isDone = false;
  return async (argument) => {
    if (isDone) return;
    await work(argument);
    isDone = true;
  };
}

/**
 * Resolves when the witnesses have answered about the note that this process found, or after the limit. Before, the process
 * signs no tree and shows no note: the database may be an older copy. The function throws StorageUnavailable.
 */
function firstAnswer(askWitnesses: () => Promise<void>, limitMs: number, log: Log): () => Promise<void> {
  let answered: Promise<void> | undefined;
  return () => {
    answered ??= timeLimit(askWitnesses(), limitMs).then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof StorageUnavailable)) return log.error('the witnesses could not be asked', error);
        answered = undefined;
        throw error;
      },
    );
    return answered;
  };
}

interface WatchedLog {
  readonly stored: TransparencyLog;
  readonly origin: string;
  /** The names of the witnesses. */
  readonly names: readonly string[];
  readonly clock: Clock;
  /** Why this process adds no checkpoint, though the stored log has not halted. */
  notBelieved(): string | undefined;
}

function logReadiness({ stored, origin, names, clock, notBelieved }: WatchedLog): ReadinessCheck {
  return {
    name: 'log',
    async check() {
      // Not the remembered state: the first one that readers get is read after the witnesses have answered.
      const answer = Promise.all([stored.state(), stored.problems()]);
      const read = await timeLimit(
        answer.catch(() => undefined),
        READINESS_LIMIT_MS,
      );
      if (read === undefined) return { status: 'Degraded', detail: 'The database did not answer.' };
      const [state, problems] = read;
      const problem = problemOf(origin, state?.origin, state?.halted ?? notBelieved());
      if (problem !== undefined) return { status: 'Degraded', detail: problem };
      const pressing = pressingProblems(presentProblems(problems, names), state, clock.now());
      const ofWitnesses = pressing.map(describeProblem);
      if (ofWitnesses.length > 0) return { status: 'Degraded', detail: ofWitnesses.join(' ') };
      const withheld = state && describeWithheld(state, names.length > 0);
      if (withheld !== undefined) return { status: 'Degraded', detail: withheld };
      return { status: 'Healthy', detail: `The log has ${state?.size ?? 0} leaves.` };
    },
  };
}

/** Logs why the log does not grow, once for each reason, and that it grows again. */
function growthReport(log: Log): (problem: string | undefined) => void {
  let last: string | undefined;
  return (problem) => {
    // The logger drops error messages, which may quote input. This one quotes only configured names, so it is a field too.
    if (problem !== undefined && problem !== last)
      log.error('the transparency log does not grow', new Error(problem), { problem });
    if (problem === undefined && last !== undefined) log.info('the transparency log grows again');
    last = problem;
  };
}

/** @throws StartupError */
function refuseOtherOrigin(origin: string, stored: string | undefined): void {
  const problem = problemOf(origin, stored, undefined);
  if (problem !== undefined) throw new StartupError([problem]);
}

/** Why the log does not grow, in sentences. */
function problemOf(origin: string, stored: string | undefined, halted: string | undefined): string | undefined {
  if (stored !== undefined && stored !== origin) {
    return `Service:Audit:Log:Origin is ${origin}, but the stored log is ${stored}: set Service:Audit:Log:Origin to it, or run mandate log adopt-origin.`;
  }
  return halted === undefined ? undefined : `The log signs no further tree. ${halted}`;
}
