/** After one process has answered a revocation, no other process answers active or renews the task. */

import { expect } from 'chai';
import { type Answer, recordsOf } from '../../support/mandate.ts';
import type { Connection } from '../../support/replicas/connection.ts';
import { endings, type SendTo, taskEndings } from '../../support/replicas/endings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import { aTarget, introspect, newTask, refresh, type Target } from '../../support/replicas/targets.ts';
import { PREPARATION_LIMIT_MS, type RaceSetup } from './race-setup.ts';

/** How many requests ask about each ended task. */
const ASKED = 10;
/** How many of them are refreshes. Each refused refresh has a record. */
const RENEWALS = 3;
/** How many tasks are tested at once. */
const AT_ONCE = 16;
/** A trial takes 2 ms, and 16 ms beside twenty busy processes on two cores. Only a request without an answer takes this long. */
const TRIAL_LIMIT_MS = 100;

interface Way {
  readonly name: string;
  readonly ofAgent: boolean;
  /** Whether the revocation ends the whole task with its grant, or one token only. */
  readonly ofTask: boolean;
  readonly prepare: (replicas: Replicas, target: Target, issued: Answer) => Promise<SendTo>;
}

const ways: readonly Way[] = [
  ...endings.map(({ name, prepare, ofAgent = false }) => ({ name, prepare, ofAgent, ofTask: true })),
  ...taskEndings.map(({ name, prepare }) => ({
    name,
    ofAgent: false,
    ofTask: true,
    prepare: async (replicas: Replicas, target: Target, issued: Answer) => prepare(target, issued, replicas),
  })),
  {
    name: 'the revocation of one token',
    ofAgent: false,
    ofTask: false,
    prepare: async (_, { agent }, issued) => {
      const form = agent.revokeForm(String(issued.body.access_token));
      return (at) => at.post('/oauth2/revoke', form);
    },
  },
];

export function nothingIsActiveAfterwards(setup: RaceSetup, trials: number): void {
  it(`no other process answers active after one process has answered a revocation: ${trials} trials`, async function () {
    this.timeout(PREPARATION_LIMIT_MS + trials * TRIAL_LIMIT_MS);
    const ended = Math.ceil(trials / ASKED);
    const failures: unknown[] = [];
    let asked = 0;
    let next = 0;
    const work = async () => {
      while (next < ended && failures.length === 0) {
        try {
          const requests = await endAndAsk(setup, next++);
          asked += requests;
        } catch (failure) {
          // The other tasks still end their round: no request of this test may run in the next one.
          failures.push(failure);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join('\n'));
    expect(asked).to.be.at.least(trials);
  });
}

/**
 * @returns how many requests asked about the ended task
 * @throws with the wrong answers, and the records of the person
 */
async function endAndAsk(setup: RaceSetup, nth: number): Promise<number> {
  const replicas = setup.replicas();
  const way = ways[nth % ways.length];
  if (way === undefined) throw new Error('there is no way to end a task');
  const target = aTarget(way.ofAgent ? await replicas.agent() : setup.agent(), nth);
  const told = replicas.at(nth);
  const others = Array.from({ length: replicas.count - 1 }, (_, index) => replicas.at(nth + 1 + index));
  const other = (time: number): Connection => others[time % others.length] ?? told;
  const issued = await newTask(replicas, told, target);
  const send = await way.prepare(replicas, target, issued);
  // All replicas have seen the task, so their caches have the agent.
  for (const replica of others) expect((await introspect(replica, issued)).active).to.equal(true);
  if (way.ofAgent) expect((await refresh(other(nth), target, issued)).status).to.equal(200);

  const answer = await send(told);
  expect(answer.status, `${way.name}: ${answer.text}`).to.be.oneOf([200, 202, 204]);

  const renewals = way.ofTask ? RENEWALS : 0;
  const answers = await Promise.all(
    Array.from({ length: ASKED }, async (_, time) => {
      if (time < renewals) {
        const { status, text } = await refresh(other(time), target, issued);
        return status === 400 ? undefined : `a renewal was answered ${status}: ${text}`;
      }
      const { active } = await introspect(other(time), issued);
      return active === false ? undefined : `active was ${String(active)}`;
    }),
  );
  const wrong = answers.filter((answer) => answer !== undefined);
  if (wrong.length > 0) {
    const names = [...new Set([target.subject, target.key])];
    const records = await Promise.all(names.map((name) => recordsOf(told.admin, `&sponsor=${name}`)));
    const lines = records.flat().map((record) => JSON.stringify(record));
    throw new Error([`after ${way.name}:`, ...wrong, ...lines].join('\n'));
  }
  return answers.length;
}
