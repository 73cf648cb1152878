/**
 * Compares every response with the ledger, and with the service's final state (docs/fault-runs.md).
 * responses.ts checks the answers alone, tasks.ts, approvals.ts and records.ts compare them with the records, state.ts with the
 * final state.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { type OperatorRequests, operatorRequests } from '../../requests.ts';
import type { Session } from '../load/session.ts';
import type { LedgerLine, Losses, Operation } from '../operations.ts';
import { approvals } from './approvals.ts';
import { overloads, recordedActs } from './records.ts';
import { unexpectedResponses } from './responses.ts';
import { lostEffects } from './state.ts';
import { finalEnds, issuedTokens, recordedEnds, renewals, revokedTokens } from './tasks.ts';

interface Reconciliation {
  readonly operations: readonly Operation[];
  /** The ids of the agents in the load. */
  readonly agents: readonly string[];
  readonly session: Session;
  readonly adminKey: string;
  /** Runs `audit-verify`. Resolves with its exit code. */
  readonly verify: () => Promise<number | string>;
  /** How long to wait until all records are sealed. */
  readonly sealedWithinMs?: number;
}

export interface Reconciled {
  readonly operations: readonly Operation[];
  readonly records: number;
  /** The number of tasks from exchanges whose responses did not arrive. */
  readonly leftBehind: number;
  /** The number of used approvals whose answers did not arrive. */
  readonly untold: number;
  readonly auditVerify: number | string;
  readonly losses: Losses;
}

/** A long time, because ending all tasks of a long run makes many records. */
const SEALED_WITHIN_MS = 300_000;
const POLL_MS = 500;

export async function reconcile(run: Reconciliation): Promise<Reconciled> {
  const { operations, agents, session, adminKey, verify, sealedWithinMs = SEALED_WITHIN_MS } = run;
  const operator = operatorRequests(adminKey);
  const lost = await lostEffects(operations, session, operator);
  const alive = await endAllTasks(agents, session, operator);
  const lines = await sealedLedger(session, operator, sealedWithinMs);
  const unsealed = lines.filter(({ checkpoint }) => checkpoint === null).length;
  const history = { operations, lines, agents };
  const issued = issuedTokens(history);
  const used = approvals(history);
  const auditVerify = await verify();
  const hasToken = operations.some(({ kind, status }) => kind === 'exchange' && status === 200);
  const losses = [
    // These come first: if a task did not end, its sum of renewals is missing too.
    ...alive,
    ...(unsealed === 0 ? [] : [`${unsealed} records were never sealed`]),
    ...(hasToken ? [] : ['no exchange was answered with a token']),
    ...issued.losses,
    ...renewals(history),
    ...recordedEnds(history),
    ...finalEnds(history),
    ...revokedTokens(history),
    ...used.losses,
    ...recordedActs(history),
    ...overloads(history),
    ...unexpectedResponses(operations),
    ...lost,
    ...(auditVerify === 0 ? [] : [`audit-verify ended with ${auditVerify}`]),
  ];
  return { operations, records: lines.length, leftBehind: issued.leftBehind, untold: used.untold, auditVerify, losses };
}

const KILL_ATTEMPTS = 10;
const KILL_PAUSE_MS = 1000;

/**
 * Ends every task, so that the sums of renewals are recorded. It ends one agent's tasks after another's. An agent may have
 * tens of thousands after a long run, and a process admits only two such requests at a time.
 */
async function endAllTasks(agents: readonly string[], session: Session, operator: OperatorRequests): Promise<Losses> {
  const losses: string[] = [];
  for (const agent of agents) {
    for (let attempt = 1; ; attempt++) {
      const { status } = await session.send(operator.killAgent(agent));
      if (status === 200) break;
      if (status !== 503 || attempt === KILL_ATTEMPTS) {
        losses.push(`a kill switch answered ${status}`);
        break;
      }
      await pause(KILL_PAUSE_MS);
    }
  }
  return losses;
}

/** Waits until a checkpoint covers every record, so that `audit-verify` verifies all of them. */
export async function sealedLedger(
  session: Session,
  operator: OperatorRequests,
  withinMs: number,
): Promise<readonly LedgerLine[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const began = performance.now();
    const lines = await ledger(session, operator);
    if (lines.every(({ checkpoint }) => checkpoint !== null) || performance.now() > deadline) return lines;
    // Reading a long ledger slows down sealing.
    await pause(Math.max(POLL_MS, performance.now() - began));
  }
}

async function ledger(session: Session, operator: OperatorRequests): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = [];
  let cursor: string | undefined;
  do {
    const { status, body } = await session.send(operator.audit(cursor));
    if (status !== 200) throw new Error(`GET /audit answered ${status}`);
    const { records, next_cursor: next } = body as { records: LedgerLine[]; next_cursor: string | null };
    lines.push(...records);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return lines;
}
