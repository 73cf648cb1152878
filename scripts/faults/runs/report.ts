/** What a run prints, and with what it exits. */

import { describeMachine } from '../../machine.ts';
import { isUnknown, type Kept } from '../load/kept.ts';
import { longestAnswer, type Reconciled } from '../reconciliation/reconcile.ts';

/** More are the same again. */
const PRINTED_LOSSES = 20;

/** @param done what was done to the service, in a sentence; figures beside it, a line each */
export function report(done: string, figures: readonly string[], outcome: Reconciled): void {
  for (const line of describeMachine(new Date())) console.log(`- ${line}`);
  console.log(`- ${done}`);
  for (const line of [...figures, ...countsOf(outcome)]) console.log(`- ${line}`);
  for (const loss of outcome.losses.slice(0, PRINTED_LOSSES)) console.log(`  LOST: ${loss}`);
  console.log(outcome.losses.length === 0 ? 'Lost: nothing' : `Lost: ${outcome.losses.length}, see above`);
  if (outcome.losses.length > 0) process.exitCode = 1;
}

function countsOf({ kept, records, leftBehind, auditVerify }: Reconciled): readonly string[] {
  const by = (status: (one: Kept) => boolean) => kept.filter(status).length;
  const whole = kept.length;
  const unanswered = by(({ status }) => status === 0);
  const unavailable = by(({ status }) => status === 503);
  const answered = whole - kept.filter(isUnknown).length;
  return [
    `requests ${whole}: answered ${answered}, 503 ${unavailable}, no answer ${unanswered} (of these ` +
      `${by(({ refused }) => refused === true)} found nobody listening); the longest answer took ${Math.round(longestAnswer(kept))} ms`,
    `exchanges answered with a token ${by((one) => one.act === 'exchange' && one.status === 200)}, renewals ` +
      `${by((one) => one.act === 'refresh' && one.status === 200)}, refusals ${by(({ status }) => status === 400)}`,
    `records ${records}; tasks that an exchange without an answer left behind ${leftBehind}; audit-verify ${auditVerify}`,
  ];
}
