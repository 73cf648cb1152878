/** Equal signals at once, and SCIM writes that read the same user. Each takes effect once, and none is lost. */

import { expect } from 'chai';
import type { Answer, LedgerLine } from '../../support/mandate.ts';
import { endings, provisioned } from '../../support/replicas/endings.ts';
import { ORDERS, type Pair, sendPair } from '../../support/replicas/request-pairs.ts';
import { aTarget, inBrief, introspect, linesOf, newTask, type Target } from '../../support/replicas/targets.ts';
import { patch, USER_SCHEMA } from '../../support/scim-client.ts';
import { type RaceSetup, runRounds } from './race-setup.ts';

export function writesThatRace(setup: RaceSetup): void {
  it('equal signals at different processes take effect once', async () => {
    const { rounds, ledger } = await runRounds(setup, setup.rounds, (nth) => prepareEqual(setup, nth));
    for (const round of rounds) checkEqual(round, ledger);
  });

  it('concurrent SCIM writes to one active user take effect one after another', async () => {
    const times = Math.max(setup.rounds, RIVALS.length * ORDERS);
    const { rounds, ledger } = await runRounds(setup, times, (nth) => prepareWrites(setup, nth));
    const outcomes = rounds.map((round) => checkWrites(round, ledger));
    expect(new Set(outcomes)).to.include.keys(
      'turned off once',
      'left for another',
      'turned on again',
      'turned off last',
    );
  });
}

/** The signals that carry a token with a `jti`. */
const signals = endings.filter(({ record, refuses }) => record !== undefined && refuses === undefined);
const TIMES = 3;

interface Equal {
  readonly reason: string;
  readonly target: Target;
  readonly told: readonly Answer[];
  readonly seen: readonly Answer['body'][];
}

export async function prepareEqual(setup: RaceSetup, nth: number): Promise<() => Promise<Equal>> {
  const replicas = setup.replicas();
  const target = aTarget(setup.agent(), nth);
  const issued = await newTask(replicas, replicas.at(nth), target);
  const signal = signals[nth % signals.length];
  if (signal === undefined) throw new Error('there are no signals');
  const send = await signal.prepare(replicas, target);
  return async () => {
    const told = await Promise.all(Array.from({ length: TIMES }, (_, time) => send(replicas.at(nth + time))));
    const seen = await replicas.each((replica) => introspect(replica, issued));
    return { reason: signal.reason, target, told, seen };
  };
}

export function checkEqual({ reason, target, told, seen }: Equal, ledger: readonly LedgerLine[]): void {
  for (const { status, text } of told) expect(status, text).to.be.oneOf([200, 202]);
  for (const said of seen) expect(said).to.include({ active: false, revocation_reason: reason });
  const expected = ['token.issued', `sponsor.signal ${reason}`, `task.revoked ${reason}`];
  expect(linesOf(target, ledger).map(inBrief)).to.deep.equal(expected);
}

/** The write that races with a deactivation: an equal one, another person, or a replacement with active: true. */
const RIVALS = ['deactivation', 'change of person', 'restatement'] as const;

interface Writes extends Pair {
  readonly rival: (typeof RIVALS)[number];
  /** The person of the user at first, and the person after a change. */
  readonly people: readonly [Target, Target];
  readonly user: Answer;
  /** For both people: whether an exchange is refused, and whether their task is active. */
  readonly refused: readonly boolean[];
  readonly active: readonly unknown[];
}

async function prepareWrites(setup: RaceSetup, nth: number): Promise<() => Promise<Writes>> {
  const replicas = setup.replicas();
  const people = [aTarget(setup.agent(), nth), aTarget(setup.agent(), nth)] as const;
  const [person, other] = people;
  const tasks = await Promise.all(people.map((target) => newTask(replicas, replicas.at(nth), target)));
  const path = `/Users/${await provisioned(replicas, person)}`;
  const rival = RIVALS[nth % RIVALS.length] ?? 'deactivation';
  const restated = { schemas: [USER_SCHEMA], userName: `new-${person.key}`, externalId: person.key, active: true };
  const rivals = {
    deactivation: () => replicas.at(nth + 1).scim('PATCH', path, patch({ active: false })),
    'change of person': () => replicas.at(nth + 1).scim('PATCH', path, patch({ externalId: other.key })),
    restatement: () => replicas.at(nth + 1).scim('PUT', path, restated),
  };
  return async () => {
    const turnOff = () => replicas.at(nth).scim('PATCH', path, patch({ active: false }));
    const pair = await sendPair(Math.floor(nth / RIVALS.length), turnOff, rivals[rival]);
    const last = replicas.at(nth + 2);
    const user = await last.scim('GET', path);
    const blocks = await Promise.all(people.map(({ key }) => last.admin('GET', `/admin/sponsors/${key}`)));
    const seen = await Promise.all(tasks.map((issued) => introspect(last, issued)));
    const refused = blocks.map(({ status }) => status === 200);
    return { ...pair, rival, people, user, refused, active: seen.map(({ active }) => active) };
  };
}

function checkWrites(round: Writes, ledger: readonly LedgerLine[]): string {
  const { one: off, other: met, rival, people, user, refused, active } = round;
  for (const { answer } of [off, met]) expect(answer.status, answer.text).to.equal(200);
  const [person, other] = people;
  const [lines, others] = [person, other].map((target) => linesOf(target, ledger).map(inBrief));
  const turnedOff = ['token.issued', 'sponsor.signal scim_deactivated', 'task.revoked scim_deactivated'];
  switch (rival) {
    case 'deactivation':
      expect(user.body).to.include({ active: false, externalId: person.key });
      expect([refused, active]).to.deep.equal([
        [true, false],
        [false, true],
      ]);
      expect(lines).to.deep.equal(turnedOff);
      return 'turned off once';
    case 'change of person': {
      // After a lost update, the user would be active or still belong to the first person.
      expect(user.body).to.include({ active: false, externalId: other.key });
      expect([refused, active]).to.deep.equal([
        [true, true],
        [false, false],
      ]);
      expect(others).to.deep.equal(turnedOff);
      const left = ['token.issued', 'sponsor.signal scim_deleted', 'task.revoked scim_deleted'];
      // In both orders, the old sponsor key is refused as deleted in the end.
      expect(lines).to.be.deep.oneOf([[...turnedOff, 'sponsor.signal scim_deleted'], left]);
      return 'left for another';
    }
    case 'restatement': {
      const on = user.body.active === true;
      expect(user.body).to.include({ userName: `new-${person.key}`, externalId: person.key });
      if (off.answered < met.asked) expect(on).to.equal(true);
      if (met.answered < off.asked) expect(on).to.equal(false);
      expect([refused[0], active[0]]).to.deep.equal([!on, false]);
      expect(lines).to.deep.equal([...turnedOff, ...(on ? ['sponsor.signal scim_reactivated'] : [])]);
      return on ? 'turned on again' : 'turned off last';
    }
  }
}
