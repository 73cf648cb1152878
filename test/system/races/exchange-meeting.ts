/**
 * An exchange that meets what ends its task or refuses its person, and what may come of it: whichever of the two was
 * first, once both are answered no task is left that the other should have ended.
 */

import { expect } from 'chai';
import type { Answer, LedgerLine } from '../../support/mandate.ts';
import type { Ending } from '../../support/replicas/endings.ts';
import { meet, type Pair } from '../../support/replicas/meetings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import {
  aTarget,
  exchangeFor,
  inBrief,
  introspect,
  linesOf,
  refresh,
  type Target,
} from '../../support/replicas/targets.ts';

export interface Meeting extends Pair {
  readonly target: Target;
  /** What each replica says of the token once both are answered; nothing when there is none. */
  readonly seen: readonly Answer['body'][];
  /** What becomes of the grant then. */
  readonly renewal: Answer | undefined;
}

/** How it may come out: the exchange was refused; its task was ended; or it started after what ends tasks. */
export type Fate = 'refused' | 'ended' | 'goes on';

/** @returns what starts the round */
export async function prepareMeeting(
  replicas: Replicas,
  ending: Ending,
  nth: number,
  shared: Target['agent'],
): Promise<() => Promise<Meeting>> {
  const target = aTarget(ending.ofAgent === true ? await ownAgent(replicas, nth) : shared, nth);
  const say = await ending.about(replicas, target);
  const form = exchangeFor(replicas, target);
  return async () => {
    const exchanging = () => replicas.at(nth).post('/oauth2/token', form);
    const pair = await meet(nth, exchanging, () => say(replicas.at(nth + 1)));
    const issued = pair.one.answer;
    if (issued.status !== 200) return { ...pair, target, seen: [], renewal: undefined };
    const seen = await replicas.each((replica) => introspect(replica, issued));
    return { ...pair, target, seen, renewal: await refresh(replicas.at(nth + 2), target, issued) };
  };
}

/** Known to the replica that the exchange is sent to, so that it is judged from memory. */
async function ownAgent(replicas: Replicas, nth: number): Promise<Target['agent']> {
  const agent = await replicas.agent();
  const elsewhere = { ...exchangeFor(replicas, aTarget(agent, nth)), resource: 'https://elsewhere.example' };
  const refused = await replicas.at(nth).post('/oauth2/token', elsewhere);
  expect(refused.body).to.include({ error: 'invalid_target' });
  return agent;
}

/** Holds a round to the specification, with the ledger's lines of the time in which it was played. */
export function judgeMeeting(ending: Ending, meeting: Meeting, ledger: readonly LedgerLine[]): Fate {
  const { one: exchanged, other: told } = meeting;
  expect(told.answer.status, told.answer.text).to.be.oneOf([200, 202, 204]);
  const fate = fateOf(ending, meeting);

  // What was through before the other began was first.
  if (exchanged.answered < told.asked) expect(fate).to.equal('ended');
  if (told.answered < exchanged.asked) expect(fate).to.equal(ending.refuses === undefined ? 'goes on' : 'refused');

  const { revoked_tasks: ended } = told.answer.body;
  if (ended !== undefined) expect(ended).to.equal(fate === 'ended' ? 1 : 0);

  const lines = linesOf(meeting.target, ledger);
  expect(lines.map(inBrief)).to.deep.equal(expectedLines(ending, fate));
  if (fate !== 'refused') {
    const issued = lines.find(({ event }) => event === 'token.issued');
    expect(issued).to.include({ task_id: exchanged.answer.body.task_id, jti: jtiOf(exchanged.answer) });
  }
  return fate;
}

function fateOf(ending: Ending, { one, seen, renewal }: Meeting): Fate {
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

/** Why a renewal is refused afterwards. A disabled agent's tasks are not over, but nothing can be done with them. */
function laterReason({ refuses }: Ending): string {
  return refuses === 'agent_disabled' ? refuses : 'task_revoked';
}

function expectedLines(ending: Ending, fate: Fate): readonly string[] {
  const { reason, refuses } = ending;
  const record = ending.record === undefined ? [] : [ending.record];
  if (fate === 'refused') return [...record, `token.denied ${refuses}`];
  if (fate === 'goes on') return [...record, 'token.issued', 'token.refreshed'];
  const revoked = refuses === 'agent_disabled' ? [] : [`task.revoked ${reason}`];
  return ['token.issued', ...record, ...revoked, `token.denied ${laterReason(ending)}`];
}

function jtiOf({ body }: Answer): unknown {
  const [, payload = ''] = String(body.access_token).split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()).jti;
}
