/** The suites of races tried against what they have to find: a database that lacks one of the locks, or of the checks. */

import { AssertionError, expect } from 'chai';
import { LOCK } from '../../../adapters/storage/postgres/locks.ts';
import type { Outside } from '../../support/databases.ts';
import type { LedgerLine } from '../../support/mandate.ts';
import { endings } from '../../support/replicas/endings.ts';
import { judgeMeeting, prepareMeeting } from './exchange-meeting.ts';
import { judgeNarrowing, prepareNarrowing } from './renewals.ts';
import { play, type Stage } from './stage.ts';
import { judgeEqual, prepareEqual } from './writes.ts';

/** One wave, in which everything meets; where the machine is too busy for that, another. */
const ROUNDS = 40;
const WAVES = 20;

export function racesThatAreSeen(stage: Stage): void {
  const locks = [
    ['sponsor', 'Shared Signals account-disabled'],
    ['subject', 'a logout of a person'],
    ['session', 'a logout of a session'],
    ['agent', 'the disabling of an agent'],
  ] as const;
  for (const [lock, name] of locks) {
    it(`an exchange that does not lock its ${lock} is seen to outlive ${name}`, async () => {
      const ending = endings.find((one) => one.name === name);
      if (ending === undefined) throw new Error(`nothing is called ${name}`);
      const taking = new RegExp(`perform pg_advisory_xact_lock_shared\\(${LOCK[lock]}, .*\\);`);
      const lost = await faultsWithout(stage, 'open_task', [taking, 'perform 1;'], {
        prepare: (nth) => prepareMeeting(stage.replicas(), ending, nth, stage.agent()),
        judge: (meeting, ledger) => judgeMeeting(ending, meeting, ledger),
      });
      expect(lost).to.be.greaterThan(0);
    });
  }

  it('a renewal that does not look at the scope again is seen to widen it', async () => {
    const lost = await faultsWithout(stage, 'renew_grant', [/and scope = p_grant_scope/, ''], {
      prepare: (nth) => prepareNarrowing(stage, nth),
      judge: judgeNarrowing,
    });
    expect(lost).to.be.greaterThan(0);
  });

  it('a signal that is not remembered is seen to be acted on again', async () => {
    const lost = await faultsWithout(stage, 'remember_signal', [/return found;/, 'return true;'], {
      prepare: (nth) => prepareEqual(stage, nth),
      judge: judgeEqual,
    });
    expect(lost).to.be.greaterThan(0);
  });
}

interface Suite<Round> {
  readonly prepare: (nth: number) => Promise<() => Promise<Round>>;
  readonly judge: (round: Round, ledger: readonly LedgerLine[]) => unknown;
}

/** How many rounds of a wave go wrong while a function of the database is another. */
async function faultsWithout<Round>(
  stage: Stage,
  name: string,
  change: readonly [from: RegExp, to: string],
  { prepare, judge }: Suite<Round>,
): Promise<number> {
  const putBack = await changeFunction(stage.replicas().outside, name, change);
  try {
    for (let wave = 0; wave < WAVES; wave++) {
      const { rounds, ledger } = await play(stage, ROUNDS, (nth) => prepare(startedTogether(nth)));
      const wrong = rounds.filter((round) => goesWrong(() => judge(round, ledger))).length;
      if (wrong > 0) return wrong;
    }
    return 0;
  } finally {
    await putBack();
  }
}

/** Of the ways in which two can meet, the three in which neither waits for the other's answer. */
function startedTogether(nth: number): number {
  return Math.floor(nth / 3) * 5 + (nth % 3);
}

async function changeFunction(
  outside: Outside,
  name: string,
  [from, to]: readonly [RegExp, string],
): Promise<() => Promise<unknown>> {
  const [row] = await outside.sql(`select pg_get_functiondef('${name}'::regproc) as definition`);
  const definition = String(row?.definition);
  const changed = definition.replace(from, to);
  expect(changed).not.to.equal(definition);
  await outside.sql(changed);
  return () => outside.sql(definition);
}

function goesWrong(judge: () => unknown): boolean {
  try {
    judge();
    return false;
  } catch (error) {
    if (error instanceof AssertionError) return true;
    throw error;
  }
}
