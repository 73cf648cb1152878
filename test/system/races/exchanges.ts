/** An exchange races with an event that ends its task or refuses its person. No task may wrongly stay live. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import type { Answer, LedgerLine } from '../../support/mandate.ts';
import { type Ending, endings } from '../../support/replicas/endings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import { type Pair, sendPair } from '../../support/replicas/request-pairs.ts';
import {
  aTarget,
  exchangeFor,
  inBrief,
  introspect,
  linesOf,
  refresh,
  type Target,
} from '../../support/replicas/targets.ts';
import { type RaceSetup, runRounds } from './race-setup.ts';

export function exchangesThatRaceWithEndings(setup: RaceSetup): void {
  for (const ending of endings) {
    it(`no task stays live if ${ending.name} races with its exchange`, async () => {
      const outcomes = new Set(await outcomesOf(setup, ending));
      expect(outcomes).to.have.keys('ended', ending.refuses === undefined ? 'goes on' : 'refused');
    });
  }
}

async function outcomesOf(setup: RaceSetup, ending: Ending) {
  const { rounds, ledger } = await runRounds(setup, setup.rounds, (nth) =>
    prepareRound(setup.replicas(), ending, nth, setup.agent()),
  );
  return rounds.map((round) => checkRound(ending, round, ledger));
}

interface ExchangeRound extends Pair {
  readonly target: Target;
  /** The introspection responses of all replicas after both requests. Without a token there are none. */
  readonly seen: readonly Answer['body'][];
  /** The answer to a later refresh. */
  readonly renewal: Answer | undefined;
}

/** The exchange was refused, its task was ended, or its task began after the event and stays live. */
type Outcome = 'refused' | 'ended' | 'goes on';

/** @returns the function that starts the round */
async function prepareRound(
  replicas: Replicas,
  ending: Ending,
  nth: number,
  shared: Target['agent'],
): Promise<() => Promise<ExchangeRound>> {
  const target = aTarget(ending.ofAgent === true ? await ownAgent(replicas, nth) : shared, nth);
  const send = await ending.prepare(replicas, target);
  const form = exchangeFor(replicas, target);
  return async () => {
    const exchanging = () => replicas.at(nth).post('/oauth2/token', form);
    const pair = await sendPair(nth, exchanging, () => send(replicas.at(nth + 1)));
    const issued = pair.one.answer;
    if (issued.status !== 200) return { ...pair, target, seen: [], renewal: undefined };
    const seen = await replicas.each((replica) => introspect(replica, issued));
    return { ...pair, target, seen, renewal: await refresh(replicas.at(nth + 2), target, issued) };
  };
}

/** Registers an agent, and lets the replica that gets the exchange cache the agent. */
async function ownAgent(replicas: Replicas, nth: number): Promise<Target['agent']> {
  const agent = await replicas.agent();
  const elsewhere = { ...exchangeFor(replicas, aTarget(agent, nth)), resource: 'https://elsewhere.example' };
  const refused = await replicas.at(nth).post('/oauth2/token', elsewhere);
  expect(refused.body).to.include({ error: 'invalid_target' });
  return agent;
}

/** Compares a round with the specification. @param ledger the records since the round began */
function checkRound(ending: Ending, round: ExchangeRound, ledger: readonly LedgerLine[]): Outcome {
  const { one: exchanged, other: told } = round;
  expect(told.answer.status, told.answer.text).to.be.oneOf([200, 202, 204]);
  const outcome = outcomeOf(ending, round);

  // A request whose answer arrived before the other request was sent came first.
  if (exchanged.answered < told.asked) expect(outcome).to.equal('ended');
  if (told.answered < exchanged.asked) expect(outcome).to.equal(ending.refuses === undefined ? 'goes on' : 'refused');

  const { revoked_tasks: ended } = told.answer.body;
  if (ended !== undefined) expect(ended).to.equal(outcome === 'ended' ? 1 : 0);

  const lines = linesOf(round.target, ledger);
  expect(lines.map(inBrief)).to.deep.equal(expectedLines(ending, outcome));
  if (outcome !== 'refused') {
    const issued = lines.find(({ event }) => event === 'token.issued');
    const { jti } = decodeJwt(String(exchanged.answer.body.access_token));
    expect(issued).to.include({ task_id: exchanged.answer.body.task_id, jti });
  }
  return outcome;
}

function outcomeOf(ending: Ending, { one, seen, renewal }: ExchangeRound): Outcome {
  const { status, body, text } = one.answer;
  if (status !== 200) {
    expect(ending.refuses, text).not.to.equal(undefined);
    expect(body, text).to.include({ error: 'access_denied', reason: ending.refuses });
    return 'refused';
  }
  if (ending.refuses === undefined && seen.every(({ active }) => active === true)) {
    expect(renewal?.status, renewal?.text).to.equal(200);
    return 'goes on';
  }
  for (const said of seen) expect(said).to.include({ active: false, revocation_reason: ending.reason });
  expect(renewal?.body, renewal?.text).to.include({ error: 'access_denied', reason: laterReason(ending) });
  return 'ended';
}

/** The denial reason of a later refresh. Disabling an agent does not end its tasks, but their refreshes are refused. */
function laterReason({ refuses }: Ending): string {
  return refuses === 'agent_disabled' ? refuses : 'task_revoked';
}

function expectedLines(ending: Ending, outcome: Outcome): readonly string[] {
  const { reason, refuses } = ending;
  const record = ending.record === undefined ? [] : [ending.record];
  if (outcome === 'refused') return [...record, `token.denied ${refuses}`];
  if (outcome === 'goes on') return [...record, 'token.issued', 'token.refreshed'];
  const revoked = refuses === 'agent_disabled' ? [] : [`task.revoked ${reason}`];
  return ['token.issued', ...record, ...revoked, `token.denied ${laterReason(ending)}`];
}
