/** After one process has answered a revocation, no other process answers active or renews the task. */

import { expect } from 'chai';
import type { Answer } from '../../support/mandate.ts';
import type { Connection } from '../../support/replicas/connection.ts';
import { endings, type SendTo, taskEndings } from '../../support/replicas/endings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import { aTarget, introspect, newTask, refresh, type Target } from '../../support/replicas/targets.ts';
import type { RaceSetup } from './race-setup.ts';

/** How many requests ask about each ended task. */
const ASKED = 10;
/** How many of them are refreshes. Each refused refresh has a record. */
const RENEWALS = 3;
/** How many tasks are tested at once. */
const AT_ONCE = 16;

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
  it(`no other process answers active after one process has answered a revocation: ${trials} trials`, async () => {
    const ended = Math.ceil(trials / ASKED);
    const wrong: string[] = [];
    let asked = 0;
    let next = 0;
    const work = async () => {
      while (next < ended) {
        const nth = next++;
        const answers = await endAndAsk(setup, nth);
        asked += answers.length;
        wrong.push(...answers.filter((answer) => answer !== undefined));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).to.deep.equal([]);
    expect(asked).to.be.at.least(trials);
  });
}

/** @returns for each request the error in its response, or `undefined` */
async function endAndAsk(setup: RaceSetup, nth: number): Promise<readonly (string | undefined)[]> {
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
  return Promise.all(
    Array.from({ length: ASKED }, async (_, time) => {
      if (time < renewals) {
        const { status } = await refresh(other(time), target, issued);
        return status === 400 ? undefined : `a renewal after ${way.name} was answered ${status}`;
      }
      const { active } = await introspect(other(time), issued);
      return active === false ? undefined : `${way.name} was answered, and then active was ${String(active)}`;
    }),
  );
}
