/** The end of a chain, by what names neither its agents nor its person's key, beside renewals at its lowest task. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { endSomeTasks } from '../../application/decisions/end-tasks.ts';
import { logOut } from '../../application/decisions/log-out.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import { renewGrant } from '../../application/decisions/renew-grant.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { untilBlocked } from './append-lock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { aChildOpening, anOpening, aRenewal, registeredAgent } from './storage-fixtures.ts';
import { LATER } from './world.ts';

const ROUNDS = repetitions(5, 200);
const DEPTH = 5;

onEveryDatabase('renewals at the lowest task of a chain', ({ storage, database, outside, kind }) => {
  const logout = ({ task: { sponsor, sessionId = '' } }: TaskOpening, what: 'session' | 'person') =>
    storage().decide(logOut, {
      issuer: 'https://idp.example',
      jti: randomUUID(),
      forgetAt: plusSeconds(LATER, 600),
      at: LATER,
      loggedOut:
        what === 'session' ? { kind: 'session', sessionId, subject: undefined } : { kind: 'person', subject: sponsor },
    });
  const ENDS: Readonly<Record<string, (root: TaskOpening) => Promise<unknown>>> = {
    'a logout of the session': (root) => logout(root, 'session'),
    'a logout of the person': (root) => logout(root, 'person'),
    'an end of everything': () =>
      storage().decide(endSomeTasks, { limit: 1000, at: LATER, reason: 'operator_kill_switch' }),
  };

  /** Opens a chain, and returns its tasks, the lowest first. The order of the grants is not that of the tasks. */
  async function aChain(): Promise<readonly [TaskOpening, ...TaskOpening[]]> {
    const agents = [await registeredAgent(storage()), await registeredAgent(storage())] as const;
    const hashed = (opening: TaskOpening) => {
      const grantHash = `${DEPTH - opening.task.delegationDepth}-${randomUUID()}`;
      return { ...opening, grantHash };
    };
    const root = hashed(anOpening(agents[0]));
    const { sponsorKey, sponsor, sessionId } = root.task;
    const chain: [TaskOpening, ...TaskOpening[]] = [root];
    while (chain.length < DEPTH) {
      chain.unshift(hashed(aChildOpening(agents[1], chain[0], { sponsorKey, sponsor, sessionId })));
    }
    for (const opening of chain.toReversed()) expect((await storage().tasks.open(opening)).kind).to.equal('opened');
    return chain;
  }
  const renewalOf = (opening: TaskOpening) => aRenewal(opening, { ancestors: opening.delegation?.ancestors ?? [] });

  for (const [what, end] of Object.entries(ENDS)) {
    it(`and ${what} end as one after the other`, async function () {
      this.timeout(60_000 + ROUNDS * 2_000);
      const other = kind.engine === 'postgres' ? await database().open() : storage();
      for (let round = 0; round < ROUNDS; round++) {
        const chain = await aChain();
        const renewing = chain.map((opening) => other.decide(renewGrant, renewalOf(opening)));
        await end(chain.at(-1) ?? chain[0]);
        for (const verdict of await Promise.all(renewing)) {
          expect(verdict.kind).to.be.oneOf(['renewed', 'parent_ended', 'grant_changed']);
        }
        for (const { task, entry } of chain) {
          const facts = await other.tasks.tokenFacts(entry.jti as never, task.taskId);
          expect(facts?.taskState.kind).to.equal('revoked');
        }
      }
      if (other !== storage()) await other.close();
    });
  }

  if (kind.engine !== 'postgres') return;

  it('wait for a logout that waits for a renewal between them, and do not deadlock', async () => {
    const connection = await outside();
    const chain = await aChain();
    const [lowest, , between] = chain;
    await connection.sql('begin');
    // As the renewal of this task would.
    await connection.sql(`select 1 from task_grants where grant_hash = '${between?.grantHash}' for update`);
    const ending = logout(lowest, 'session');
    await untilBlocked(connection, 1);
    const renewing = storage().decide(renewGrant, renewalOf(lowest));
    await untilBlocked(connection, 2);
    await connection.sql('commit');
    expect(await ending).to.deep.include({ kind: 'accepted', revokedTasks: DEPTH });
    expect((await renewing).kind).to.equal('parent_ended');
    const deadlocks = 'select deadlocks::integer from pg_stat_database where datname = current_database()';
    expect(await connection.sql(deadlocks)).to.deep.equal([{ deadlocks: 0 }]);
  });
});
