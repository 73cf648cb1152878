/**
 * Holds every answer that clients got against the ledger and against what the service says afterwards. What a request
 * without an answer, or with a 503, may have left behind is said in docs/operating.md ("Fault runs").
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Kept } from '../load/kept.ts';
import { type Requests, requestsOf } from '../load/requests.ts';
import type { Session } from '../load/session.ts';
import { askedAgain } from './asked-again.ts';
import { endings } from './endings.ts';
import type { LedgerLine, Losses } from './evidence.ts';
import { unexpectedAnswers } from './expected-answers.ts';
import { issuedTokens } from './issued-tokens.ts';
import { overloads } from './overloads.ts';
import { recordedActs } from './recorded-acts.ts';
import { renewals } from './renewals.ts';

/** Many times the interval of a run: after a long one, the end of all its tasks is a great deal to seal. */
const SEALED_WITHIN_MS = 300_000;
const LOOKING_MS = 500;

export interface Run {
  readonly kept: readonly Kept[];
  /** Those of the load. */
  readonly agents: readonly string[];
  readonly session: Session;
  readonly adminKey: string;
  /** Runs `audit-verify`; its exit code. */
  readonly verify: () => Promise<number | string>;
  /** How long it is waited for that everything is sealed. */
  readonly sealedWithinMs?: number;
}

export interface Reconciled {
  readonly kept: readonly Kept[];
  readonly records: number;
  /** Tasks of exchanges whose answers did not arrive. */
  readonly leftBehind: number;
  readonly auditVerify: number | string;
  readonly losses: Losses;
}

export async function reconcile(run: Run): Promise<Reconciled> {
  const { kept, agents, session, adminKey, verify, sealedWithinMs = SEALED_WITHIN_MS } = run;
  const requests = requestsOf(NOBODY, '', adminKey);
  const again = await askedAgain(kept, session, requests);
  const unkilled = await killAll(agents, session, requests);
  const lines = await sealedLedger(session, requests, sealedWithinMs);
  const unsealed = lines.filter(({ checkpoint }) => checkpoint === null).length;
  const evidence = { kept, lines, agents };
  const issued = issuedTokens(evidence);
  const auditVerify = await verify();
  const losses = [
    // Where there are any, renewals that were not summed up are no more than what follows from it.
    ...unkilled,
    ...(unsealed === 0 ? [] : [`${unsealed} records were never sealed`]),
    ...(kept.some(({ act, status }) => act === 'exchange' && status === 200) ? [] : ['nobody was given a token']),
    ...issued.losses,
    ...renewals(evidence),
    ...endings(evidence),
    ...recordedActs(evidence),
    ...overloads(evidence),
    ...unexpectedAnswers(kept),
    ...again,
    ...(auditVerify === 0 ? [] : [`audit-verify ended with ${auditVerify}`]),
  ];
  return { kept, records: lines.length, leftBehind: issued.leftBehind, auditVerify, losses };
}

const KILLING_ATTEMPTS = 10;
const KILLING_PAUSE_MS = 1000;

/**
 * Ends every task, so that every renewal is summed up. One agent after the other: after a long run each has tens of
 * thousands, and a process lets no more than two operators do that at once.
 */
async function killAll(agents: readonly string[], session: Session, requests: Requests): Promise<Losses> {
  const losses: string[] = [];
  for (const agent of agents) {
    for (let attempts = 1; ; attempts++) {
      const { status } = await session.send(requests.killAgent(agent));
      if (status === 200) break;
      if (status !== 503 || attempts === KILLING_ATTEMPTS) {
        losses.push(`a kill switch answered ${status}`);
        break;
      }
      await pause(KILLING_PAUSE_MS);
    }
  }
  return losses;
}

/** What is asked afterwards is signed by nobody. */
const NOBODY: Parameters<typeof requestsOf>[0] = {
  get provider(): never {
    throw new Error('nothing of people is asked any more');
  },
  get transmitter(): never {
    throw new Error('nothing of accounts is asked any more');
  },
};

/** Once a checkpoint covers every record: what `audit-verify` says holds for all of them then. */
async function sealedLedger(session: Session, requests: Requests, withinMs: number): Promise<readonly LedgerLine[]> {
  const until = performance.now() + withinMs;
  for (;;) {
    const began = performance.now();
    const lines = await ledger(session, requests);
    if (lines.every(({ checkpoint }) => checkpoint !== null) || performance.now() > until) return lines;
    // Reading it is work for those who seal as well.
    await pause(Math.max(LOOKING_MS, performance.now() - began));
  }
}

async function ledger(session: Session, requests: Requests): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = [];
  let cursor: string | undefined;
  do {
    const { status, body } = await session.send(requests.audit(cursor));
    if (status !== 200) throw new Error(`GET /audit answered ${status}`);
    const { records, next_cursor: next } = body as { records: LedgerLine[]; next_cursor: string | null };
    lines.push(...records);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return lines;
}

/** How long those who did get an answer waited, at most, in milliseconds. */
export function longestAnswer(kept: readonly Kept[]): number {
  return kept.reduce(
    (longest, { status, began, ended }) => (status === 0 ? longest : Math.max(longest, ended - began)),
    0,
  );
}
