/** A refresh and, at the same time, the end of its task or a refresh of the same grant with a narrower scope. */

import { expect } from 'chai';
import type { Answer, LedgerLine } from '../../support/mandate.ts';
import { type TaskEnding, taskEndings } from '../../support/replicas/endings.ts';
import { type Pair, sendPair } from '../../support/replicas/request-pairs.ts';
import {
  aTarget,
  inBrief,
  introspect,
  linesOf,
  newTask,
  refresh,
  type Target,
} from '../../support/replicas/targets.ts';
import { type RaceSetup, runRounds } from './race-setup.ts';

export function renewalsThatRace(setup: RaceSetup): void {
  for (const ending of taskEndings) {
    it(`no task is renewed after ${ending.name}, even by a refresh at the same time`, async () => {
      const { rounds, ledger } = await runRounds(setup, setup.rounds, (nth) => prepareEnd(setup, ending, nth));
      const outcomes = rounds.map((round) => checkEnd(ending, round, ledger));
      expect(new Set(outcomes)).to.have.keys('renewed', 'refused');
    });
  }

  it('a narrower scope stays, even if a refresh with a wider scope races with it', async () => {
    const { rounds, ledger } = await runRounds(setup, setup.rounds, (nth) => prepareNarrowing(setup, nth));
    const outcomes = rounds.map((round) => checkNarrowing(round, ledger));
    expect(new Set(outcomes)).to.have.keys('wide first', 'narrow first');
  });
}

interface EndedRenewal extends Pair {
  readonly target: Target;
  /** For each replica, its introspection of the first token and of the renewed token. */
  readonly seen: readonly Answer['body'][];
  readonly again: Answer;
}

async function prepareEnd(setup: RaceSetup, ending: TaskEnding, nth: number): Promise<() => Promise<EndedRenewal>> {
  const replicas = setup.replicas();
  const target = aTarget(setup.agent(), nth);
  const issued = await newTask(replicas, replicas.at(nth + 2), target);
  const send = ending.prepare(target, issued, replicas);
  return async () => {
    const renew = () => refresh(replicas.at(nth), target, issued);
    const pair = await sendPair(nth, renew, () => send(replicas.at(nth + 1)));
    const renewed = pair.one.answer.status === 200 ? [pair.one.answer] : [];
    const seen = await Promise.all(
      [issued, ...renewed].map((token) => replicas.each((replica) => introspect(replica, token))),
    );
    return { ...pair, target, seen: seen.flat(), again: await refresh(replicas.at(nth + 2), target, issued) };
  };
}

function checkEnd(ending: TaskEnding, round: EndedRenewal, ledger: readonly LedgerLine[]): 'renewed' | 'refused' {
  const { one: renewal, other: told, target, seen, again } = round;
  expect(told.answer.status, told.answer.text).to.equal(200);
  const revoked = { error: 'access_denied', reason: 'task_revoked' };
  const outcome = renewal.answer.status === 200 ? 'renewed' : 'refused';
  if (outcome === 'refused') expect(renewal.answer.body, renewal.answer.text).to.include(revoked);
  if (renewal.answered < told.asked) expect(outcome).to.equal('renewed');
  if (told.answered < renewal.asked) expect(outcome).to.equal('refused');
  for (const said of seen) expect(said).to.include({ active: false, revocation_reason: ending.reason });
  expect(again.body, again.text).to.include(revoked);
  const end = `task.revoked ${ending.reason}`;
  const between = outcome === 'renewed' ? ['token.refreshed', end] : [end, 'token.denied task_revoked'];
  const expected = ['token.issued', ...between, 'token.denied task_revoked'];
  expect(linesOf(target, ledger).map(inBrief)).to.deep.equal(expected);
  return outcome;
}

const NARROW = 'jira:read';
const WIDE = 'jira:read jira:comment';

interface Narrowing extends Pair {
  readonly target: Target;
  /** The answers to later refreshes: without a scope, and with a wider one. */
  readonly given: Answer;
  readonly widened: Answer;
}

/** Every second of the wider refreshes names no scope, which requests the current scope of the grant. */
export async function prepareNarrowing(setup: RaceSetup, nth: number): Promise<() => Promise<Narrowing>> {
  const replicas = setup.replicas();
  const target = aTarget(setup.agent(), nth);
  const issued = await newTask(replicas, replicas.at(nth + 2), target);
  return async () => {
    const narrow = () => refresh(replicas.at(nth), target, issued, { scope: NARROW });
    const wide = () => refresh(replicas.at(nth + 1), target, issued, nth % 2 === 0 ? { scope: WIDE } : {});
    const pair = await sendPair(nth, narrow, wide);
    const [given, widened] = await Promise.all([
      refresh(replicas.at(nth + 1), target, issued),
      refresh(replicas.at(nth + 2), target, issued, { scope: WIDE }),
    ]);
    return { ...pair, target, given, widened };
  };
}

export function checkNarrowing(round: Narrowing, ledger: readonly LedgerLine[]): 'wide first' | 'narrow first' {
  const { one: narrow, other: wide, target, given, widened } = round;
  expect(narrow.answer.body, narrow.answer.text).to.include({ scope: NARROW });
  const outcome = wide.answer.body.scope === WIDE ? 'wide first' : 'narrow first';
  if (wide.answered < narrow.asked) expect(outcome).to.equal('wide first');
  if (narrow.answered < wide.asked) expect(outcome).to.equal('narrow first');
  if (wide.answer.status !== 200) expect(wide.answer.body).to.include({ error: 'invalid_scope' });
  expect(given.body, given.text).to.include({ scope: NARROW });
  expect(widened.body, widened.text).to.include({ error: 'invalid_scope' });
  const renewed = linesOf(target, ledger).filter(({ event }) => event === 'token.refreshed');
  const [first, ...later] = renewed.map(({ scope }) => scope);
  expect(first).to.equal(outcome === 'wide first' ? WIDE : NARROW);
  expect(new Set(later)).to.deep.equal(new Set([NARROW]));
  return outcome;
}
